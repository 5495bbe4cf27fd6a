package playground

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

const (
	// longestRun is how long traffic runs without being asked for again.
	longestRun = 10 * time.Minute
	// maxInFlight bounds the requests that wait for an answer.
	maxInFlight = 256
	// loadTick is how often the requests that are due are sent.
	loadTick = 5 * time.Millisecond
	// answerTimeout is how long an answer may take.
	answerTimeout = 10 * time.Second
	// maxRead bounds how much of an answer's body is read.
	maxRead = 64 << 10
)

// load sends test traffic to the gateway, from this machine's own addresses, one
// for each caller.
type load struct {
	gateway string
	// addresses says that callers have addresses of their own.
	addresses bool
	answers   answers

	mu      sync.Mutex
	traffic Traffic
	headers []header
	cancel  context.CancelFunc // nil while nothing runs
	done    chan struct{}
	ends    time.Time
	clients map[int]*http.Client
	dropped int64
}

// TrafficState is what the load generator does.
type TrafficState struct {
	Traffic
	Running bool   `json:"running"`
	Ends    int64  `json:"ends"` // Unix time, milliseconds
	Totals  Totals `json:"totals"`
}

func newLoad(gateway string) *load {
	l := &load{gateway: gateway, clients: map[int]*http.Client{}}
	// Linux answers at all of 127.0.0.0/8, other systems at 127.0.0.1 only.
	if probe, err := net.Listen("tcp", net.JoinHostPort(callerAddress(1), "0")); err == nil {
		probe.Close()
		l.addresses = true
	}
	return l
}

// callerAddress is where a caller's requests come from.
func callerAddress(caller int) string { return "127.0.1." + strconv.Itoa(caller) }

// set starts traffic, changes it, or with a rate of 0 ends it.
func (l *load) set(t Traffic) error {
	headers, err := t.check()
	if err != nil {
		return err
	}
	if t.Rate == 0 {
		l.stop()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.traffic, l.headers = t, headers
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traffic, l.headers = t, headers
	l.ends = time.Now().Add(longestRun)
	if l.cancel == nil {
		l.answers.reset()
		l.dropped = 0
		ctx, cancel := context.WithCancel(context.Background())
		l.cancel, l.done = cancel, make(chan struct{})
		go l.run(ctx, l.done)
	}
	return nil
}

// stop ends the traffic and waits until it has.
func (l *load) stop() {
	l.mu.Lock()
	cancel, done := l.cancel, l.done
	l.cancel = nil
	l.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	<-done
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel == nil {
		for _, c := range l.clients {
			c.CloseIdleConnections()
		}
		l.clients = map[int]*http.Client{}
	}
}

func (l *load) state() TrafficState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := TrafficState{Traffic: l.traffic, Running: l.cancel != nil, Totals: l.answers.totals()}
	s.Totals.Dropped = l.dropped
	if s.Running {
		s.Ends = l.ends.UnixMilli()
	}
	return s
}

func (l *load) takeAnswers() Answers { return l.answers.take() }

// run sends what is due until its end.
func (l *load) run(ctx context.Context, done chan struct{}) {
	defer close(done)
	var flying sync.WaitGroup
	defer flying.Wait()
	tick := time.NewTicker(loadTick)
	defer tick.Stop()
	slots := make(chan struct{}, maxInFlight)
	last, due := time.Now(), 0.0
	for {
		var now time.Time
		select {
		case <-ctx.Done():
			return
		case now = <-tick.C:
		}
		l.mu.Lock()
		t, headers, ends := l.traffic, l.headers, l.ends
		l.mu.Unlock()
		if now.After(ends) {
			go l.stop() // which waits for this to return
			return
		}
		// After a pause of the whole program there is no flood.
		due = min(due+now.Sub(last).Seconds()*float64(t.Rate), max(float64(t.Rate)/10, 1))
		for last = now; due >= 1; due-- {
			select {
			case slots <- struct{}{}:
			default:
				l.mu.Lock()
				l.dropped++
				l.mu.Unlock()
				continue
			}
			caller := 1 + rand.IntN(t.Callers)
			flying.Go(func() {
				defer func() { <-slots }()
				l.one(ctx, t, headers, caller)
			})
		}
	}
}

// one sends one request and notes its answer.
func (l *load) one(ctx context.Context, t Traffic, headers []header, caller int) {
	req, err := t.request(l.gateway, headers, caller)
	if err != nil {
		l.answers.add(Answer{Caller: caller, Failed: err.Error()}, nil)
		return
	}
	a := do(l.client(caller), req.WithContext(ctx))
	if ctx.Err() != nil {
		return
	}
	a.Caller = caller
	l.answers.add(a, req)
}

// do sends a request and reads its answer.
func do(client *http.Client, req *http.Request) Answer {
	resp, err := client.Do(req)
	if err != nil {
		return Answer{At: time.Now().UnixMilli(), Failed: plainError(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRead))
	a := Answer{At: time.Now().UnixMilli(), Status: resp.StatusCode, header: resp.Header, body: body, proto: resp.Proto}
	if err != nil {
		a.Failed = plainError(err)
	}
	return a
}

// client is a caller's own, with connections from the caller's address.
func (l *load) client(caller int) *http.Client {
	if !l.addresses {
		caller = 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.clients[caller]; c != nil {
		return c
	}
	c := newClient(caller)
	l.clients[caller] = c
	return c
}

// newClient makes a client for one caller, 0 for one without an address of its
// own.
func newClient(caller int) *http.Client {
	dialer := &net.Dialer{Timeout: time.Second}
	if caller > 0 {
		dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(callerAddress(caller))}
	}
	return &http.Client{
		Timeout: answerTimeout,
		Transport: &http.Transport{
			DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64, DisableCompression: true,
			IdleConnTimeout: 30 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
