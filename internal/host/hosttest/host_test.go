package hosttest

import (
	"maps"
	"slices"
	"testing"

	"sluice/internal/host"
)

func TestEffectiveContext(t *testing.T) {
	h := New()
	a := h.Request(2, [2]string{":path", "/a"})
	b := h.Request(3, [2]string{":path", "/b"})
	if v, s := h.HeaderValue(host.RequestHeaders, ":path"); v != "/b" || s != host.OK {
		t.Errorf("got %q, %d", v, s)
	}
	if s := h.SetEffectiveContext(2); s != host.OK {
		t.Fatalf("got %d", s)
	}
	h.AddHeader(host.RequestHeaders, "x", "1")
	h.Answer(429, "limited", []byte("no"), host.AppendPairs(nil, [][2]string{{"x-a", "1"}}), -1)
	if a.Header(host.RequestHeaders, "x") != "1" || b.Header(host.RequestHeaders, "x") != "" {
		t.Error("the wrong request was changed")
	}
	if a.Answer == nil || a.Answer.Code != 429 || a.Answer.Header("x-a") != "1" || b.Answer != nil {
		t.Errorf("answers %+v, %+v", a.Answer, b.Answer)
	}
	h.Forget(2)
	if s := h.SetEffectiveContext(2); s != host.BadArgument {
		t.Errorf("a dead context: %d", s)
	}
	if h.Effective() != RootID {
		t.Errorf("effective is %d", h.Effective())
	}
	// Outside a request nothing is found, and resuming does nothing.
	if _, s := h.HeaderValue(host.RequestHeaders, ":path"); s != host.BadArgument {
		t.Errorf("got %d", s)
	}
	if s := h.Resume(host.Request); s != host.OK || b.Resumed[host.Request] != 0 {
		t.Errorf("got %d", s)
	}
}

func TestHeaders(t *testing.T) {
	h := New()
	r := h.Request(2, [2]string{"a", "1"}, [2]string{"a", "2"}, [2]string{"b", "3"})
	name := []byte("c")
	h.AddHeader(host.RequestHeaders, string(name), "4")
	h.ReplaceHeader(host.RequestHeaders, "a", "5")
	h.RemoveHeader(host.RequestHeaders, "b")
	raw, _ := h.HeaderPairs(host.RequestHeaders)
	hs := host.NewHeaders(raw)
	for n, want := range map[string]string{"a": "5", "b": "", "c": "4"} {
		if got, _ := hs.Get(n); got != want {
			t.Errorf("%s: %q", n, got)
		}
	}
	if len(r.Maps[host.RequestHeaders]) != 2 {
		t.Errorf("fields %v", r.Maps[host.RequestHeaders])
	}
}

func TestSharedData(t *testing.T) {
	one, two := New(), New()
	two.Shared = one.Shared
	if _, _, s := one.SharedData("k"); s != host.NotFound {
		t.Errorf("got %d", s)
	}
	if s := one.SetSharedData("k", []byte("1"), 1<<32-1); s != host.OK {
		t.Errorf("got %d", s)
	}
	v, cas, s := two.SharedData("k")
	if string(v) != "1" || s != host.OK {
		t.Errorf("got %q, %d", v, s)
	}
	one.Shared.Interfere = func() { one.Shared.Set("k", []byte("2")) }
	if s := two.SetSharedData("k", []byte("3"), cas); s != host.CasMismatch {
		t.Errorf("got %d", s)
	}
	if s := two.SetSharedData("k", []byte("3"), 0); s != host.OK || string(one.Shared.Get("k")) != "3" {
		t.Errorf("got %d, %q", s, one.Shared.Get("k"))
	}
	if !slices.Equal(one.Shared.Keys(), []string{"k"}) {
		t.Errorf("keys %v", one.Shared.Keys())
	}
}

