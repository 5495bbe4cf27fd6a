package plugin

import (
	"sort"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
)

// hotRedis answers calls for compact logs by the pure model, undo included; it
// may lose replies.
type hotRedis struct {
	counters map[string]*hotLog
	calls    int
	undone   int64
}

// hotLog is an exact log: when each unit was charged.
type hotLog struct{ at []int64 }

func (l *hotLog) count(now, window int64) (n int64, oldest int64) {
	for _, t := range l.at {
		if t > now-window {
			if n == 0 {
				oldest = t
			}
			n++
		}
	}
	return n, oldest
}

func newHotRedis() *hotRedis { return &hotRedis{counters: map[string]*hotLog{}} }

// serve is the reply to one call.
func (h *hotRedis) serve(now int64, cmd []string) []byte {
	h.calls++
	n, _ := strconv.Atoi(cmd[2])
	num := func(i int) int64 { x, _ := strconv.ParseInt(cmd[i], 10, 64); return x }
	at := 3 + n + 2
	type asked struct {
		op, cost, limit, window, since int64
		log                            *hotLog
	}
	var all []asked
	ok := int64(1)
	for i := range n {
		l := h.counters[cmd[3+i]]
		if l == nil {
			l = &hotLog{}
			h.counters[cmd[3+i]] = l
		}
		a := asked{op: num(at + 1), cost: num(at + 2), limit: num(at + 3), window: num(at+4) * 1000, log: l}
		at += 5
		if a.op == 6 {
			a.since = num(at)
			at += 2
		}
		if c, _ := l.count(now, a.window); a.op == 0 && c+max(a.cost, 1) > a.limit {
			ok = 0
		}
		all = append(all, a)
	}
	out := []int64{now, ok}
	for _, a := range all {
		c, _ := a.log.count(now, a.window)
		own := int64(1)
		switch {
		case a.op == 6:
			for range a.cost {
				i := sort.Search(len(a.log.at), func(i int) bool { return a.log.at[i] >= a.since })
				if i < len(a.log.at) && a.log.at[i] == a.since {
					a.log.at = append(a.log.at[:i], a.log.at[i+1:]...)
					h.undone++
				}
			}
		case c+max(a.cost, 1) > a.limit:
			own = 0
		case ok == 1:
			for range a.cost {
				a.log.at = append(a.log.at, now)
			}
		}
		c, oldest := a.log.count(now, a.window)
		reset, retry := int64(0), int64(0)
		if c > 0 {
			reset = (oldest+a.window-now)/1000 + 1
		}
		if own == 0 {
			need := c + a.cost - a.limit // units that have to leave
			retry = limit.Never
			if a.cost <= a.limit {
				live := a.log.at[int64(len(a.log.at))-c:]
				retry = (live[need-1]+a.window-now)/1000 + 1
			}
		}
		out = append(out, own, c, max(a.limit-c, 0), reset, retry)
	}
	return decision(out...)
}

const leased = `{"gateways":1,"redis":{"timeout":"20ms","retry":{"times":0}},"limits":[{"name":"a","rate":"1000/s","on_error":"deny","hot":{"lease":{"for":"100ms"}}}]}`

// pump answers all calls that wait.
func (r *rig) pump(h *hotRedis) {
	for {
		cmds := r.sent()
		if len(cmds) == 0 {
			return
		}
		for _, cmd := range cmds {
			if cmd[0] == "PING" {
				r.reply([]byte("+PONG\r\n"))
				continue
			}
			r.reply(h.serve(r.host.Clock, cmd))
		}
	}
}

func TestALeaseNeedsFewCalls(t *testing.T) {
	r := newRig(t, leased)
	h := newHotRedis()
	admitted := 0
	for range 2000 { // 500 a second for 4 s
		x := r.request(get("/")...)
		r.pump(h)
		if x.passed() {
			admitted++
		}
		r.tick(2)
		r.pump(h)
	}
	if admitted != 2000 {
		t.Errorf("%d of 2000 admitted, half of the limit", admitted)
	}
	if h.calls > 200 {
		t.Errorf("%d calls for 2000 requests", h.calls)
	}
	if n := r.host.Metrics.Value("mode=.=lease;.;sluice_mode_total"); n < 1800 {
		t.Errorf("%d by a lease", n)
	}
	// Nobody comes any more: what is left goes back.
	for range 20 {
		r.tick(20)
		r.pump(h)
	}
	if h.undone == 0 {
		t.Error("nothing was returned")
	}
	if n := r.w.leases.live; n != 0 {
		t.Errorf("%d grants are left", n)
	}
	if n := len(h.counters["rl:{a|}:log1"].at); n != 2000 {
		t.Errorf("%d units charged for 2000 requests, after the rest was returned", n)
	}
}

