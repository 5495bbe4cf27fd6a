package backoff

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// server answers from a list, the last one for good, and keeps what it got.
type server struct {
	answers []answer
	got     []string // bodies
}

type answer struct {
	status int
	header http.Header
}

func (s *server) RoundTrip(req *http.Request) (*http.Response, error) {
	body := ""
	if req.Body != nil {
		b, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		req.Body.Close()
		body = string(b)
	}
	a := s.answers[min(len(s.got), len(s.answers)-1)]
	s.got = append(s.got, body)
	if a.status == 0 {
		return nil, errors.New("broken")
	}
	if a.header == nil {
		a.header = http.Header{}
	}
	return &http.Response{StatusCode: a.status, Header: a.header, Body: http.NoBody, Request: req}, nil
}

// waits makes a Transport that doesn't sleep, and where it notes what it would.
func waits(t Transport) (*Transport, *[]time.Duration) {
	var slept []time.Duration
	t.sleep = func(_ context.Context, d time.Duration) error {
		slept = append(slept, d)
		return nil
	}
	return &t, &slept
}

func after(status int, seconds string) answer {
	return answer{status, http.Header{"Retry-After": {seconds}}}
}

func TestTransport(t *testing.T) {
	limits := func(v string) answer { return answer{429, http.Header{"Ratelimit": {v}}} }
	for _, c := range []struct {
		name     string
		method   string
		body     io.Reader
		header   string
		answers  []answer
		status   int
		attempts int
		least    time.Duration // of the waits together
	}{
		{name: "admitted", answers: []answer{{status: 200}}, status: 200, attempts: 1},
		{name: "an error of another kind", answers: []answer{{status: 500}}, status: 500, attempts: 1},
		{name: "told twice", answers: []answer{after(429, "2"), after(429, "3"), {status: 200}}, status: 200, attempts: 3, least: 5 * time.Second},
		{name: "told by RateLimit", answers: []answer{limits(`"a";r=0;t=4, "b";r=3;t=60`), {status: 200}}, status: 200, attempts: 2, least: 4 * time.Second},
		{name: "not told", answers: []answer{{status: 429}, {status: 200}}, status: 200, attempts: 2},
		{name: "to the end", answers: []answer{after(429, "1")}, status: 429, attempts: 5, least: 4 * time.Second},
		{name: "told to wait too long", answers: []answer{after(429, "61")}, status: 429, attempts: 1},
		{name: "told to wait for ever", answers: []answer{after(429, "99999999999999999999")}, status: 429, attempts: 1},
		{name: "too large for the limit", answers: []answer{limits(`"a";r=3;t=4`)}, status: 429, attempts: 1},
		{name: "unavailable", answers: []answer{after(503, "1"), {status: 200}}, status: 200, attempts: 2, least: time.Second},
		{name: "a body, sent again", method: "POST", body: strings.NewReader("x"), answers: []answer{after(429, "1"), {status: 200}}, status: 200, attempts: 2, least: time.Second},
		{name: "a body that is gone", method: "POST", body: io.MultiReader(strings.NewReader("x")), answers: []answer{after(429, "1")}, status: 429, attempts: 1},
		{name: "a POST that may have been carried out", method: "POST", body: strings.NewReader("x"), answers: []answer{after(503, "1")}, status: 503, attempts: 1},
		{name: "a POST with a key", method: "POST", body: strings.NewReader("x"), header: "1", answers: []answer{after(503, "1"), {status: 200}}, status: 200, attempts: 2, least: time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &server{answers: c.answers}
			transport, slept := waits(Transport{Base: s})
			req, err := http.NewRequest(c.method, "http://example.com/", c.body)
			if err != nil {
				t.Fatal(err)
			}
			if c.header != "" {
				req.Header.Set("Idempotency-Key", c.header)
			}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.status || len(s.got) != c.attempts {
				t.Errorf("%d after %d attempts", resp.StatusCode, len(s.got))
			}
			for _, body := range s.got {
				if body != s.got[0] {
					t.Errorf("sent %q", s.got)
				}
			}
			var sum time.Duration
			for _, d := range *slept {
				sum += d
			}
			if sum < c.least {
				t.Errorf("waited %v", sum)
			}
		})
	}
}

