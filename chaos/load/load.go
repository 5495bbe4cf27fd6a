// Package load sends requests to gateways at a rate that doesn't depend on their
// answers (open loop), over connections that are kept open, and records each
// request's fate.
package load

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Stream is a flow of like requests, at random times: a Poisson process.
type Stream struct {
	Name     string
	Path     string
	Rate     float64                            // requests a second
	Header   func(i int, set func(k, v string)) // sets the headers of request i; may be nil
	Patience time.Duration                      // when the caller hangs up; 0 for never
}

// Answer is what became of one request. Times are of this machine's clock.
type Answer struct {
	Stream   *Stream
	Index    int // in its stream
	Gateway  int // which answered, or was asked last
	Due      time.Time
	Sent     time.Time // the last attempt's
	Received time.Time // the end of the answer, or of the attempt
	Status   int       // 0 for none
	Header   http.Header
	Failed   []Attempt // attempts before that got no answer
	Left     bool      // the caller hung up
	Err      error     // why there is no answer
}

// Attempt is a request that a gateway didn't answer.
type Attempt struct {
	Gateway     int
	Sent, Ended time.Time
	Err         error
}

// Int is a header that holds a whole number; -1 when it doesn't.
func (a *Answer) Int(name string) int64 {
	n, err := strconv.ParseInt(a.Header.Get(name), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// Targets are the gateways that requests go to in turn. They may be changed
// under load.
type Targets struct {
	mu   sync.Mutex
	urls []string
	next int
}

// NewTargets makes a list of URLs without paths.
func NewTargets(urls ...string) *Targets { return &Targets{urls: urls} }

// Set changes where a gateway is; "" takes it out of the turn.
func (t *Targets) Set(gateway int, url string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.urls[gateway] = url
}

// pick takes the next gateway in turn, another one than not if there is one.
func (t *Targets) pick(not int) (int, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	only := -1
	for range t.urls {
		i := t.next % len(t.urls)
		t.next++
		switch {
		case t.urls[i] == "":
		case i == not:
			only = i
		default:
			return i, t.urls[i]
		}
	}
	if only < 0 {
		return -1, ""
	}
	return only, t.urls[only]
}

// attempts is how many gateways a request tries, as a load balancer in front of
// them would, when a connection breaks before an answer.
const attempts = 3

// Load is a load under way.
type Load struct {
	targets *Targets
	client  *http.Client
	stop    chan struct{}
	clocks  sync.WaitGroup // one a stream
	open    sync.WaitGroup // requests
	flying  atomic.Int64

	mu      sync.Mutex
	answers []Answer
	fresh   chan struct{} // closed at the next answer
}

// Start begins to send. hang is how long an answer may take before the request
// counts as lost.
func Start(targets *Targets, hang time.Duration, streams ...*Stream) *Load {
	l := &Load{
		targets: targets,
		client: &http.Client{Timeout: hang, Transport: &http.Transport{
			MaxIdleConnsPerHost: 1000, DisableCompression: true,
		}},
		stop:  make(chan struct{}),
		fresh: make(chan struct{}),
	}
	for _, s := range streams {
		l.clocks.Go(func() { l.run(s) })
	}
	return l
}

// Stop ends the load, waits for the last answers and returns all, in the order
// in which they came.
func (l *Load) Stop() []Answer {
	close(l.stop)
	l.clocks.Wait()
	l.open.Wait()
	l.client.CloseIdleConnections()
	return l.answers
}

// Until waits for an answer, among those from now on, that ok accepts. It
// returns false when none came in time. ok is called for one at a time.
func (l *Load) Until(limit time.Duration, ok func(*Answer) bool) bool {
	l.mu.Lock()
	seen := len(l.answers)
	l.mu.Unlock()
	timeout := time.After(limit)
	for {
		l.mu.Lock()
		more, fresh := l.answers[seen:], l.fresh
		l.mu.Unlock()
		for i := range more {
			if ok(&more[i]) {
				return true
			}
		}
		seen += len(more)
		select {
		case <-fresh:
		case <-timeout:
			return false
		}
	}
}

// run sends a stream's requests when they are due.
func (l *Load) run(s *Stream) {
	due := time.Now()
	for i := 0; ; i++ {
		due = due.Add(time.Duration(rand.ExpFloat64() / s.Rate * float64(time.Second)))
		select {
		case <-l.stop:
			return
		case <-time.After(time.Until(due)):
		}
		a := Answer{Stream: s, Index: i, Due: due}
		l.open.Go(func() {
			l.flying.Add(1)
			l.send(&a)
			l.flying.Add(-1)
			l.mu.Lock()
			defer l.mu.Unlock()
			l.answers = append(l.answers, a)
			close(l.fresh)
			l.fresh = make(chan struct{})
		})
	}
}

var errNoGateway = errors.New("no gateway is in the turn")

// send makes the attempts of one request.
func (l *Load) send(a *Answer) {
	ctx := context.Background()
	if a.Stream.Patience > 0 {
		var cancel func()
		ctx, cancel = context.WithTimeout(ctx, a.Stream.Patience)
		defer cancel()
	}
	gateway := -1
	for try := 1; ; try++ {
		var url string
		gateway, url = l.targets.pick(gateway)
		a.Gateway, a.Sent = gateway, time.Now()
		a.Err = errNoGateway
		if gateway >= 0 {
			a.Err = l.attempt(ctx, a, url)
		}
		a.Received = time.Now()
		if a.Err == nil {
			return
		}
		if ctx.Err() != nil {
			a.Left = true
			return
		}
		if try == attempts {
			return
		}
		a.Failed = append(a.Failed, Attempt{gateway, a.Sent, a.Received, a.Err})
	}
}

// attempt sends the request once. POST, because the Go client quietly sends a
// GET again when its connection breaks, and a lost request must show.
func (l *Load) attempt(ctx context.Context, a *Answer, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+a.Stream.Path, nil)
	if err != nil {
		return err
	}
	if a.Stream.Header != nil {
		a.Stream.Header(a.Index, req.Header.Set)
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return err
	}
	a.Status, a.Header = resp.StatusCode, resp.Header
	return nil
}
