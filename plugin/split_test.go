package plugin

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/host"
	"sluice/internal/slot"
	"sluice/redisproto"
)

// threeSlots is a request that meets three limits in three slots.
func threeSlots(onError string) string {
	return `{"gateways":1,"redis":{"topology":"cluster","timeout":"1s"},"limits":[
		{"name":"a","key":"header:x-u","rate":"2/min","on_error":"` + onError + `"},
		{"name":"b","key":"header:x-t","rate":"3/min","on_error":"` + onError + `"},
		{"name":"c","rate":"4/min","on_error":"` + onError + `"}]}`
}

func TestSlotsAreAskedAtOnce(t *testing.T) {
	r := newRig(t, threeSlots("deny"))
	c := newNodes(r)
	x := r.request(get("/", "x-u", "1", "x-t", "1")...)
	c.take()
	if len(c.calls) != 3 || x.settled() {
		t.Fatalf("%d calls are out, settled %v", len(c.calls), x.settled())
	}
	for i, k := range c.calls {
		if i > 0 && k.id == c.calls[0].id {
			t.Error("two calls have one request id")
		}
		want := r.w.lane(slot.Of([]byte(k.keys[0]))).pipe
		if r.vm.streams[k.stream.Token] != want {
			t.Errorf("the call for %s goes over another slot's pipe", k.keys[0])
		}
	}
	c.answerAll()
	if !x.passed() {
		t.Fatalf("%+v", x.req.Answer)
	}
	x.respond()
	if got := x.req.Header(host.ResponseHeaders, "ratelimit"); got != `"a";r=1;t=1` {
		t.Errorf("ratelimit %q isn't of the closest limit of all slots", got)
	}
	if got := x.req.Header(host.ResponseHeaders, "ratelimit-policy"); got != `"a";q=2;w=60, "b";q=3;w=60, "c";q=4;w=60` {
		t.Errorf("ratelimit-policy %q", got)
	}
	if got := string(x.req.FilterState["sluice.mode"]); got != "redis" {
		t.Errorf("mode %s", got)
	}
}

func TestRejectedInOneSlotIsChargedInNone(t *testing.T) {
	r := newRig(t, threeSlots("deny"))
	c := newNodes(r)
	for i := range 6 {
		x := r.request(get("/", "x-u", "1", "x-t", "1")...)
		c.answerAll()
		if x.passed() != (i < 2) {
			t.Fatalf("request %d: %+v", i, x.req.Answer)
		}
		if i >= 2 && (x.req.Answer.Code != 429 || x.req.Answer.Details != "sluice_a") {
			t.Errorf("request %d: %+v", i, x.req.Answer)
		}
	}
	for _, limit := range []string{"a", "b", "c"} {
		if n := c.total(limit); n != 2 {
			t.Errorf("%s counts %d, and 2 were admitted", limit, n)
		}
	}
	// What is returned has the id of what was charged.
	for i, k := range c.all {
		if k.ops[0].op != 6 {
			continue
		}
		if !slices.ContainsFunc(c.all[:i], func(e *nodeCall) bool { return e.id == k.id && e.keys[0] == k.keys[0] && e.ops[0].op == 0 }) {
			t.Errorf("%q returns what no call charged", k.args)
		}
	}
	if n := r.decisions("b"); n != 3 { // of those from memory only a had a word
		t.Errorf("b decided %d times", n)
	}
	// Nothing is asked while a is known to be full: the later ones made no call.
	if n := len(c.all); n != 3+3+3+2 {
		t.Errorf("%d calls for two admitted and one rejected, with two returns", n)
	}
}