func TestStreams(t *testing.T) {
	h := New()
	var events []string
	h.Streams.OnMessage = func(token uint32, n int) {
		b, _ := h.StreamMessage(n)
		events = append(events, string(b))
	}
	h.Streams.OnClose = func(token, status uint32) { events = append(events, "closed") }
	token, s := h.OpenStream("redis", "a", "b")
	if s != host.OK {
		t.Fatal(s)
	}
	st := h.Streams.Last()
	buf := []byte("one")
	h.SendStream(token, buf)
	copy(buf, "two") // what goes in isn't kept
	h.SendStream(token, buf)
	if got := string(st.TakeSent()); got != "onetwo" || st.Cluster != "redis" {
		t.Errorf("got %q to %s", got, st.Cluster)
	}
	st.Receive([]byte("reply"))
	st.Close(14)
	if st.Receive([]byte("late")) || st.Close(14) {
		t.Error("an ended stream takes messages")
	}
	if h.CancelStream(token) != host.OK || h.CancelStream(token) != host.NotFound || h.SendStream(token, buf) != host.NotFound {
		t.Error("a cancelled token is alive")
	}
	if !slices.Equal(events, []string{"reply", "closed"}) {
		t.Errorf("events %q", events)
	}
	h.Streams.Refuse = 10
	if _, s := h.OpenStream("redis", "a", "b"); s != 10 {
		t.Errorf("got %d", s)
	}
}

func TestMetrics(t *testing.T) {
	h := New()
	c, _ := h.DefineMetric(host.Counter, "c")
	g, _ := h.DefineMetric(host.Gauge, "g")
	hi, _ := h.DefineMetric(host.Histogram, "h")
	if again, _ := h.DefineMetric(host.Counter, "c"); again != c {
		t.Error("two counters of one name")
	}
	h.IncrementMetric(c, 2)
	h.IncrementMetric(g, -2)
	h.RecordMetric(hi, 9)
	if h.IncrementMetric(c, 0) != host.BadArgument || h.IncrementMetric(hi, 1) != host.BadArgument || h.IncrementMetric(99, 1) != host.NotFound {
		t.Error("a bad increment was taken")
	}
	if h.Metrics.Value("c") != 2 || h.Metrics.Value("g") != -2 || h.Metrics.Value("x") != -1 {
		t.Error("wrong values")
	}
	if !slices.Equal(h.Metrics.Records("h"), []uint64{9}) || !slices.Equal(h.Metrics.Names(), []string{"c", "g", "h"}) {
		t.Errorf("records %v, names %v", h.Metrics.Records("h"), h.Metrics.Names())
	}
}

func TestBodyPropertyAndCalls(t *testing.T) {
	h := New()
	r := h.Request(2)
	r.Bodies[host.RequestBody] = []byte("hello")
	r.Properties["source\x00address"] = []byte("1.2.3.4:5")
	made := h.CallsSince(func() {
		if b, s := h.BodyBytes(host.RequestBody, 1, 3); string(b) != "ell" || s != host.OK {
			t.Errorf("body %q, %d", b, s)
		}
		if b, s := h.BodyBytes(host.RequestBody, 9, 3); len(b) != 0 || s != host.OK {
			t.Errorf("body %q, %d", b, s)
		}
		if b, s := h.Property("source\x00address"); string(b) != "1.2.3.4:5" || s != host.OK {
			t.Errorf("property %q, %d", b, s)
		}
		if _, s := h.Property("none"); s != host.NotFound {
			t.Errorf("got %d", s)
		}
		h.SetProperty("mine", []byte("v"))
		if b, _ := h.Property("mine"); string(b) != "v" || string(r.FilterState["mine"]) != "v" {
			t.Errorf("state %q", b)
		}
	})
	if want := map[string]int{"BodyBytes": 2, "Property": 3, "SetProperty": 1}; !maps.Equal(made, want) {
		t.Errorf("calls %v", made)
	}
}

func TestHTTPCall(t *testing.T) {
	h := New()
	if _, s := h.HTTPCall("c", host.AppendPairs(nil, nil), nil, 5); s != host.BadArgument {
		t.Errorf("without a path: %d", s)
	}
	headers := host.AppendPairs(nil, [][2]string{{":method", "GET"}, {":path", "/"}, {":authority", "a"}})
	token, s := h.HTTPCall("c", headers, []byte("b"), 5)
	if s != host.OK || len(h.HTTP.Made) != 1 || h.HTTP.Made[0].Token != token || string(h.HTTP.Made[0].Body) != "b" {
		t.Errorf("got %d, %+v", s, h.HTTP.Made)
	}
}
