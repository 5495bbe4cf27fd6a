//go:build !wasip1

package sdkhost

import (
	"slices"
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/proxytest"
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/host"
)

// plugin runs a function in a request's callbacks, as a plugin would.
type plugin struct {
	types.DefaultVMContext
	types.DefaultPluginContext
	types.DefaultHttpContext
	onRequest func() types.Action
	onTick    func()
	onStart   func()
}

func (p *plugin) NewPluginContext(uint32) types.PluginContext { return testPlugin{p} }

type testPlugin struct{ *plugin }

func (p testPlugin) OnPluginStart(int) types.OnPluginStartStatus {
	if p.onStart != nil {
		p.onStart()
	}
	return true
}
func (p testPlugin) OnTick()                                 { p.onTick() }
func (p testPlugin) OnPluginDone() bool                      { return true }
func (p testPlugin) OnQueueReady(uint32)                     {}
func (p testPlugin) NewTcpContext(uint32) types.TcpContext   { return nil }
func (p testPlugin) NewHttpContext(uint32) types.HttpContext { return &testStream{p: p.plugin} }

type testStream struct {
	types.DefaultHttpContext
	p *plugin
}

func (c *testStream) OnHttpRequestHeaders(int, bool) types.Action { return c.p.onRequest() }

func emulate(t *testing.T, p *plugin) proxytest.HostEmulator {
	t.Helper()
	e, reset := proxytest.NewHostEmulator(proxytest.NewEmulatorOption().
		WithVMContext(p).
		WithPluginConfiguration([]byte("conf")).
		WithProperty([]string{"source", "address"}, []byte("1.2.3.4:5")))
	t.Cleanup(reset)
	e.StartVM()
	return e
}

func TestRequest(t *testing.T) {
	h := &Host{}
	p := &plugin{}
	p.onStart = func() {
		if b, s := h.PluginConfiguration(); string(b) != "conf" || s != host.OK {
			t.Errorf("configuration %q, %d", b, s)
		}
		h.SetTick(100)
	}
	p.onRequest = func() types.Action {
		raw, s := h.HeaderPairs(host.RequestHeaders)
		if v, ok := host.NewHeaders(raw).Get("x"); s != host.OK || !ok || v != "1,2" {
			t.Errorf("x is %q, %d", v, s)
		}
		if v, s := h.HeaderValue(host.RequestHeaders, "empty"); v != "" || s != host.OK {
			t.Errorf("empty is %q, %d", v, s)
		}
		if _, s := h.HeaderValue(host.RequestHeaders, "none"); s != host.NotFound {
			t.Errorf("none: %d", s)
		}
		if v, s := h.Property("source\x00address"); string(v) != "1.2.3.4:5" || s != host.OK {
			t.Errorf("address %q, %d", v, s)
		}
		if _, s := h.Property("none"); s != host.NotFound {
			t.Errorf("property none: %d", s)
		}
		if s := h.SetProperty("mine", []byte("v")); s != host.OK {
			t.Errorf("set property: %d", s)
		}
		buf := []byte("a value")
		h.AddHeader(host.RequestHeaders, "x-added", string(buf))
		h.ReplaceHeader(host.RequestHeaders, "x", "3")
		h.RemoveHeader(host.RequestHeaders, "empty")
		h.Log(host.Warn, "careful")
		return types.ActionContinue
	}
	e := emulate(t, p)
	e.StartPlugin()
	if e.GetTickPeriod() != 100 {
		t.Errorf("tick period %d", e.GetTickPeriod())
	}
	id := e.InitializeHttpContext()
	e.CallOnRequestHeaders(id, [][2]string{{"x", "1"}, {"x", "2"}, {"empty", ""}}, true)
	want := [][2]string{{"x", "3"}, {"x-added", "a value"}}
	if got := e.GetCurrentRequestHeaders(id); !slices.Contains(got, want[0]) || !slices.Contains(got, want[1]) {
		t.Errorf("headers %v", got)
	}
	if v, _ := e.GetProperty([]string{"mine"}); string(v) != "v" {
		t.Errorf("filter state %q", v)
	}
	if !slices.Equal(e.GetWarnLogs(), []string{"careful"}) {
		t.Errorf("logs %v", e.GetWarnLogs())
	}
}