func TestOneSlotTimesOut(t *testing.T) {
	for _, x := range []struct {
		onError        string
		code           uint32
		a, b, c        int64
		failed, mode   string
		failedOutcomes int64
	}{
		{"deny", 503, 0, 0, 0, "failed_closed", "none", 3},
		{"allow", 0, 1, 0, 1, "failed_open", "redis", 1},
		{"local", 0, 1, 0, 1, "failed_open", "redis", 0},
	} {
		r := newRig(t, threeSlots(x.onError))
		c := newNodes(r)
		e := r.request(get("/", "x-u", "1", "x-t", "1")...)
		for _, limit := range []string{"a", "c"} {
			k := c.with(limit)
			if k.stream == c.with("b").stream {
				t.Fatal("the keys share a pipe: choose others")
			}
			c.answer(k, c.run(k))
		}
		if e.settled() {
			t.Fatal("settled before all slots spoke")
		}
		r.tick(1100)
		c.take()
		c.calls = slices.DeleteFunc(c.calls, func(k *nodeCall) bool { return k.ops != nil && k.ops[0].op == 0 }) // never answered
		for len(c.calls) > 0 {
			k := c.calls[0]
			c.answer(k, c.run(k))
		}
		switch {
		case !e.settled():
			t.Fatalf("%s: held", x.onError)
		case x.code != 0 && (e.req.Answer == nil || e.req.Answer.Code != x.code):
			t.Errorf("%s: %+v", x.onError, e.req.Answer)
		case x.code == 0 && !e.passed():
			t.Errorf("%s: %+v", x.onError, e.req.Answer)
		}
		if a, b, cc := c.total("a"), c.total("b"), c.total("c"); a != x.a || b != x.b || cc != x.c {
			t.Errorf("%s: counted %d, %d and %d", x.onError, a, b, cc)
		}
		if got := string(e.req.FilterState["sluice.mode"]); got != x.mode && x.mode != "none" {
			t.Errorf("%s: mode %q", x.onError, got)
		}
		n := int64(0)
		for _, limit := range []string{"a", "b", "c"} {
			n += r.metric("limit=.=" + limit + ";.;outcome=.=" + x.failed + ";.;sluice_decisions_total")
		}
		if n != x.failedOutcomes {
			t.Errorf("%s: %s counted %d times", x.onError, x.failed, n)
		}
		if n := r.metric("kind=.=timeout;.;sluice_redis_errors_total"); n != 1 {
			t.Errorf("%s: %d timeouts", x.onError, n)
		}
	}
}

// A failed slot's limits are counted locally; when that rejects, the other slots'
// charges are returned.
func TestLocalShareOfOneSlotRejects(t *testing.T) {
	r := newRig(t, `{"gateways":2,"redis":{"topology":"cluster","timeout":"1s","retry":{"times":0}},"limits":[
		{"name":"a","key":"header:x-u","rate":"20/min","on_error":"local"},{"name":"b","key":"header:x-t","rate":"2/min","on_error":"local"}]}`)
	c := newNodes(r)
	var got []bool
	for range 3 {
		x := r.request(get("/", "x-u", "1", "x-t", "1")...)
		k := c.with("b")
		c.answer(k, []byte("-CLUSTERDOWN The cluster is down\r\n"))
		k = c.with("a")
		c.answer(k, c.run(k))
		c.answerAll()
		got = append(got, x.passed())
		if !x.passed() && (x.req.Answer.Code != 429 || x.req.Answer.Details != "sluice_b") {
			t.Errorf("%+v", x.req.Answer)
		}
	}
	if fmt.Sprint(got) != "[true false false]" {
		t.Errorf("admitted %v", got)
	}
	if n := c.total("a"); n != 1 {
		t.Errorf("a counts %d, and one was admitted", n)
	}
}

