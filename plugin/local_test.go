package plugin

import (
	"strconv"
	"strings"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// away makes Redis unreachable: streams can't be opened.
func (r *rig) away(gone bool) {
	r.host.Streams.Refuse = host.OK
	if gone {
		r.host.Streams.Refuse = host.Status(10)
		if st := r.host.Streams.Last(); st != nil {
			st.Close(14)
		}
	}
}

func TestLocalShareWhileRedisIsAway(t *testing.T) {
	r := newRig(t, `{"gateways":4,"redis":{"retry":{"times":0}},"limits":[{"name":"a","key":"header:x-u","rate":"20/min","on_error":"local"}]}`)
	r.away(true)
	admitted := 0
	for range 12 {
		x := r.request(get("/", "x-u", "1")...)
		if !x.settled() {
			t.Fatal("held")
		}
		if string(x.req.FilterState["sluice.mode"]) != "local" {
			t.Errorf("mode %q", x.req.FilterState["sluice.mode"])
		}
		if x.passed() {
			admitted++
			x.respond()
			if x.req.Header(host.ResponseHeaders, "ratelimit") == "" {
				t.Error("no headers")
			}
		} else if x.req.Answer.Code != 429 || x.req.Answer.Header("retry-after") == "" {
			t.Errorf("%+v", x.req.Answer)
		}
	}
	if admitted != 5 {
		t.Errorf("%d admitted, want the share of 20 for four gateways", admitted)
	}
	if y := r.request(get("/", "x-u", "2")...); !y.passed() {
		t.Error("another key is rejected")
	}
	if n := r.metric("mode=.=local;.;sluice_mode_total"); n != 13 {
		t.Errorf("decided locally: %d", n)
	}
}

func TestDenyBeatsLocalAndAllowHasNoWord(t *testing.T) {
	r := newRig(t, `{"gateways":1,"redis":{"retry":{"times":0}},"limits":[
		{"name":"l","rate":"1/min","on_error":"local"},
		{"name":"o","rate":"9/min","on_error":"allow"},
		{"name":"d","match":{"path":"/d"},"rate":"9/min","on_error":"deny"}]}`)
	r.away(true)
	if x := r.request(get("/d")...); x.req.Answer == nil || x.req.Answer.Code != 503 {
		t.Errorf("with a limit that denies: %+v", x.req.Answer)
	}
	x := r.request(get("/")...)
	if !x.passed() {
		t.Fatal("not admitted locally")
	}
	x.respond()
	if got := x.req.Header(host.ResponseHeaders, "ratelimit-policy"); got != `"l";q=1;w=60` {
		t.Errorf("ratelimit-policy %q tells of what wasn't decided", got)
	}
	if x := r.request(get("/")...); x.req.Answer == nil || x.req.Answer.Code != 429 {
		t.Errorf("beyond the share: %+v", x.req.Answer)
	}
	if n := r.metric("limit=.=o;.;outcome=.=failed_open;.;sluice_decisions_total"); n != 2 {
		t.Errorf("failed open: %d", n)
	}
}

func TestWhatWasAdmittedLocallyIsChargedInRedis(t *testing.T) {
	r := newRig(t, `{"gateways":1,"redis":{"timeout":"1s","retry":{"times":0}},"limits":[{"name":"a","key":"header:x-u","rate":"20/min","on_error":"local"}]}`)
	r.away(true)
	for range 3 {
		if x := r.request(get("/", "x-u", "1")...); !x.passed() {
			t.Fatal("not admitted locally")
		}
	}
	r.away(false)
	redis := newModelRedis(r)
	charged := int64(0)
	for range 100 {
		r.tick(100)
		for _, cmd := range r.sent() {
			switch {
			case cmd[0] == "PING":
				r.reply([]byte("+PONG\r\n"))
			case cmd[7] == "2":
				n, _ := strconv.ParseInt(cmd[8], 10, 64)
				charged += n
				if cmd[3] != "rl:{a|1}:log1" || strings.Join(cmd[9:], " ") != "20 60000" {
					t.Errorf("charged %q", cmd)
				}
				r.reply(decision(serverTime, 1, 1, n, 20-n, 1000, 0))
			default:
				r.reply(decision(redis.decide(cmd)...))
			}
		}
	}
	if charged != 3 {
		t.Errorf("%d units charged in Redis, want 3", charged)
	}
	if n := r.metric("sluice_reconciled_units_total"); n != 3 {
		t.Errorf("reconciled: %d", n)
	}
}

func TestGatewaysAreCountedByHeartbeats(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"a","rate":"20/min","on_error":"local"}]}`)
	x := r.request(get("/")...)
	r.reply(decision(serverTime, 1, 1, 1, 19, 1000, 0))
	if !x.passed() {
		t.Fatal("not admitted")
	}
	r.sent()
	r.tick(1000)
	cmds := r.sent()
	if len(cmds) != 1 || cmds[0][0] != "EVAL" || cmds[0][3] != "rl:{gateways}:beat1" {
		t.Fatalf("sent %q", cmds)
	}
	r.reply([]byte(":4\r\n"))
	r.tick(500)
	if cmds := r.sent(); len(cmds) != 0 {
		t.Errorf("beats again after half a second: %q", cmds)
	}
	// Another worker of the same gateway reads the count, and doesn't beat.
	other := hosttest.New()
	other.Shared = r.host.Shared
	other.Uptime = r.host.Uptime
	o := newRigOver(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"a","rate":"20/min","on_error":"local"}]}`, other, other)
	y := o.request(get("/")...)
	o.reply(decision(serverTime, 1, 1, 1, 19, 1000, 0))
	if !y.passed() {
		t.Fatal("not admitted")
	}
	o.sent()
	o.tick(500)
	if cmds := o.sent(); len(cmds) != 0 {
		t.Errorf("two workers of a gateway beat: %q", cmds)
	}
	if n := o.w.fallback.census.gateways(); n != 4 {
		t.Errorf("the other worker counts %d gateways", n)
	}
	// So does one whose first request comes while Redis is away.
	late := hosttest.New()
	late.Shared = r.host.Shared
	l := newRigOver(t, `{"redis":{"retry":{"times":0}},"limits":[{"name":"a","rate":"20/min","on_error":"local"}]}`, late, late)
	l.away(true)
	admitted := 0
	for range 20 {
		if l.request(get("/")...).passed() {
			admitted++
		}
	}
	if admitted != 5 {
		t.Errorf("the late worker admits %d, and the share is 5", admitted)
	}
}
