package load

import (
	"bytes"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// server answers as a gateway does, and returns its address.
func server(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

func text(int) []byte { return []byte("GET / HTTP/1.1\r\nHost: h\r\n\r\n") }

func ok(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") }

// Every request that is due is sent once, at the rate asked for, to the addresses
// in turn, and only those after the warm-up count.
func TestEveryRequestOnce(t *testing.T) {
	var seen [2]atomic.Int64
	count := func(i int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen[i].Add(1)
			if r.Header.Get("X-I") == "7" {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}
	}
	answered := map[int]int{}
	r, err := Run(t.Context(), Options{
		Addrs: []string{server(t, count(0)), server(t, count(1))}, Rate: 1000, Conns: 4,
		Warm: 100 * time.Millisecond, Length: 200 * time.Millisecond,
		Request: func(i int) []byte {
			return []byte("GET / HTTP/1.1\r\nHost: h\r\nX-I: " + strconv.Itoa(i%10) + "\r\n\r\n")
		},
		Each: func(a Answer) {
			answered[a.Index]++
			if want := 200; a.Index%10 != 7 && a.Status != want || a.Index%2 != a.Addr {
				t.Errorf("%+v", a)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Due != 200 || r.Done != 200 || r.Refused != 20 || r.Failed != 0 || r.Lost != 0 || len(answered) != 200 {
		t.Errorf("%+v, %d told of", r, len(answered))
	}
	if a, b := seen[0].Load(), seen[1].Load(); a != 150 || b != 150 {
		t.Errorf("the servers saw %d and %d", a, b)
	}
	if r.Latency.TotalCount() != 200 || r.Lag.TotalCount()+r.Waited != 200 || r.CPU <= 0 {
		t.Errorf("%d latencies, %d lags, %d waited, %v", r.Latency.TotalCount(), r.Lag.TotalCount(), r.Waited, r.CPU)
	}
}

// A server that stands still for a while delays all that was due meanwhile, and
// all of that is in the figures: coordinated omission would show one slow request.
func TestWaitingCounts(t *testing.T) {
	const pause = 300 * time.Millisecond
	var once atomic.Bool
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if once.CompareAndSwap(false, true) {
			time.Sleep(pause)
		}
		ok(w, r)
	})
	r, err := Run(t.Context(), Options{Addrs: []string{addr}, Rate: 500, Conns: 1, Length: 600 * time.Millisecond, Request: text})
	if err != nil {
		t.Fatal(err)
	}
	if r.Done != 300 || r.Waited < 140 {
		t.Errorf("%d done, %d waited", r.Done, r.Waited)
	}
	if got := r.Latency.Max(); got < pause.Microseconds()*99/100 {
		t.Errorf("the slowest took %d us", got)
	}
	// 150 of 300 were due in the pause, evenly: a quarter waited half of it or more.
	if got := r.Latency.ValueAtQuantile(80); got < pause.Microseconds()/4 {
		t.Errorf("the 80th percentile is %d us", got)
	}
}

func TestBrokenConnectionsAreCounted(t *testing.T) {
	var n atomic.Int64
	addr := server(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1)%10 == 0 {
			panic(http.ErrAbortHandler)
		}
		ok(w, r)
	})
	r, err := Run(t.Context(), Options{Addrs: []string{addr}, Rate: 500, Conns: 3, Length: 200 * time.Millisecond, Request: text})
	if err != nil {
		t.Fatal(err)
	}
	if r.Failed != 10 || r.Done != 90 || r.Lost != 0 {
		t.Errorf("%+v", r)
	}
}

func TestLostRequestsAreCounted(t *testing.T) {
	stop := make(chan struct{})
	addr := server(t, func(http.ResponseWriter, *http.Request) { <-stop })
	t.Cleanup(func() { close(stop) }) // before the server waits for its handlers
	r, err := Run(t.Context(), Options{
		Addrs: []string{addr}, Rate: 100, Conns: 2, Length: 100 * time.Millisecond, Drain: 50 * time.Millisecond, Request: text,
	})
	if err != nil || r.Due != 10 || r.Lost != 10 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestRefusedOptions(t *testing.T) {
	good := Options{Addrs: []string{"127.0.0.1:1"}, Rate: 1, Conns: 1, Length: time.Second, Request: text}
	for name, change := range map[string]func(*Options){
		"no address":     func(o *Options) { o.Addrs = nil },
		"no rate":        func(o *Options) { o.Rate = 0 },
		"no connections": func(o *Options) { o.Conns = 0 },
		"no length":      func(o *Options) { o.Length = 0 },
		"no request":     func(o *Options) { o.Request = nil },
		"a name":         func(o *Options) { o.Addrs = []string{"localhost:1"} },
		"nobody there":   func(*Options) {},
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestAServerThatSpeaksSomethingElse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("SSH-2.0-x\r\n\r\n"))
		}
	}()
	if _, err := Run(t.Context(), Options{Addrs: []string{l.Addr().String()}, Rate: 100, Conns: 1, Length: time.Second, Request: text}); err == nil {
		t.Error("no error")
	}
}

func TestParseAnswer(t *testing.T) {
	whole := []byte("HTTP/1.1 429 Too Many\r\nRetry-After: 2\r\nContent-Length: 3\r\n\r\nabc")
	for n := range whole {
		if _, done, err := parseAnswer(whole[:n]); done || err != nil {
			t.Fatalf("%d of %d bytes: %v, %v", n, len(whole), done, err)
		}
	}
	a, done, err := parseAnswer(whole)
	if !done || err != nil || a.status != 429 {
		t.Fatalf("%+v, %v, %v", a, done, err)
	}
	if v, ok := Field(a.header, "retry-after"); !ok || string(v) != "2" {
		t.Errorf("retry-after %q", v)
	}
	if _, done, err := parseAnswer([]byte("HTTP/1.1 204 No\r\n\r\n")); !done || err != nil {
		t.Errorf("204: %v, %v", done, err)
	}
	for bad, want := range map[string]error{
		"HTTP/1.1 200 OK\r\n\r\n":                                 errNoLength,
		"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nab":          errTwoOfThem,
		"HTTP/1.1 2x0 OK\r\n\r\n":                                 errNoAnswer,
		"HTTP/1.1\r\n\r\n":                                        errNoAnswer,
		"SSH\r\n\r\n":                                             errNoAnswer,
		"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n":           errNoAnswer,
		"HTTP/1.1 200 OK\r\ncontent-length: 99999999999\r\n\r\n":  errNoAnswer,
		string(bytes.Repeat([]byte("x"), longestAnswer+1)):        errTooLong,
		"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1x": errNoLength,
	} {
		if _, _, err := parseAnswer([]byte(bad)); !errors.Is(err, want) {
			t.Errorf("%.60q: %v", bad, err)
		}
	}
}
