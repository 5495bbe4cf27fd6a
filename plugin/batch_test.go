package plugin

import (
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
)

// modelRedis answers the plugin's calls by the pure models, in order.
type modelRedis struct {
	rig      *rig
	counters map[string]limit.Model
	queue    [][]string
	calls    int
	flushed  bool // it lacks the script
}

func newModelRedis(r *rig) *modelRedis {
	return &modelRedis{rig: r, counters: map[string]limit.Model{}}
}

// answer replies to the oldest call that waits; false when there is none.
func (m *modelRedis) answer() bool {
	m.queue = append(m.queue, m.rig.sent()...)
	if len(m.queue) == 0 {
		return false
	}
	cmd := m.queue[0]
	m.queue = m.queue[1:]
	m.calls++
	if m.flushed && cmd[0] == "EVALSHA" {
		m.rig.reply([]byte("-NOSCRIPT No matching script.\r\n"))
		return true
	}
	m.flushed = false
	m.rig.reply(decision(m.decide(cmd)...))
	return true
}

func (m *modelRedis) decide(cmd []string) []int64 {
	now := m.rig.host.Clock
	n, _ := strconv.Atoi(cmd[2])
	num := func(i int) int64 { x, _ := strconv.ParseInt(cmd[i], 10, 64); return x }
	algorithm, _ := limit.Lookup("sliding_log", "compact")
	type asked struct {
		model limit.Model
		cost  int64
	}
	var all []asked
	admitted := int64(1)
	for i := range n {
		at := 3 + n + 2 + 5*i
		key := cmd[3+i]
		if m.counters[key] == nil {
			m.counters[key] = algorithm.New(limit.Params{Limit: num(at + 3), WindowMS: num(at + 4)})
		}
		a := asked{m.counters[key], num(at + 2)}
		if !a.model.Look(now, a.cost).Admitted {
			admitted = 0
		}
		all = append(all, a)
	}
	reply := []int64{now, admitted}
	for _, a := range all {
		d := a.model.Look(now, a.cost)
		if admitted == 1 && a.cost > 0 {
			d = a.model.Take(now, a.cost)
		}
		own := int64(0)
		if d.Admitted {
			own = 1
		}
		reply = append(reply, own, d.Current, d.Remaining, d.ResetMS, d.RetryAfterMS)
	}
	return reply
}

func TestHotKeyHasOneCallOutAtATime(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"a","rate":"150/min"}]}`)
	redis := newModelRedis(r)
	var all []*exchange
	for range 100 {
		all = append(all, r.request(get("/")...))
	}
	for redis.answer() {
	}
	for i, x := range all {
		if !x.passed() {
			t.Fatalf("request %d of 100 isn't admitted", i)
		}
		x.respond()
		if got, want := x.req.Header(host.ResponseHeaders, "x-ratelimit-remaining"), strconv.Itoa(149-i); got != want {
			t.Errorf("request %d: remaining %s, want %s", i, got, want)
		}
	}
	if redis.calls != 2 {
		t.Errorf("%d calls for 100 requests, want 2", redis.calls)
	}

	all = nil
	for range 100 {
		all = append(all, r.request(get("/")...))
	}
	for redis.answer() {
	}
	admitted := 0
	for i, x := range all {
		switch {
		case x.passed():
			admitted++
			if i != admitted-1 {
				t.Errorf("request %d is admitted after one was rejected", i)
			}
		case x.req.Answer == nil || x.req.Answer.Code != 429 || x.req.Answer.Header("retry-after") != "61":
			t.Fatalf("request %d: %+v", i, x.req.Answer)
		}
	}
	if admitted != 50 {
		t.Errorf("%d of 100 admitted, want the 50 that were left", admitted)
	}
	if redis.calls > 2+5 {
		t.Errorf("%d calls for 100 requests at the limit", redis.calls-2)
	}
}

func TestRequestsThatDifferShareNothing(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"a","key":"header:x-u","rate":"5/s","cost":"header:x-cost","overrides":[{"when":{"header:x-plan":"gold"},"rate":"50/s"}]}]}`)
	r.request(get("/", "x-u", "1", "x-cost", "1")...)
	r.request(get("/", "x-u", "2", "x-cost", "1")...)
	r.request(get("/", "x-u", "1", "x-cost", "2")...)
	r.request(get("/", "x-u", "1", "x-cost", "1", "x-plan", "gold")...)
	if n := len(r.sent()); n != 4 {
		t.Errorf("%d calls for four requests that differ", n)
	}
}

