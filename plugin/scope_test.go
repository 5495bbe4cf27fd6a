package plugin

import (
	"fmt"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
)

// own is a configuration of one limit that the gateway keeps for itself.
func own(fields string) string {
	return `{"limits":[{"name":"own","key":"header:x-u","scope":"gateway",` + fields + `}]}`
}

// statuses sends requests and tells what becomes of each: 0 for one that passed.
func (r *rig) statuses(n int, headers ...string) (out []uint32) {
	r.t.Helper()
	for range n {
		x := r.request(get("/", headers...)...)
		if !x.settled() {
			r.t.Fatal("a request is held")
		}
		code := uint32(0)
		if !x.passed() {
			code = x.req.Answer.Code
		}
		x.end()
		out = append(out, code)
	}
	return out
}

// A limit of the gateway's own is decided in the request's own callback, with no
// call, no stream and no timer that runs fast.
func TestGatewayLimitAsksNoRedis(t *testing.T) {
	r := newRig(t, own(`"rate":"3/min"`))
	x := r.request(get("/", "x-u", "1")...)
	if !x.passed() || x.req.Resumed[host.Request] != 0 {
		t.Fatal("held")
	}
	x.respond()
	if got := x.req.Header(host.ResponseHeaders, "ratelimit"); got != `"own";r=2;t=61` && got != `"own";r=2;t=60` {
		t.Errorf("ratelimit %q", got)
	}
	if got := string(x.req.FilterState["sluice.mode"]); got != "local" {
		t.Errorf("mode %q", got)
	}
	x.end()
	if got := fmt.Sprint(r.statuses(4, "x-u", "1")); got != "[0 0 429 429]" {
		t.Errorf("then %s", got)
	}
	if got := fmt.Sprint(r.statuses(1, "x-u", "2")); got != "[0]" {
		t.Errorf("another key %s", got)
	}
	for range 10 {
		r.tick(1000)
	}
	if n := len(r.host.Streams.Opened); n != 0 {
		t.Errorf("%d streams were opened", n)
	}
	if n := r.metric("mode=.=local;.;sluice_mode_total"); n != 6 {
		t.Errorf("%d decided locally", n)
	}
	r.host.Advance(61_000_000)
	if got := fmt.Sprint(r.statuses(4, "x-u", "1")); got != "[0 0 0 429]" {
		t.Errorf("a window later %s", got)
	}
}

// All workers of a gateway count together, and gateways don't.
func TestGatewayLimitIsOfAllWorkers(t *testing.T) {
	a := newRig(t, `{"gateways":8,"limits":[{"name":"own","scope":"gateway","rate":"10/min"}]}`)
	h := hosttest.New()
	h.Shared = a.host.Shared
	b := newRigOver(t, `{"gateways":8,"limits":[{"name":"own","scope":"gateway","rate":"10/min"}]}`, h, h)
	n := 0
	for range 10 {
		for _, r := range []*rig{a, b} {
			if r.statuses(1)[0] == 0 {
				n++
			}
		}
	}
	if n != 10 {
		t.Errorf("%d admitted by two workers, want 10", n)
	}
}

