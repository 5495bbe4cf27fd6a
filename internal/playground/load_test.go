package playground

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// eventually waits until f holds.
func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

func TestTrafficIsChecked(t *testing.T) {
	good := Traffic{Rate: 1, Callers: 1, Method: "GET", Path: "/"}
	if _, err := good.check(); err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(t *Traffic){
		"the rate":          func(t *Traffic) { t.Rate = MaxRate + 1 },
		"rate goes":         func(t *Traffic) { t.Rate = -1 },
		"callers":           func(t *Traffic) { t.Callers = MaxCallers + 1 },
		"1 to":              func(t *Traffic) { t.Callers = 0 },
		"not a method":      func(t *Traffic) { t.Method = "GET /" },
		"CONNECT":           func(t *Traffic) { t.Method = "CONNECT" },
		"begins with /":     func(t *Traffic) { t.Path = "http://elsewhere/" },
		"no spaces":         func(t *Traffic) { t.Path = "/a\r\nHost: x" },
		"at most 2000":      func(t *Traffic) { t.Path = "/" + strings.Repeat("a", 3000) },
		"not a header":      func(t *Traffic) { t.Headers = "no colon" },
		"can't be chosen":   func(t *Traffic) { t.Headers = "Connection: close" },
		"control character": func(t *Traffic) { t.Headers = "a: b\x00" },
		"at most 20":        func(t *Traffic) { t.Headers = strings.Repeat("a: b\n", 21) },
	} {
		bad := good
		change(&bad)
		if _, err := bad.check(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// gatewayStub answers every second caller with a 429, and notes who asked.
type gatewayStub struct {
	*httptest.Server
	mu    sync.Mutex
	peers map[string]int // by address and key
	paths map[string]int
}

func newGatewayStub(t *testing.T) *gatewayStub {
	g := &gatewayStub{peers: map[string]int{}, paths: map[string]int{}}
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		peer, _, _ := strings.Cut(r.RemoteAddr, ":")
		g.mu.Lock()
		g.peers[peer+" "+r.Header.Get("x-key")]++
		g.paths[r.Host+r.RequestURI]++
		g.mu.Unlock()
		if r.Header.Get("x-key") == "k-2" {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("RateLimit", `"a";r=0;t=7`)
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte("no"))
		}
	}))
	t.Cleanup(g.Close)
	return g
}

func TestLoad(t *testing.T) {
	g := newGatewayStub(t)
	l := newLoad(g.URL)
	defer l.stop()
	if !l.addresses {
		t.Log("this system has no addresses for callers of their own")
	}
	if err := l.set(Traffic{Rate: 200, Callers: 2, Method: "GET", Path: "//a/../{caller}?x=%2f", Headers: "x-key: k-{caller}\nHost: shop.example"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "both callers were answered", func() bool {
		n := l.state().Totals
		return n.OK > 5 && n.Rejected > 5
	})
	a := l.takeAnswers()
	if a.Rejected == nil || a.Rejected.Line != "HTTP/1.1 429 Too Many Requests" || a.Rejected.Body != "no" ||
		a.Rejected.Headers[0] != [2]string{"retry-after", "7"} {
		t.Fatalf("the rejection is %+v", a.Rejected)
	}
	if len(a.Answers) == 0 || len(a.Answers) > maxAnswers {
		t.Errorf("%d answers", len(a.Answers))
	}
	// What is shown as a command is the request that was sent.
	ask, err := ParseAsk(a.Rejected.Request)
	if err != nil || ask.Host != "shop.example" || ask.Path != "//a/../2?x=%2f" || len(ask.Headers) != 1 || ask.Headers[0].Value != "k-2" {
		t.Errorf("%s is read as %+v, %v", a.Rejected.Request, ask, err)
	}
	l.stop()
	if l.state().Running {
		t.Error("it goes on")
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.paths["shop.example//a/../1?x=%2f"] == 0 || len(g.paths) != 2 {
		t.Errorf("paths: %v", g.paths)
	}
	if l.addresses && (g.peers["127.0.1.1 k-1"] == 0 || g.peers["127.0.1.2 k-2"] == 0 || len(g.peers) != 2) {
		t.Errorf("peers: %v", g.peers)
	}
}

func TestLoadIsBounded(t *testing.T) {
	release := make(chan struct{})
	var now, most int
	var mu sync.Mutex
	g := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		<-release
		mu.Lock()
		now--
		mu.Unlock()
	}))
	defer g.Close()
	l := newLoad(g.URL)
	if err := l.set(Traffic{Rate: MaxRate, Callers: 4, Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "some are held back", func() bool { return l.state().Totals.Dropped > 0 })
	mu.Lock()
	if most > maxInFlight {
		t.Errorf("%d at a time", most)
	}
	mu.Unlock()
	close(release)
	if err := l.set(Traffic{Rate: 0, Callers: 4, Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	if l.state().Running {
		t.Error("a rate of 0 doesn't stop it")
	}
}

func TestLoadEndsByItself(t *testing.T) {
	g := newGatewayStub(t)
	l := newLoad(g.URL)
	if err := l.set(Traffic{Rate: 50, Callers: 1, Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	l.ends = time.Now()
	l.mu.Unlock()
	eventually(t, "it ended", func() bool { return !l.state().Running })
	if err := l.set(Traffic{Rate: 50, Callers: 1, Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	before := l.state().Totals.Sent
	eventually(t, "it runs again", func() bool { return l.state().Totals.Sent > before })
	l.stop()
}

func TestLoadWithoutAGateway(t *testing.T) {
	l := newLoad("http://127.0.0.1:1")
	defer l.stop()
	if err := l.set(Traffic{Rate: 50, Callers: 1, Method: "GET", Path: "/"}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a failure is counted", func() bool { return l.state().Totals.Failed > 0 })
	a := l.takeAnswers()
	if len(a.Answers) == 0 || !strings.Contains(a.Answers[0].Failed, "refused") || strings.Contains(a.Answers[0].Failed, "http://") {
		t.Errorf("got %+v", a.Answers)
	}
}

// Traffic ends when the last page is closed.
func TestTrafficEndsWithThePage(t *testing.T) {
	g := newGatewayStub(t)
	l, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(l, Options{Gateway: g.URL, Admin: "127.0.0.1:1", Redis: noRedis(t), Settings: opened(t, "limits: []\n")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	ctx, closePage := context.WithCancel(t.Context())
	defer closePage()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/api/live", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for _, want := range []string{"event: hello", "event: sample", "event: sample"} {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.TrimSpace(line) == want {
				break
			}
		}
		if !s.load.state().Running {
			if err := s.load.set(Traffic{Rate: 20, Callers: 1, Method: "GET", Path: "/"}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !s.load.state().Running {
		t.Fatal("it ended while the page is open")
	}
	closePage()
	eventually(t, "it ended", func() bool { return !s.load.state().Running })
}
