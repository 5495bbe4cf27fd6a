package load

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"
)

// server answers as a gateway does.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

func ok(w http.ResponseWriter, r *http.Request) { w.Header().Set("X-I", r.Header.Get("X-I")) }

const hang = 10 * time.Second

// counted is a stream of so many requests a second, each with its number.
func counted(rate float64) *Stream {
	return &Stream{Path: "/x", Rate: rate, Header: func(i int, set func(k, v string)) { set("X-I", strconv.Itoa(i)) }}
}

func TestEveryRequestIsRecordedOnce(t *testing.T) {
	s := counted(500)
	l := Start(NewTargets(server(t, ok), server(t, ok)), hang, s)
	time.Sleep(400 * time.Millisecond)
	answers := l.Stop()
	seen := map[int64]bool{}
	gateways := map[int]int{}
	for _, a := range answers {
		if a.Err != nil || a.Status != 200 || a.Stream != s || a.Int("X-I") != int64(a.Index) {
			t.Fatalf("%+v", a)
		}
		if a.Sent.Before(a.Due) || a.Received.Before(a.Sent) {
			t.Fatalf("due %v, sent %v, received %v", a.Due, a.Sent, a.Received)
		}
		seen[a.Int("X-I")] = true
		gateways[a.Gateway]++
	}
	if len(seen) != len(answers) || len(answers) < 50 {
		t.Errorf("%d answers of %d requests", len(answers), len(seen))
	}
	if diff := gateways[0] - gateways[1]; diff < -1 || diff > 1 {
		t.Errorf("shared out as %v", gateways)
	}
	if a := answers[0]; a.Int("X-None") != -1 {
		t.Error("a header that isn't there has a number")
	}
}

// An open loop doesn't wait for answers.
func TestSlowAnswersDontSlowTheLoad(t *testing.T) {
	release := make(chan struct{})
	var once sync.Once
	free := func() { once.Do(func() { close(release) }) }
	url := server(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(free)
	l := Start(NewTargets(url), hang, counted(300))
	time.Sleep(300 * time.Millisecond)
	if n := l.flying.Load(); n < 20 {
		t.Errorf("%d requests are under way", n)
	}
	free()
	for _, a := range l.Stop() {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
	}
}

// A connection that breaks is an attempt that failed, never hidden by a retry
// within the client, and the request goes to another gateway.
func TestBrokenConnectionsShow(t *testing.T) {
	var mu sync.Mutex
	hits := 0
	broken := server(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		hits++
		first := hits%2 == 1
		mu.Unlock()
		if first {
			return // so that the connection is used again
		}
		panic(http.ErrAbortHandler)
	})
	l := Start(NewTargets(broken, server(t, ok)), hang, counted(200))
	time.Sleep(400 * time.Millisecond)
	failed := 0
	for _, a := range l.Stop() {
		if a.Err != nil {
			t.Fatal(a.Err)
		}
		for _, f := range a.Failed {
			failed++
			if f.Gateway != 0 || f.Err == nil {
				t.Errorf("%+v", f)
			}
		}
	}
	if failed == 0 || failed != hits/2 {
		t.Errorf("%d attempts failed of %d hits, of which every other broke", failed, hits)
	}
}

func TestLostWhenNoGatewayAnswers(t *testing.T) {
	targets := NewTargets(server(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	l := Start(targets, hang, counted(200))
	l.Until(hang, func(*Answer) bool { return true })
	targets.Set(0, "")
	l.Until(hang, func(a *Answer) bool { return a.Err == errNoGateway })
	for _, a := range l.Stop() {
		if a.Err == nil || a.Left || len(a.Failed) != attempts-1 {
			t.Errorf("%+v", a)
		}
	}
}

func TestImpatientCallersLeave(t *testing.T) {
	url := server(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	s := counted(100)
	s.Patience = 20 * time.Millisecond
	l := Start(NewTargets(url), hang, s)
	time.Sleep(200 * time.Millisecond)
	answers := l.Stop()
	for _, a := range answers {
		if !a.Left || a.Received.Sub(a.Sent) > 5*time.Second {
			t.Errorf("%+v", a)
		}
	}
	if len(answers) == 0 {
		t.Error("no request was sent")
	}
}

func TestUntil(t *testing.T) {
	l := Start(NewTargets(server(t, ok)), hang, counted(300))
	begin := time.Now()
	if !l.Until(hang, func(a *Answer) bool { return a.Sent.After(begin.Add(50 * time.Millisecond)) }) {
		t.Error("no answer came")
	}
	if l.Until(50*time.Millisecond, func(*Answer) bool { return false }) {
		t.Error("an answer was accepted that wasn't")
	}
	l.Stop()
}