func TestStoragesOfSingleHitsShareNothing(t *testing.T) {
	for _, l := range []string{
		`"rate":"5/s","storage":"zset"`, `"algorithm":"concurrency","max":5`, `"rate":"5/s","penalty":"1s"`,
		`"rate":"5/s","algorithm":"leaky_bucket","max_wait":"1s"`, `"rate":"5/s","shadow":true`, `"rate":"5/s","count_rejected":true`,
	} {
		r := newRig(t, `{"redis":{"timeout":"1s"},"limits":[{"name":"a",`+l+`}]}`)
		r.request(get("/")...)
		r.request(get("/")...)
		if n := len(r.sent()); n != 2 {
			t.Errorf("%s: %d calls for two requests", l, n)
		}
	}
}

// Whatever happens to calls and clients: every request is settled once, no more
// are admitted than the limit, and none is rejected while there is room.
func TestBatchesAreExact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		max := rapid.IntRange(1, 40).Draw(rt, "limit")
		r := newRig(t, `{"redis":{"timeout":"1s","retry":{"times":0}},"limits":[{"name":"a","key":"header:x-u","rate":"`+
			strconv.Itoa(max)+`/min","cost":"header:x-cost","on_error":"deny"},{"name":"b","rate":"60/min","on_error":"deny"}]}`)
		redis := newModelRedis(r)
		type one struct {
			*exchange
			user string
			cost int
			gone bool
		}
		var all []*one
		units := map[string]int{}
		for range rapid.IntRange(1, 120).Draw(rt, "steps") {
			switch rapid.IntRange(0, 9).Draw(rt, "what") {
			case 0, 1, 2, 3, 4:
				user := strconv.Itoa(rapid.IntRange(0, 1).Draw(rt, "user"))
				cost := rapid.SampledFrom([]int{0, 1, 1, 1, 3}).Draw(rt, "cost")
				x := r.request(get("/", "x-u", user, "x-cost", strconv.Itoa(cost))...)
				all = append(all, &one{exchange: x, user: user, cost: cost})
			case 5, 6, 7:
				redis.answer()
			case 8:
				if len(all) > 0 {
					o := all[rapid.IntRange(0, len(all)-1).Draw(rt, "who")]
					if !o.gone && !o.settled() {
						o.gone = true
						o.end()
						r.host.Enter(hosttest.RootID)
					}
				}
			case 9:
				redis.flushed = true
			}
		}
		for redis.answer() {
		}
		passed, lost := 0, map[string]int{}
		for _, o := range all {
			if o.gone {
				lost[o.user] += o.cost // may have been charged
				continue
			}
			if !o.settled() {
				rt.Fatal("a request is still held")
			}
			if o.passed() {
				passed++
				units[o.user] += o.cost
			} else if o.req.Answer.Code != 429 {
				rt.Fatalf("answered %d", o.req.Answer.Code)
			}
		}
		for user, n := range units {
			if n > max {
				rt.Fatalf("%d units of %d admitted for user %s", n, max, user)
			}
		}
		if passed > 60 {
			rt.Fatalf("%d of 60 admitted", passed)
		}
		// What Redis counts is what was admitted, and perhaps what clients that
		// left were.
		for user, n := range units {
			m := redis.counters["rl:{a|"+user+"}:log1"]
			if m == nil {
				continue
			}
			counted := int(m.Look(r.host.Clock, 0).Current)
			if counted < n || counted > n+lost[user] {
				rt.Fatalf("user %s: %d units admitted, %d counted, %d by clients that left", user, n, counted, lost[user])
			}
		}
		if len(r.w.flights) != 0 {
			rt.Fatalf("%d flights are still noted", len(r.w.flights))
		}
		for _, o := range all {
			if c := o.ctx.(*request); !c.pooled && c.refs != 0 {
				rt.Fatalf("a request is still referred to %d times", c.refs)
			}
		}
	})
}

func TestLostConnectionFailsAllWhoShareIt(t *testing.T) {
	r := newRig(t, `{"redis":{"timeout":"1s","retry":{"times":0}},"limits":[{"name":"a","rate":"5/s","on_error":"deny"}]}`)
	var all []*exchange
	for range 20 {
		all = append(all, r.request(get("/")...))
	}
	r.host.Streams.Last().Close(13)
	r.tick(4)
	for i, x := range all {
		if x.req.Answer == nil || x.req.Answer.Code != 503 {
			t.Fatalf("request %d: %+v", i, x.req.Answer)
		}
	}
}