// Only the slot whose call failed is asked again, under the same id.
func TestOnlyTheFailedSlotIsAskedAgain(t *testing.T) {
	for _, why := range []string{"-TRYAGAIN Multiple keys request during rehashing of slot\r\n", "-MOVED 1 127.0.0.1:7000\r\n", "-upstream failure\r\n", "-READONLY You can't write against a read only replica.\r\n", "lost"} {
		r := newRig(t, threeSlots("deny"))
		c := newNodes(r)
		x := r.request(get("/", "x-u", "1", "x-t", "1")...)
		first := c.with("b")
		for _, limit := range []string{"a", "c"} {
			k := c.with(limit)
			c.answer(k, c.run(k))
		}
		if why == "lost" {
			first.stream.Close(13)
			c.calls = nil
		} else {
			c.answer(first, []byte(why))
		}
		if x.settled() {
			t.Fatalf("%s: settled", why)
		}
		for range 15 {
			r.tick(4)
		}
		again := c.with("b")
		if again.id != first.id || len(c.calls) != 1 {
			t.Errorf("%s: id %s, then %s; %d calls are out", why, first.id, again.id, len(c.calls))
		}
		c.answerAll()
		if !x.passed() {
			t.Errorf("%s: %+v", why, x.req.Answer)
		}
	}
}

// A slot that refuses ends the others' wait for a second attempt.
func TestRefusedEndsTheWaitForAnotherAttempt(t *testing.T) {
	r := newRig(t, threeSlots("allow"))
	c := newNodes(r)
	c.counters["rl:{c|}:log1"] = 4
	x := r.request(get("/", "x-u", "1", "x-t", "1")...)
	c.answer(c.with("b"), []byte("-CLUSTERDOWN The cluster is down\r\n"))
	k := c.with("a")
	c.answer(k, c.run(k))
	if x.settled() {
		t.Fatal("settled too early")
	}
	k = c.with("c")
	c.answer(k, c.run(k))
	if x.req.Answer == nil || x.req.Answer.Code != 429 {
		t.Fatalf("%+v", x.req.Answer)
	}
	c.answerAll()
	if n := c.total("a"); n != 0 {
		t.Errorf("a counts %d", n)
	}
	for range 20 {
		r.tick(4)
	}
	if c.take(); len(c.calls) != 0 {
		t.Errorf("asks again for a request that is answered: %q", c.calls[0].args)
	}
	if n := r.metric("limit=.=b;.;outcome=.=failed_open;.;sluice_decisions_total"); n != 0 {
		t.Error("a rejected request counts as failed open")
	}
}

func TestEachNodeGetsTheScript(t *testing.T) {
	r := newRig(t, threeSlots("deny"))
	c := newNodes(r)
	x := r.request(get("/", "x-u", "1", "x-t", "1")...)
	for _, limit := range []string{"a", "b", "c"} {
		c.answer(c.with(limit), []byte("-NOSCRIPT No matching script.\r\n"))
	}
	c.take()
	for _, k := range c.calls {
		if k.args[0] != "EVAL" {
			t.Errorf("sends %q", k.args[0])
		}
	}
	c.answerAll()
	if !x.passed() || r.metric("sluice_script_loads_total") != 3 {
		t.Errorf("%+v, %d loads", x.req.Answer, r.metric("sluice_script_loads_total"))
	}
}

// An undo that a node can't carry out now is tried again.
func TestUndoIsTriedAgainWhereItSurelyWasNotMade(t *testing.T) {
	r := newRig(t, threeSlots("deny"))
	c := newNodes(r)
	c.counters["rl:{c|}:log1"] = 4
	r.request(get("/", "x-u", "1", "x-t", "1")...)
	for _, limit := range []string{"a", "b", "c"} {
		k := c.with(limit)
		c.answer(k, c.run(k))
	}
	c.answer(c.with("a"), []byte("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"))
	c.answer(c.with("b"), []byte("-NOSCRIPT No matching script.\r\n"))
	for range 15 {
		r.tick(4)
	}
	c.answerAll()
	for _, limit := range []string{"a", "b"} {
		if n := c.total(limit); n != 0 {
			t.Errorf("%s counts %d", limit, n)
		}
	}
	if n := r.metric("sluice_settle_errors_total"); n != 0 {
		t.Errorf("%d corrections failed", n)
	}
}

