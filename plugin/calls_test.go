package plugin

import (
	"strings"
	"testing"

	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

const (
	overHTTP = `{"redis":{"link":"http","cluster":"r"},"runtime_overrides":false,"gateways":1,"on_error":"deny","limits":[{"name":"a","rate":"5/s"}]}`
	overHost = `{"redis":{"link":"host","cluster":"outbound|6379||r","db":2},"runtime_overrides":false,"gateways":1,"on_error":"deny","limits":[{"name":"a","rate":"5/s"}]}`
)

func TestHTTPCallsDecide(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		body   string
		want   uint32 // 0: passed
	}{
		"admitted":        {"200", string(admitted), 0},
		"rejected":        {"200", string(decision(serverTime, 0, 0, 5, 0, 1200, 1200)), 429},
		"no connection":   {"503", "upstream connect error", 503},
		"proxy's timeout": {"504", "upstream request timeout", 503},
		"not RESP":        {"200", "hello\r\n", 503},
	} {
		r := newRig(t, overHTTP)
		x := r.request(get("/a")...)
		if x.action != goabi.Pause || len(r.host.HTTP.Made) != 1 {
			t.Fatalf("%s: %d calls", name, len(r.host.HTTP.Made))
		}
		call := r.host.HTTP.Made[0]
		if call.Cluster != "r" || !strings.Contains(string(call.Body), "EVALSHA") || call.TimeoutMS < 20 {
			t.Errorf("%s: called %+v", name, call)
		}
		r.host.Deliver(r.vm.HTTPAnswered, call.Token, c.status, []byte(c.body))
		if name == "no connection" { // which is worth another attempt
			if x.settled() {
				t.Errorf("%s: settled without another attempt", name)
			}
			r.tick(60)
			r.host.Deliver(r.vm.HTTPAnswered, r.host.HTTP.Made[1].Token, c.status, []byte(c.body))
		}
		got := uint32(0)
		if !x.passed() && x.req.Answer != nil {
			got = x.req.Answer.Code
		}
		if !x.settled() || got != c.want {
			t.Errorf("%s: answered %d, want %d", name, got, c.want)
		}
	}
}

// A reset may be tried again: the connection was lost.
func TestHTTPCallReset(t *testing.T) {
	r := newRig(t, overHTTP)
	x := r.request(get("/a")...)
	r.host.Deliver(r.vm.HTTPAnswered, r.host.HTTP.Made[0].Token, "", nil)
	if x.settled() {
		t.Fatal("settled without another attempt")
	}
	r.tick(60)
	if len(r.host.HTTP.Made) != 2 {
		t.Fatalf("%d calls", len(r.host.HTTP.Made))
	}
	r.host.Deliver(r.vm.HTTPAnswered, r.host.HTTP.Made[1].Token, "200", admitted)
	if !x.passed() {
		t.Error("not passed")
	}
	if r.vm.HTTPAnswered(99, 1, 0) {
		t.Error("took another's answer")
	}
}

func TestHostCallsDecide(t *testing.T) {
	r := newRig(t, overHost)
	x := r.request(get("/a")...)
	inits := r.host.Redis.Inits
	if last := inits[len(inits)-1]; last.Cluster != "outbound|6379||r?buffer_flush_timeout=0&db=2" || last.TimeoutMS != 1020 {
		t.Errorf("initialised %+v", last)
	}
	call := r.host.Redis.Made[0]
	if call.Cluster != "outbound|6379||r" {
		t.Errorf("called %q", call.Cluster)
	}
	r.host.Reply(r.vm.RedisReplied, call.Token, admitted)
	if !x.passed() {
		t.Error("not passed")
	}
	// Nobody waits for these.
	r.host.Reply(r.vm.RedisReplied, call.Token, admitted)
	r.host.Reply(r.vm.RedisReplied, 99, nil)

	x = r.request(get("/a")...)
	r.tick(24)
	if x.req.Answer == nil || x.req.Answer.Code != 503 {
		t.Error("held past its deadline")
	}
	if !r.w.OnPluginDone() || len(r.vm.calls) != 0 {
		t.Errorf("%d links are left", len(r.vm.calls))
	}
}

func TestHostLinkNeedsHigress(t *testing.T) {
	h := hosttest.New()
	h.Redis.Absent = true
	h.Config = []byte(overHost)
	w := NewVM(h).NewPluginContext(hosttest.RootID)
	if w.OnPluginStart(0) {
		t.Fatal("accepted")
	}
	if l := h.Logs[len(h.Logs)-1]; l.Level != host.Error || !strings.Contains(l.Message, "sluice-higress.wasm") {
		t.Errorf("logged %q", l.Message)
	}
}