func TestGatewayLimitKnowsEveryFeature(t *testing.T) {
	t.Run("count_rejected", func(t *testing.T) {
		r := newRig(t, own(`"rate":"2/s","count_rejected":true`))
		r.statuses(2, "x-u", "1")
		for range 6 {
			r.host.Advance(400_000)
			if got := r.statuses(1, "x-u", "1")[0]; got != 429 {
				t.Errorf("a caller that keeps on gets %d", got)
			}
			r.statuses(1, "x-u", "1")
		}
	})
	t.Run("penalty", func(t *testing.T) {
		r := newRig(t, own(`"rate":"2/s","penalty":"1min"`))
		r.statuses(3, "x-u", "1")
		r.host.Advance(30_000_000)
		x := r.request(get("/", "x-u", "1")...)
		if x.req.Answer == nil || x.req.Answer.Header("retry-after") != "30" && x.req.Answer.Header("retry-after") != "31" {
			t.Errorf("%+v", x.req.Answer)
		}
		r.host.Advance(31_000_000)
		if got := r.statuses(1, "x-u", "1")[0]; got != 0 {
			t.Errorf("after the penalty %d", got)
		}
	})
	t.Run("shadow", func(t *testing.T) {
		r := newRig(t, own(`"rate":"2/min","shadow":true`))
		if got := fmt.Sprint(r.statuses(4, "x-u", "1")); got != "[0 0 0 0]" {
			t.Errorf("%s", got)
		}
		if n := r.metric("limit=.=own;.;outcome=.=shadow_rejected;.;sluice_decisions_total"); n != 2 {
			t.Errorf("%d counted as shadow_rejected", n)
		}
	})
	t.Run("tag", func(t *testing.T) {
		r := newRig(t, own(`"rate":"1/min","tag":{"header":"x-over","value":"yes"}`))
		r.statuses(1, "x-u", "1")
		x := r.request(get("/", "x-u", "1")...)
		if !x.passed() || x.req.Header(host.RequestHeaders, "x-over") != "yes" {
			t.Errorf("%+v", x.req.Maps[host.RequestHeaders])
		}
	})
	t.Run("a queue", func(t *testing.T) {
		r := newRig(t, own(`"rate":"10/s","algorithm":"leaky_bucket","max_wait":"250ms"`))
		var all []*exchange
		for range 4 {
			all = append(all, r.request(get("/", "x-u", "1")...))
		}
		for i, x := range all[:3] {
			if x.settled() != (i == 0) {
				t.Errorf("request %d: settled %v", i, x.settled())
			}
		}
		if all[3].req.Answer == nil || all[3].req.Answer.Code != 429 {
			t.Errorf("beyond the longest wait: %+v", all[3].req.Answer)
		}
		for range 27 {
			r.tick(4)
		}
		if !all[1].passed() || all[2].settled() {
			t.Error("the second isn't let through after 100 ms, or the third too early")
		}
		for range 27 {
			r.tick(4)
		}
		if !all[2].passed() {
			t.Error("the third isn't let through after 200 ms")
		}
	})
	t.Run("settle", func(t *testing.T) {
		r := newRig(t, own(`"rate":"2/min","settle":{"charge_on":{"status":[401]}}`))
		for range 3 {
			x := r.request(get("/", "x-u", "1")...)
			if !x.passed() {
				t.Fatalf("%+v", x.req.Answer)
			}
			x.respond()
			x.end() // 200: refunded
		}
		for range 2 {
			x := r.request(get("/", "x-u", "1")...)
			x.req.Maps[host.ResponseHeaders] = [][2]string{{":status", "401"}}
			x.req.Properties["response\x00code_details"] = []byte("via_upstream")
			x.host.Enter(x.req.ID)
			x.ctx.OnHttpResponseHeaders(1, true)
			x.end()
		}
		if got := r.statuses(1, "x-u", "1")[0]; got != 429 {
			t.Errorf("after two 401 %d", got)
		}
	})
	t.Run("a cost from the answer", func(t *testing.T) {
		r := newRig(t, own(`"rate":"10/min","settle":{"cost":"response_header:x-used"}`))
		x := r.request(get("/", "x-u", "1")...)
		x.respond([2]string{"x-used", "9"})
		x.end()
		if got := fmt.Sprint(r.statuses(2, "x-u", "1")); got != "[0 429]" {
			t.Errorf("after 9 of 10 %s", got)
		}
	})
	t.Run("concurrency", func(t *testing.T) {
		r := newRig(t, own(`"algorithm":"concurrency","max":2,"max_hold":"10s"`))
		x, y := r.request(get("/", "x-u", "1")...), r.request(get("/", "x-u", "1")...)
		if got := r.statuses(1, "x-u", "1")[0]; !x.passed() || !y.passed() || got != 429 {
			t.Errorf("the third of two gets %d", got)
		}
		x.end()
		if got := r.statuses(1, "x-u", "1")[0]; got != 0 {
			t.Errorf("after one has ended %d", got)
		}
		// One whose end nobody reports, as when its worker crashed.
		z := r.request(get("/", "x-u", "1")...)
		if got := r.statuses(1, "x-u", "1")[0]; !z.passed() || got != 429 {
			t.Errorf("full again: %d", got)
		}
		r.host.Advance(11_000_000)
		if got := r.statuses(1, "x-u", "1")[0]; got != 0 {
			t.Errorf("after max_hold %d", got)
		}
	})
	t.Run("calendar and several windows", func(t *testing.T) {
		r := newRig(t, `{"limits":[{"name":"d","scope":"gateway","algorithm":"calendar","rate":"3/day"},{"name":"w","scope":"gateway","rate":["2/s","9/hour"]}]}`)
		if got := fmt.Sprint(r.statuses(3)); got != "[0 0 429]" {
			t.Errorf("%s", got)
		}
		r.host.Advance(1_100_000)
		if got := fmt.Sprint(r.statuses(2)); got != "[0 429]" {
			t.Errorf("%s: what the second rejected is charged to the day", got)
		}
	})
}