func TestALeasesHeaders(t *testing.T) {
	r := newRig(t, leased)
	h := newHotRedis()
	for i := range 40 {
		x := r.request(get("/")...)
		r.pump(h)
		if !x.passed() {
			t.Fatalf("request %d is refused", i)
		}
		x.respond()
		if got, want := x.req.Header(host.ResponseHeaders, "x-ratelimit-remaining"), strconv.Itoa(999-i); i < 8 && got != want {
			t.Errorf("request %d: remaining %s, want %s", i, got, want)
		}
		if got := x.req.Header(host.ResponseHeaders, "ratelimit-policy"); got != `"a";q=1000;w=1` {
			t.Errorf("policy %s", got)
		}
		if i == 39 && string(x.req.FilterState["sluice.mode"]) != "lease" {
			t.Errorf("mode %q", x.req.FilterState["sluice.mode"])
		}
	}
}

// Whatever is lost, and whoever else takes from the limit: in no window are more
// admitted than the limit.
func TestLeasesNeverAdmitMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		config := `{"gateways":1,"redis":{"timeout":"20ms","retry":{"times":1}},"limits":[{"name":"a","rate":"100/s","on_error":"deny","hot":{"lease":{"for":"100ms"}}}]}`
		h := newHotRedis()
		first := newRig(t, config)
		rigs := []*rig{first}
		for range rapid.IntRange(0, 2).Draw(rt, "more workers") {
			over := hosttest.New()
			over.Shared = first.host.Shared
			rigs = append(rigs, newRigOver(t, config, over, over))
		}
		var admitted []int64
		var open []*exchange
		seen := map[*exchange]bool{}
		collect := func() {
			for _, x := range open {
				if !seen[x] && x.passed() {
					seen[x] = true
					admitted = append(admitted, x.host.Clock)
				}
			}
			left := open[:0]
			for _, x := range open {
				if !x.settled() {
					left = append(left, x)
				}
			}
			open = left
		}
		total := 0
		for range rapid.IntRange(100, 400).Draw(rt, "steps") {
			for _, r := range rigs {
				for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 5}).Draw(rt, "requests") {
					open = append(open, r.request(get("/")...))
					total++
				}
				collect()
				for _, cmd := range r.sent() {
					if cmd[0] == "PING" {
						// A command before it may have lost the connection.
						if st := r.host.Streams.Last(); st != nil {
							r.receive(st, []byte("+PONG\r\n"))
						}
						continue
					}
					switch rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}).Draw(rt, "fate") {
					case 1: // carried out, and the connection breaks before the reply
						h.serve(r.host.Clock, cmd)
						r.host.Streams.Last().Close(14)
					case 2: // carried out, and answered too late
						reply := h.serve(r.host.Clock, cmd)
						r.tick(25)
						if st := r.host.Streams.Last(); st != nil {
							r.receive(st, reply)
						}
					default:
						if st := r.host.Streams.Last(); st != nil {
							r.receive(st, h.serve(r.host.Clock, cmd))
						}
					}
					collect()
				}
			}
			ms := rapid.SampledFrom([]int64{1, 4, 4, 8, 20}).Draw(rt, "ms")
			latest := int64(0)
			for _, r := range rigs {
				latest = max(latest, r.host.Clock)
			}
			for _, r := range rigs { // one clock for all
				r.tick((latest-r.host.Clock)/1000 + ms)
			}
			collect()
		}
		sort.Slice(admitted, func(i, j int) bool { return admitted[i] < admitted[j] })
		for i, k := 0, 0; i < len(admitted); i++ {
			for admitted[i]-admitted[k] >= 1_000_000 {
				k++
			}
			if n := i - k + 1; n > 100 {
				rt.Fatalf("%d admitted within a second", n)
			}
		}
	})
}

const sharded = `{"gateways":1,"redis":{"timeout":"20ms","retry":{"times":0}},"limits":[{"name":"a","rate":"20/s","on_error":"deny","hot":{"shards":8}}]}`