func TestAnswerAndResume(t *testing.T) {
	h := &Host{}
	p := &plugin{onRequest: func() types.Action { return types.ActionPause }}
	e := emulate(t, p)
	first, second := e.InitializeHttpContext(), e.InitializeHttpContext()
	e.CallOnRequestHeaders(first, nil, true)
	e.CallOnRequestHeaders(second, nil, true)
	p.onTick = func() {
		h.SetEffectiveContext(first)
		h.Resume(host.Request)
		h.SetEffectiveContext(second)
		body := []byte("no")
		h.Answer(429, "limited", body, host.AppendPairs(nil, [][2]string{{"x-a", "1"}}), -1)
		copy(body, "xx") // what goes in isn't kept
	}
	e.Tick()
	if e.GetCurrentHttpStreamAction(first) != types.ActionContinue || e.GetSentLocalResponse(first) != nil {
		t.Error("the first didn't go on")
	}
	r := e.GetSentLocalResponse(second)
	if r == nil || r.StatusCode != 429 || r.StatusCodeDetail != "limited" || string(r.Data) != "no" ||
		!slices.Equal(r.Headers, [][2]string{{"x-a", "1"}}) {
		t.Errorf("answer %+v", r)
	}
}

func TestMetricsAndSharedData(t *testing.T) {
	h := &Host{}
	e := emulate(t, &plugin{})
	c, s := h.DefineMetric(host.Counter, "c")
	if s != host.OK {
		t.Fatal(s)
	}
	h.IncrementMetric(c, 3)
	if v, err := e.GetCounterMetric("c"); v != 3 || err != nil {
		t.Errorf("counter %d, %v", v, err)
	}
	if _, _, s := h.SharedData("k"); s != host.NotFound {
		t.Errorf("got %d", s)
	}
	h.SetSharedData("k", []byte("v"), 0)
	v, cas, s := h.SharedData("k")
	if string(v) != "v" || s != host.OK {
		t.Errorf("got %q, %d", v, s)
	}
	if s := h.SetSharedData("k", []byte("w"), cas+1); s != host.CasMismatch {
		t.Errorf("got %d", s)
	}
}

func TestCallouts(t *testing.T) {
	h := &Host{}
	p := &plugin{}
	e := emulate(t, p)
	var token uint32
	p.onRequest = func() types.Action {
		headers := host.AppendPairs(nil, [][2]string{{":path", "/x"}})
		token, _ = h.HTTPCall("cluster", headers, []byte("b"), 5)
		return types.ActionPause
	}
	id := e.InitializeHttpContext()
	e.CallOnRequestHeaders(id, nil, true)
	calls := e.GetCalloutAttributesFromContext(id)
	if len(calls) != 1 || calls[0].CalloutID != token || calls[0].Upstream != "cluster" || string(calls[0].Body) != "b" {
		t.Errorf("calls %+v", calls)
	}

	var got string
	h.Streams.OnMessage = func(_ uint32, n int) {
		b, _ := h.StreamMessage(n)
		got = string(b)
	}
	stream, _ := h.OpenStream("redis", "a", "b")
	h.SendStream(stream, []byte("PING"))
	if st := h.Streams.Last(); string(st.TakeSent()) != "PING" || !st.Receive([]byte("PONG")) || got != "PONG" {
		t.Errorf("got %q", got)
	}
}

func TestClockEnvironmentRandom(t *testing.T) {
	h := &Host{Clock: func() int64 { return 42 }, Environ: map[string]string{"A": "b"}}
	if h.Now() != 42 || h.Steady() != 42 || h.Env("A") != "b" || h.Env("PATH") != "" {
		t.Error("the test's own clock or environment isn't used")
	}
	real := &Host{}
	if real.Now() < 1_700_000_000_000_000 || real.Steady() < 0 || real.Env("PATH") == "" {
		t.Error("the process's own clock or environment isn't used")
	}
	b := make([]byte, 32)
	real.Random(b)
	if slices.Equal(b, make([]byte, 32)) {
		t.Error("nothing random")
	}
}