// Together with limits in Redis the gateway's own come first, and get back what
// Redis rejects.
func TestGatewayLimitBesideOthers(t *testing.T) {
	for _, topology := range []string{"single", "cluster"} {
		r := newRig(t, `{"redis":{"topology":"`+topology+`","timeout":"1s","retry":{"times":0}},"limits":[
			{"name":"own","scope":"gateway","rate":"3/min"},{"name":"held","scope":"gateway","algorithm":"concurrency","max":3},
			{"name":"a","key":"header:x-u","rate":"1/min","on_error":"deny"}]}`)
		c := newNodes(r)
		x := r.request(get("/", "x-u", "1")...)
		if x.settled() {
			t.Fatal("decided without Redis")
		}
		c.answerAll()
		if !x.passed() || string(x.req.FilterState["sluice.mode"]) != "redis" {
			t.Errorf("%+v, mode %s", x.req.Answer, x.req.FilterState["sluice.mode"])
		}
		x.end()
		// Rejected by Redis, and refused because it didn't answer.
		c.counters["rl:{a|2}:log1"] = 1
		for range 3 {
			y := r.request(get("/", "x-u", "2")...)
			c.answerAll()
			if y.req.Answer == nil || y.req.Answer.Code != 429 || y.req.Answer.Details != "sluice_a" {
				t.Errorf("%+v", y.req.Answer)
			}
			r.host.Advance(1_000_000) // not from memory
			z := r.request(get("/", "x-u", "3")...)
			c.take()
			k := c.calls[0]
			c.answer(k, []byte("-CLUSTERDOWN The cluster is down\r\n"))
			if z.req.Answer == nil || z.req.Answer.Code != 503 {
				t.Errorf("%+v", z.req.Answer)
			}
			r.w.lanes[0].breaker.Success()
			r.w.laneTo([]byte("rl:{a|3}:log1")).breaker.Success()
		}
		for i := range 3 {
			z := r.request(get("/", "x-u", fmt.Sprint(10+i))...)
			c.answerAll()
			if z.passed() != (i < 2) {
				t.Errorf("request %d: %+v", i, z.req.Answer)
			}
			if i == 2 && (z.req.Answer.Details != "sluice_own" || string(z.req.FilterState["sluice.mode"]) != "local") {
				t.Errorf("%+v", z.req.Answer)
			}
			defer z.end()
		}
		if n := c.counters["rl:{a|12}:log1"]; n != 0 {
			t.Errorf("Redis was asked about what the gateway rejected: %d", n)
		}
	}
}

// A client that leaves while Redis is asked gives its slot of the gateway back.
func TestGatewaySlotsAreFreeWhenClientsLeave(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"held","scope":"gateway","algorithm":"concurrency","max":1},{"name":"a","rate":"9/min"}]}`)
	c := newNodes(r)
	x := r.request(get("/")...)
	x.end()
	c.answerAll()
	y := r.request(get("/")...)
	c.answerAll()
	if !y.passed() {
		t.Errorf("%+v", y.req.Answer)
	}
}

// Beside limits of the gateway's own a hot key in Redis still has one call out at
// a time, and what the gateway charged for those that Redis rejects is returned.
func TestHotKeyBesideAGatewayLimit(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"own","scope":"gateway","rate":"150/min"},{"name":"a","rate":"60/min"}]}`)
	c := newNodes(r)
	var all []*exchange
	for range 100 {
		all = append(all, r.request(get("/")...))
	}
	c.answerAll()
	admitted := 0
	for i, x := range all {
		if x.passed() {
			admitted++
		} else if x.req.Answer == nil || x.req.Answer.Code != 429 || x.req.Answer.Details != "sluice_a" {
			t.Fatalf("request %d: %+v", i, x.req.Answer)
		}
	}
	if admitted != 60 || c.total("a") != 60 {
		t.Errorf("%d admitted and %d counted of 60", admitted, c.total("a"))
	}
	if n := len(c.all); n > 5 {
		t.Errorf("%d calls for 100 requests", n)
	}
	all[0].respond()
	if got := all[0].req.Header(host.ResponseHeaders, "ratelimit-policy"); got != `"own";q=150;w=60, "a";q=60;w=60` {
		t.Errorf("ratelimit-policy %q", got)
	}
	// 90 of the gateway's are left, and Redis has room again.
	c.counters = map[string]int64{}
	r.host.Advance(2_000_000)
	c.counters["rl:{a|}:log1"] = -1000
	got := 0
	for range 100 {
		x := r.request(get("/")...)
		c.answerAll()
		if x.passed() {
			got++
		}
	}
	if got != 90 {
		t.Errorf("then %d admitted by the gateway, want 90", got)
	}
}