func TestShardsBorrow(t *testing.T) {
	for _, batched := range []bool{false, true} {
		r := newRig(t, sharded)
		h := newHotRedis()
		var all []*exchange
		for range 40 {
			all = append(all, r.request(get("/")...))
			if !batched {
				r.pump(h)
			}
		}
		r.pump(h)
		admitted := 0
		for _, x := range all {
			switch {
			case x.passed():
				admitted++
			case x.req.Answer == nil || x.req.Answer.Code != 429 || x.req.Answer.Header("retry-after") != "2":
				t.Errorf("rejected by %+v", x.req.Answer)
			}
		}
		if admitted != 20 {
			t.Errorf("%d admitted of 20, batched %v", admitted, batched)
		}
		if len(h.counters) != 8 {
			t.Errorf("%d counters", len(h.counters))
		}
		for k := range h.counters {
			if !strings.HasPrefix(k, "rl:{a||%s") || !strings.HasSuffix(k, "}:log1") {
				t.Errorf("key %s", k)
			}
		}
		// All are known to be full: nobody is asked.
		before := h.calls
		x := r.request(get("/")...)
		if x.req.Answer == nil || x.req.Answer.Code != 429 || h.calls != before || string(x.req.FilterState["sluice.mode"]) != "memory" {
			t.Errorf("asked again, or %+v", x.req.Answer)
		}
	}
}

// Two workers, one of which has used up what the other's turn is at.
func TestShardsNeverRejectWhileOneHasRoom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := newHotRedis()
		var rigs []*rig
		for range rapid.IntRange(1, 3).Draw(rt, "workers") {
			rigs = append(rigs, newRig(t, sharded))
		}
		left := 20
		for range 60 {
			r := rigs[rapid.IntRange(0, len(rigs)-1).Draw(rt, "worker")]
			var all []*exchange
			for range rapid.IntRange(1, 6).Draw(rt, "requests") {
				all = append(all, r.request(get("/")...))
			}
			r.pump(h)
			for _, x := range all {
				if !x.settled() {
					rt.Fatal("held")
				}
				if x.passed() != (left > 0) {
					rt.Fatalf("passed %v with %d left", x.passed(), left)
				}
				left = max(left-1, 0)
			}
		}
	})
}

const quick = `{"gateways":4,"redis":{"timeout":"50ms","retry":{"times":0}},"limits":[{"name":"a","rate":"40/min","on_error":"deny","hot":{"batch":false,"local":{"trip":"5ms for 100ms","recover":"2ms for 500ms"}}}]}`

func TestALimitGoesLocalWhileRedisIsSlow(t *testing.T) {
	r := newRig(t, quick)
	h := newHotRedis()
	gauge := func() int64 { return r.host.Metrics.Value("sluice_hot_local") }
	ask := func(rtt int64) *exchange {
		x := r.request(get("/")...)
		cmds := r.sent()
		r.tick(rtt)
		for _, cmd := range cmds {
			r.reply(h.serve(r.host.Clock, cmd))
		}
		return x
	}
	for range 5 {
		if x := ask(1); !x.passed() || string(x.req.FilterState["sluice.mode"]) != "redis" {
			t.Fatal("not by Redis")
		}
	}
	for i := 0; gauge() == 0; i++ {
		if i == 20 {
			t.Fatal("stays with a slow Redis")
		}
		ask(8)
	}
	admitted := 0
	for range 20 {
		x := r.request(get("/")...)
		if !x.settled() {
			t.Fatal("held")
		}
		if x.passed() {
			admitted++
			if string(x.req.FilterState["sluice.mode"]) != "local" {
				t.Errorf("mode %q", x.req.FilterState["sluice.mode"])
			}
		}
	}
	if admitted != 10 {
		t.Errorf("%d admitted by a share of 10", admitted)
	}
	// Probes find Redis slow, then quick.
	probe := func(rtt int64) {
		for range 30 {
			r.tick(25)
			for _, cmd := range r.sent() {
				r.host.Advance(rtt * 1000)
				if cmd[7] == "1" && cmd[8] != "0" {
					t.Errorf("the probe charges: %q", cmd)
				}
				r.reply(h.serve(r.host.Clock, cmd))
			}
		}
	}
	probe(4)
	if gauge() != 1 {
		t.Error("back at 4 ms")
	}
	probe(1)
	if gauge() != 0 {
		t.Error("not back at 1 ms")
	}
	if x := ask(1); string(x.req.FilterState["sluice.mode"]) != "redis" {
		t.Errorf("mode %q afterwards", x.req.FilterState["sluice.mode"])
	}
	lines := 0
	for _, l := range r.host.Logs {
		if strings.Contains(l.Message, "limit a: Redis is") {
			lines++
		}
	}
	if lines != 2 {
		t.Errorf("%d lines about two changes", lines)
	}
	var charged int64
	for _, l := range h.counters {
		charged += int64(len(l.at))
	}
	if charged < int64(admitted)+5 {
		t.Errorf("%d units in Redis, with %d admitted locally", charged, admitted)
	}
}
