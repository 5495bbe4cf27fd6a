package e2e

import (
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// debugSecret opens the debug headers; every policy of these tests knows it.
const debugSecret = "open-sesame"

// hang is how long an answer may take before the test calls it hanging. It is
// far above every timeout that a test configures, since the machine may be busy.
const hang = 20 * time.Second

// soon is how long an answer may take that doesn't wait for Redis: below the
// timeout of every policy here that isn't about timeouts.
const soon = 6 * time.Second

// client keeps connections open, as a gateway's callers do.
var client = &http.Client{
	Timeout:   hang,
	Transport: &http.Transport{MaxIdleConnsPerHost: 200, DisableCompression: true},
}

// answer is what a caller got.
type answer struct {
	status int
	header http.Header
	body   string
	took   time.Duration
	err    error
}

// call describes one request.
type call struct {
	method string // GET when ""
	url    string
	header map[string]string
}

// key is the request header that most limits of these tests count by.
const key = "x-key"

// get asks for url as the caller k, with debug headers.
func get(url, k string) answer {
	return send(call{url: url, header: map[string]string{key: k, "x-debug": debugSecret}})
}

func send(c call) answer { return sendBy(client, c) }

// sendBy sends a request by a client.
func sendBy(client *http.Client, c call) answer {
	if c.method == "" {
		c.method = http.MethodGet
	}
	req, err := http.NewRequest(c.method, c.url, nil)
	if err != nil {
		return answer{err: err}
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	start := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return answer{err: err, took: time.Since(start)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, resp.Header, string(body), time.Since(start), err}
}

// must fails the test unless the request was answered with that status.
func (a answer) must(t *testing.T, status int) answer {
	t.Helper()
	if a.err != nil {
		t.Fatal(a.err)
	}
	if a.status != status {
		t.Fatalf("answered %d, expected %d\n%v\n%s", a.status, status, a.header, a.body)
	}
	return a
}

// int reads a header that holds a number.
func (a answer) int(t *testing.T, name string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(a.header.Get(name), 10, 64)
	if err != nil {
		t.Fatalf("header %s: %v\n%v", name, err, a.header)
	}
	return n
}

// times sends n requests, so many callers at a time, and returns every answer.
func times(n, callers int, do func(i int) answer) []answer {
	answers := make([]answer, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				answers[i] = do(int(i))
			}
		})
	}
	wg.Wait()
	return answers
}

// during sends requests, so many callers at a time, each pausing between two,
// until stop is closed, and returns every answer.
func during(stop <-chan struct{}, callers int, pause time.Duration, do func(i int) answer) []answer {
	var (
		mu      sync.Mutex
		answers []answer
		next    atomic.Int64
		wg      sync.WaitGroup
	)
	for range callers {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				case <-time.After(pause):
				}
				a := do(int(next.Add(1)))
				mu.Lock()
				answers = append(answers, a)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return answers
}

// after closes the channel it returns when d has passed.
func after(d time.Duration) <-chan struct{} {
	c := make(chan struct{})
	time.AfterFunc(d, func() { close(c) })
	return c
}

// statuses counts the answers by status; one that failed counts as 0.
func statuses(answers []answer) map[int]int {
	count := map[int]int{}
	for _, a := range answers {
		count[a.status]++
	}
	return count
}

// mustBeAnswered fails the test for every request that got no answer, a slow
// one, or one of a status that isn't among those allowed.
func mustBeAnswered(t *testing.T, answers []answer, limit time.Duration, allowed ...int) {
	t.Helper()
	count := statuses(answers)
	for _, status := range slices.Sorted(maps.Keys(count)) {
		if !slices.Contains(allowed, status) {
			t.Errorf("%d of %d answers have status %d (0: none)", count[status], len(answers), status)
		}
	}
	var slowest answer
	for _, a := range answers {
		if a.err != nil {
			t.Errorf("no answer after %v: %v", a.took, a.err)
			return
		}
		if a.took > slowest.took {
			slowest = a
		}
	}
	if slowest.took > limit {
		t.Errorf("an answer (status %d) took %v, more than %v", slowest.status, slowest.took, limit)
	}
}

// eventually polls until ok returns nil, or fails the test with its last error.
func eventually(t *testing.T, limit time.Duration, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", limit, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// clientAt is a client that connects from another of this machine's addresses.
func clientAt(t *testing.T, ip string) *http.Client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
	transport := &http.Transport{DialContext: dialer.DialContext}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Timeout: hang, Transport: transport}
}