func TestErrorsComeBack(t *testing.T) {
	s := &server{answers: []answer{after(429, "1"), {}}}
	transport, _ := waits(Transport{Base: s})
	req, _ := http.NewRequest(http.MethodGet, "http://example.com/", nil)
	if _, err := transport.RoundTrip(req); err == nil || len(s.got) != 2 {
		t.Errorf("%v after %d attempts", err, len(s.got))
	}
}

// A context that would be over by then gets the answer now; one that is cancelled
// while it waits ends the wait.
func TestContext(t *testing.T) {
	s := &server{answers: []answer{after(429, "30")}}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.com/", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&Transport{Base: s}).RoundTrip(req)
	if err != nil || resp.StatusCode != 429 {
		t.Fatalf("%v, %v", resp, err)
	}
	resp.Body.Close()

	ctx, stop := context.WithCancel(t.Context())
	cancelling := &Transport{Base: s, sleep: func(ctx context.Context, d time.Duration) error {
		stop()
		return (&Transport{}).pause(ctx, d)
	}}
	if _, err := cancelling.RoundTrip(req.Clone(ctx)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Never less than told, at most the spread more; the waits of many differ.
func TestJitter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := Transport{
			Spread:    time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "spread")),
			MaxSpread: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "max")),
		}
		attempt := rapid.IntRange(1, 1000).Draw(t, "attempt")
		if d := x.jitter(attempt); d < 0 || d > x.MaxSpread {
			t.Fatalf("%v", d)
		}
	})
	seen := map[time.Duration]bool{}
	var largest time.Duration
	for range 1000 {
		d := (&Transport{}).jitter(3)
		seen[d] = true
		largest = max(largest, d)
	}
	if len(seen) < 900 || largest <= 400*time.Millisecond || largest > 800*time.Millisecond {
		t.Errorf("%d of 1000 differ, up to %v", len(seen), largest)
	}
}

func TestTold(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		header   http.Header
		wait     time.Duration
		hopeless bool
	}{
		{http.Header{}, 0, false},
		{http.Header{"Retry-After": {"7"}, "Ratelimit": {`"a";r=0;t=9`}}, 7 * time.Second, false},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:15 GMT"}}, 10 * time.Second, false},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:04:15 GMT"}, "Date": {"Fri, 02 Jan 2026 03:04:12 GMT"}}, 3 * time.Second, false},
		{http.Header{"Retry-After": {"Fri, 02 Jan 2026 03:00:00 GMT"}}, 0, false},
		{http.Header{"Retry-After": {"-1"}}, 0, false},
		{http.Header{"Retry-After": {"soon"}, "Ratelimit": {`"a";r=0;t=9`}}, 9 * time.Second, false},
		{http.Header{"Ratelimit": {`"a;r=1,\"";r=0;t=2`, `"b";t=5;r=0`}}, 5 * time.Second, false},
		{http.Header{"Ratelimit": {`"a";r=0`}}, 0, false},
		{http.Header{"Ratelimit": {`"a";r=1;t=5, "b";r=2;t=9`}}, 0, true},
		{http.Header{"Ratelimit": {`"a";r=x;t=5`, `"`, ``, `;;=`, `"\`}}, 0, false},
	} {
		if wait, hopeless := Told(c.header, now); wait != c.wait || hopeless != c.hopeless {
			t.Errorf("%v: %v, %v", c.header, wait, hopeless)
		}
	}
}

// Whatever a server sends is read without a fault, and as no negative time.
func FuzzTold(f *testing.F) {
	f.Add("7", `"a";r=0;t=9`)
	f.Fuzz(func(t *testing.T, retryAfter, limits string) {
		wait, _ := Told(http.Header{"Retry-After": {retryAfter}, "Ratelimit": {limits}}, time.Unix(0, 0))
		if wait < 0 {
			t.Errorf("%v", wait)
		}
	})
}