// A client that leaves while its slots are asked: what would have been rejected
// is returned, what was admitted counts, and slots that it held are free.
func TestClientLeavesWhileSlotsAreAsked(t *testing.T) {
	config := `{"redis":{"topology":"cluster","timeout":"1s"},"limits":[{"name":"a","key":"header:x-u","rate":"5/min"},{"name":"c","algorithm":"concurrency","max":5}]}`
	for _, full := range []bool{false, true} {
		r := newRig(t, config)
		c := newNodes(r)
		if full {
			c.counters["rl:{a|1}:log1"] = 5
		}
		x := r.request(get("/", "x-u", "1")...)
		x.end()
		c.answerAll()
		want := int64(1)
		if full {
			want = 5
		}
		if a, h := c.total("a"), c.total("c"); a != want || h != 0 {
			t.Errorf("full %v: a counts %d, want %d; %d slots are held", full, a, want, h)
		}
		if q := x.ctx.(*request); !q.pooled {
			t.Errorf("full %v: the request isn't free: %d refer to it", full, q.refs)
		}
	}
}

// The slots of a request that passed are settled at its end.
func TestSlotsAreSettled(t *testing.T) {
	r := newRig(t, `{"redis":{"topology":"cluster","timeout":"1s"},"limits":[
		{"name":"a","key":"header:x-u","rate":"5/min","settle":{"refund_on":{"status":["5xx"]}}},
		{"name":"b","rate":"5/min"},{"name":"c","key":"header:x-u","algorithm":"concurrency","max":5}]}`)
	c := newNodes(r)
	x := r.request(get("/", "x-u", "1")...)
	c.answerAll()
	if a, b, h := c.total("a"), c.total("b"), c.total("c"); a != 1 || b != 1 || h != 1 {
		t.Fatalf("counted %d, %d and %d", a, b, h)
	}
	x.req.Maps[host.ResponseHeaders] = [][2]string{{":status", "503"}}
	x.req.Properties["response\x00code_details"] = []byte("via_upstream")
	x.host.Enter(x.req.ID)
	x.ctx.OnHttpResponseHeaders(1, true)
	x.end()
	c.answerAll()
	if a, b, h := c.total("a"), c.total("b"), c.total("c"); a != 0 || b != 1 || h != 0 {
		t.Errorf("after a 503 %d, %d and %d are counted", a, b, h)
	}
}

// Requests whose plan is in one slot make one call, and share it as ever.
func TestOneSlotOfAClusterIsOneCall(t *testing.T) {
	r := newRig(t, `{"redis":{"topology":"cluster","timeout":"1s"},"limits":[
		{"name":"a","key":"header:x-u","hash_tag":"header:x-t","rate":"50/min"},{"name":"b","hash_tag":"header:x-t","rate":"60/min"}]}`)
	c := newNodes(r)
	var all []*exchange
	for range 20 {
		all = append(all, r.request(get("/", "x-u", "1", "x-t", "acme")...))
	}
	c.take()
	if len(c.calls) != 1 || fmt.Sprint(c.calls[0].keys) != "[rl:{acme}:a|1:log1 rl:{acme}:b|:log1]" {
		t.Fatalf("%d calls, the first for %q", len(c.calls), c.calls[0].keys)
	}
	c.answerAll()
	for i, x := range all {
		if !x.passed() || x.ctx.(*request).split != nil {
			t.Errorf("request %d: %+v", i, x.req.Answer)
		}
	}
	if len(c.all) != 2 {
		t.Errorf("%d calls for 20 requests", len(c.all))
	}
}

// A caller can't name a hash tag, a counter or a slot of another's.
func TestHashTagsAreEscaped(t *testing.T) {
	r := newRig(t, `{"redis":{"topology":"cluster","timeout":"1s"},"limits":[{"name":"a","key":"header:x-u","hash_tag":"header:x-t","rate":"5/min","penalty":"1min"}]}`)
	seen := map[string]string{}
	for _, h := range [][2]string{{"acme", "u"}, {"acme}:a|u", ""}, {"", "acme}:a|u"}, {"{acme}", "u"}, {"acme|u", "u"}, {"%-", "u"}, {"acme", "u:log1"}, {"acme", "}u"}} {
		h2 := get("/")
		if h[0] != "" {
			h2 = append(h2, [2]string{"x-t", h[0]})
		}
		if h[1] != "" {
			h2 = append(h2, [2]string{"x-u", h[1]})
		}
		r.request(h2...)
	}
	for _, st := range r.host.Streams.Opened {
		d := redisproto.NewDecoder(redisproto.Limits{})
		d.Feed(st.TakeSent())
		for v, ok, _ := d.Next(); ok; v, ok, _ = d.Next() {
			log, pen := string(v.Elems[3].Str), string(v.Elems[4].Str)
			if _, twice := seen[log]; twice {
				t.Errorf("two callers share %s", log)
			}
			seen[log] = pen
			if strings.Count(log, "{") != 1 || strings.Count(log, "}") != 1 || slot.Of([]byte(log)) != slot.Of([]byte(pen)) {
				t.Errorf("keys %s and %s", log, pen)
			}
		}
	}
	if len(seen) != 8 || seen["rl:{acme}:a|u:log1"] != "rl:{acme}:a|u:pen1" {
		t.Errorf("keys %v", seen)
	}
}

// A node that fails takes down its share of the keys only.
func TestBreakersAreOfSlots(t *testing.T) {
	r := newRig(t, `{"redis":{"topology":"cluster","timeout":"20ms"},"limits":[{"name":"a","key":"header:x-u","rate":"5/min","on_error":"deny"}]}`)
	c := newNodes(r)
	dead := func(key string) bool { return slot.Of([]byte(key)) < slot.Count/3 }
	failed, good := 0, 0
	for i := range 400 {
		key := fmt.Sprintf("rl:{a|%d}:log1", i)
		x := r.request(get("/", "x-u", strconv.Itoa(i))...)
		for c.take(); len(c.calls) > 0; c.take() {
			k := c.calls[0]
			if k.args[0] != "PING" && dead(k.keys[0]) {
				c.answer(k, []byte("-upstream failure\r\n"))
				for range 15 {
					r.tick(4)
				}
				continue
			}
			c.answer(k, c.run(k))
		}
		switch {
		case !x.settled():
			t.Fatalf("request %d is held", i)
		case dead(key):
			failed++
			if x.passed() || x.req.Answer.Code != 503 {
				t.Errorf("request %d: %+v", i, x.req.Answer)
			}
		default:
			good++
			if !x.passed() {
				t.Errorf("request %d to a node that works: %+v", i, x.req.Answer)
			}
		}
	}
	if failed < 50 || good < 100 {
		t.Errorf("%d requests to the dead node, %d to the others", failed, good)
	}
	if n := r.metric("sluice_breaker_open"); n != clusterLanes/3 {
		t.Errorf("%d breakers are open, want those of a third of the slots", n)
	}
	r.w.OnPluginDone()
	if n := r.metric("sluice_breaker_open"); n != 0 {
		t.Errorf("%d breakers are open after the configuration's end", n)
	}
}

// Where one slot's breaker is open and its limit denies, no other slot is asked.
func TestNothingIsAskedInVain(t *testing.T) {
	r := newRig(t, threeSlots("deny"))
	c := newNodes(r)
	l := r.w.laneTo([]byte("rl:{c|}:log1"))
	for range 5 {
		l.breaker.Failure(r.host.Uptime)
	}
	x := r.request(get("/", "x-u", "1", "x-t", "1")...)
	if c.take(); len(c.calls) != 0 || x.req.Answer == nil || x.req.Answer.Code != 503 {
		t.Errorf("%d calls, %+v", len(c.calls), x.req.Answer)
	}
}
