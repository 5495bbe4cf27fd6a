package engine_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/slot"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/redisproto"
)

// world is divided requests over one Redis, whose replies an adversary orders,
// loses and forges. Its clock is the test's.
type world struct {
	t       *rapid.T
	redis   *conn
	e       *engine.Engine
	now     int64
	seq     int
	out     []*nodeCall
	flights []*flight
	gateway int64 // what the gateway's own counter holds, units
	gwLimit int64
	hits    map[string][]hit // admitted by Redis
}

// hit is what an admitted request was charged at a counter.
type hit struct{ at, cost int64 }

// flight is one request.
type flight struct {
	d    engine.Decision
	s    engine.Split
	cost int64
	left int // parts that haven't ended
	ids  map[*engine.Decision][]byte
	// charged is what each part's executed calls charged, by what became known.
	known, unknown map[*engine.Decision]map[string]int64
}

// nodeCall is one command on its way.
type nodeCall struct {
	f       *flight
	p       *engine.Decision
	cmd     []byte
	keys    []string
	correct bool // it returns or settles
	waits   bool // it isn't sent yet
}

func newWorld(t *rapid.T, c *conn, e *engine.Engine, gwLimit int64) *world {
	return &world{t: t, redis: c, e: e, now: 1_754_321_987_654_321, gwLimit: gwLimit, hits: map[string][]hit{}}
}

func (w *world) start(cost int64, more ...string) *flight {
	f := &flight{cost: cost, ids: map[*engine.Decision][]byte{},
		known: map[*engine.Decision]map[string]int64{}, unknown: map[*engine.Decision]map[string]int64{}}
	var v source.View
	v.Reset(get("/", append(more, "x-cost", strconv.FormatInt(cost, 10))...), &w.e.Policy().Source)
	if step := f.d.Start(w.e, &v); step != engine.Send || !f.d.Divided() {
		w.t.Fatalf("step %d, divided %v", step, f.d.Divided())
	}
	f.s.Start(&f.d)
	for k := range f.s.Gateway.Plan.Charges {
		c := &f.s.Gateway.Plan.Charges[k]
		c.Result = limit.Decision{Admitted: w.gateway+max(cost, 1) <= w.gwLimit, Current: w.gateway + cost, Remaining: max(w.gwLimit-w.gateway-cost, 0)}
		if c.Result.Admitted {
			w.gateway += cost
		}
		f.s.Gateway.DecidedLocally(c.Result.Admitted, w.now)
	}
	if f.s.Refused() {
		w.conclude(f)
		return f
	}
	f.left = len(f.s.Parts)
	for _, p := range f.s.Parts {
		w.seq++
		f.ids[p] = []byte("w" + strconv.Itoa(w.seq))
		w.send(f, p, false)
	}
	w.flights = append(w.flights, f)
	return f
}

// send puts a part's command on its way.
func (w *world) send(f *flight, p *engine.Decision, correct bool) {
	k := &nodeCall{f: f, p: p, cmd: p.AppendCommand(nil, f.ids[p], w.now), correct: correct}
	for i := range p.Plan.Charges {
		k.keys = append(k.keys, string(p.Plan.Key(i)))
		if slot.Of(p.Plan.Key(i)) != slot.Of(p.Plan.Key(0)) {
			w.t.Fatalf("one call has keys of two slots: %q", k.keys)
		}
	}
	w.out = append(w.out, k)
}

// execute has Redis carry out a command, and notes what it charged.
func (w *world) execute(k *nodeCall) (redisproto.Value, map[string]int64) {
	// The command was made earlier and is carried out now: the clock in it moves.
	k.cmd = k.p.AppendCommand(nil, k.f.ids[k.p], w.now)
	v := w.redis.do(k.cmd)
	made := map[string]int64{}
	if v.Kind == redisproto.Array && !k.correct && v.Elems[1].Int == 1 {
		for i := range k.p.Plan.Charges {
			if v.Elems[2+5*i].Int == 1 {
				made[k.keys[i]] += k.p.Plan.Charges[i].Cost
			}
		}
	}
	return v, made
}

// move lets something happen to one of the commands on their way.
func (w *world) move() {
	i := rapid.IntRange(0, len(w.out)-1).Draw(w.t, "which")
	k := w.out[i]
	w.out = slices.Delete(w.out, i, i+1)
	if k.waits {
		if k.correct {
			w.send(k.f, k.p, true)
		} else {
			w.follow(k.f, k.p, engine.Send)
		}
		return
	}
	what := rapid.SampledFrom([]string{"reply", "reply", "reply", "reply", "reply", "reply", "lost before", "lost after", "timeout before", "timeout after", "TRYAGAIN", "upstream failure", "NOSCRIPT"}).Draw(w.t, "what")
	add := func(to map[*engine.Decision]map[string]int64, made map[string]int64) {
		if to[k.p] == nil {
			to[k.p] = map[string]int64{}
		}
		for key, n := range made {
			to[k.p][key] += n
		}
	}
	switch what {
	case "reply":
		v, made := w.execute(k)
		if k.correct {
			if step := k.p.Reply(v); step == engine.Send {
				w.send(k.f, k.p, true)
			} else if k.p.Failure != engine.NoFailure {
				w.t.Fatalf("a correction failed: %v %s", k.p.Failure, k.p.FailureText)
			} else {
				k.f.corrected(k)
			}
			return
		}
		add(k.f.known, made)
		w.follow(k.f, k.p, k.p.Reply(v))
	case "lost after", "timeout after":
		if _, made := w.execute(k); k.correct {
			k.f.corrected(k)
		} else {
			add(k.f.unknown, made)
		}
		fallthrough
	case "lost before", "timeout before":
		if k.correct {
			return // nobody tries again
		}
		f := engine.Lost
		if what[0] == 't' {
			f = engine.TimedOut
		}
		w.follow(k.f, k.p, k.p.Fail(f, ""))
	default: // an error reply, and nothing was carried out
		step := k.p.Reply(redisproto.Value{Kind: redisproto.Error, Str: []byte(what + " from the adversary")})
		if k.correct {
			again := step == engine.Send
			if !again && k.p.CorrectAgain(true) {
				again = true
			}
			if again {
				w.out = append(w.out, &nodeCall{f: k.f, p: k.p, correct: true, waits: true})
			}
			return
		}
		w.follow(k.f, k.p, step)
	}
}

// corrected notes that what a part charged is returned.
func (f *flight) corrected(k *nodeCall) {
	delete(f.known, k.p)
}

func (w *world) follow(f *flight, p *engine.Decision, step engine.Step) {
	switch {
	case step == engine.Send:
		w.send(f, p, false)
		return
	case step == engine.Wait && !f.s.Refused():
		w.out = append(w.out, &nodeCall{f: f, p: p, waits: true})
		return
	case step == engine.Wait:
		p.GiveUp()
	}
	if f.left--; f.left == 0 {
		w.conclude(f)
	}
}

func (w *world) conclude(f *flight) {
	if f.s.NeedsFallback() {
		for k := range f.s.Fallback.Plan.Charges {
			f.s.Fallback.Plan.Charges[k].Result = limit.Decision{Admitted: true, Remaining: 1}
		}
		yes := rapid.Bool().Draw(w.t, "the fallback has room")
		if !yes {
			f.s.Fallback.Plan.Charges[0].Result = limit.Decision{RetryAfterMS: 1000}
		}
		f.s.Fallback.DecidedLocally(yes, w.now)
	}
	f.s.Conclude()
	w.check(f)
	if f.d.Verdict.Outcome == engine.Admitted || f.d.Verdict.Outcome == engine.FailedOpen {
		for _, p := range f.s.Parts {
			for i := range p.Plan.Charges {
				if key := string(p.Plan.Key(i)); f.known[p][key] > 0 && p.Verdict.Mode == engine.ModeRedis {
					w.hits[key] = append(w.hits[key], hit{p.Verdict.AtUS, f.known[p][key]})
				}
			}
		}
		return
	}
	for _, p := range f.s.Parts {
		if f.ids[p] != nil && p.Undo() == engine.Send {
			w.send(f, p, true)
		}
	}
	if len(f.s.Gateway.Plan.Charges) > 0 && f.s.Gateway.Undo() == engine.Send {
		w.gateway -= f.cost
	}
}

// check holds the verdict against what the parts said.
func (w *world) check(f *flight) {
	v := f.d.Verdict
	rejected := f.s.Gateway.Verdict.Outcome == engine.Rejected || f.s.Fallback.Verdict.Outcome == engine.Rejected
	denied := false
	for _, p := range f.s.Parts {
		rejected = rejected || p.Verdict.Outcome == engine.Rejected
		denied = denied || p.Verdict.Outcome == engine.FailedClosed
	}
	want := engine.Admitted
	switch {
	case rejected:
		want = engine.Rejected
	case denied:
		want = engine.FailedClosed
	}
	if v.Outcome != want {
		w.t.Fatalf("the verdict is %v, the parts say %v", v.Outcome, want)
	}
	if v.Outcome == engine.FailedClosed && f.d.Plan.Charges[v.Closest].Limit.OnError != config.OnErrorDeny {
		w.t.Fatal("a limit is to blame that doesn't deny")
	}
	if v.Outcome == engine.Rejected {
		c := &f.d.Plan.Charges[v.Closest]
		if c.Result.Admitted || c.Undecided {
			w.t.Fatalf("the limit to blame has room: %+v", c)
		}
		for i := range f.d.Plan.Charges {
			if o := &f.d.Plan.Charges[i]; o.Op.Votes() && !o.Result.Admitted && o.Result.RetryAfterMS > v.RetryAfterMS && v.RetryAfterMS != limit.Never {
				w.t.Fatalf("retry after %d ms, and another limit asks for %d", v.RetryAfterMS, o.Result.RetryAfterMS)
			}
		}
	}
}

// counted is what each counter must hold when nothing is on its way.
func (w *world) counted() map[string]int64 {
	sum := map[string]int64{}
	for _, f := range w.flights {
		for _, m := range []map[*engine.Decision]map[string]int64{f.known, f.unknown} {
			for _, made := range m {
				for key, n := range made {
					sum[key] += n
				}
			}
		}
	}
	return sum
}

// dividedLimits are the numbers of the limits of divided.
var dividedLimits = map[string]int64{"a": 5, "b": 7, "c": 9, "d": 12}

// divided is four limits over up to four slots and one of the gateway's own.
func divided(t *rapid.T, tag, window string) string {
	on := func() string { return rapid.SampledFrom([]string{"allow", "deny", "local"}).Draw(t, "on_error") }
	return fmt.Sprintf(`{"clock":"gateway","redis":{"topology":"cluster","prefix":"%s"},"limits":[
		{"name":"a","key":"header:x-u","cost":"header:x-cost","rate":"5/%[2]s","on_error":"%s"},
		{"name":"b","key":"header:x-t","cost":"header:x-cost","rate":"7/%[2]s","storage":"zset","on_error":"%s"},
		{"name":"c","key":"header:x-u","cost":"header:x-cost","rate":"9/%[2]s","hash_tag":"header:x-t","on_error":"%s"},
		{"name":"d","cost":"header:x-cost","rate":"12/%[2]s","hash_tag":"header:x-t","on_error":"%s"},
		{"name":"own","cost":"header:x-cost","rate":"1000/hour","scope":"gateway"}]}`, tag, window, on(), on(), on(), on())
}

var worlds int

// Whatever is lost, late or refused: no limit admits more than it says, a request
// that isn't admitted leaves nothing behind but what an unanswered call may have
// charged, and what is admitted is charged everywhere.
func TestDividedRequestsAreExact(t *testing.T) {
	c := dial(t, stacktest.Redis(t, stack.RedisOptions{}))
	rapid.Check(t, func(t *rapid.T) {
		worlds++
		e := build(c.t, divided(t, "w"+strconv.Itoa(worlds), "hour"))
		w := newWorld(t, c, e, 1000)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			w.now += rapid.Int64Range(0, 3_000).Draw(t, "time")
			if len(w.out) == 0 || rapid.IntRange(0, 2).Draw(t, "start") == 0 {
				w.start(rapid.SampledFrom([]int64{1, 1, 1, 2, 0}).Draw(t, "cost"),
					"x-u", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "user"), "x-t", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "tenant"))
			} else {
				w.move()
			}
		}
		for len(w.out) > 0 {
			w.move()
		}
		for key, hits := range w.hits {
			total := int64(0)
			for _, h := range hits {
				total += h.cost
			}
			if most := dividedLimits[limitOf(key)]; total > most {
				t.Fatalf("%s admitted %d of %d", key, total, most)
			}
		}
		want := w.counted()
		for _, u := range []string{"1", "2"} {
			for _, tenant := range []string{"1", "2"} {
				f := w.start(0, "x-u", u, "x-t", tenant)
				for len(w.out) > 0 {
					k := w.out[0]
					w.out = w.out[1:]
					v, _ := w.execute(k)
					w.follow(k.f, k.p, k.p.Reply(v))
				}
				room := true
				for i := range f.d.Plan.Charges {
					ch := &f.d.Plan.Charges[i]
					if ch.Limit.Scope == config.ScopeGateway {
						continue
					}
					if key := string(f.d.Plan.Key(i)); ch.Result.Current != want[key] {
						t.Fatalf("%s counts %d, and %d were charged", key, ch.Result.Current, want[key])
					} else {
						room = room && want[key] < dividedLimits[limitOf(key)]
					}
				}
				if admitted := f.d.Verdict.Outcome == engine.Admitted; admitted != room {
					t.Fatalf("alone it is %v, and there is room: %v", f.d.Verdict.Outcome, room)
				}
			}
		}
		admitted := int64(0)
		for _, f := range w.flights {
			if o := f.d.Verdict.Outcome; f.cost > 0 && o == engine.Admitted {
				admitted += f.cost
			}
		}
		if w.gateway != admitted {
			t.Fatalf("the gateway's own counter holds %d, and %d were admitted", w.gateway, admitted)
		}
	})
}

// In windows that move on, what is returned is one's own: what others were
// charged meanwhile stays as long as it has to.
func TestDividedRequestsKeepEveryWindow(t *testing.T) {
	c := dial(t, stacktest.Redis(t, stack.RedisOptions{}))
	rapid.Check(t, func(t *rapid.T) {
		worlds++
		e := build(c.t, divided(t, "w"+strconv.Itoa(worlds), "40ms"))
		w := newWorld(t, c, e, 1<<40)
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			w.now += rapid.SampledFrom([]int64{0, 10, 900, 6_000, 17_000}).Draw(t, "time")
			if len(w.out) == 0 || rapid.IntRange(0, 2).Draw(t, "start") == 0 {
				w.start(rapid.SampledFrom([]int64{1, 1, 2}).Draw(t, "cost"),
					"x-u", rapid.SampledFrom([]string{"1", "2"}).Draw(t, "user"), "x-t", "1")
			} else {
				w.move()
			}
		}
		for len(w.out) > 0 {
			w.move()
		}
		for key, hits := range w.hits {
			slices.SortFunc(hits, func(x, y hit) int { return int(x.at - y.at) })
			for i := range hits {
				sum := int64(0)
				for j := i; j >= 0 && hits[j].at > hits[i].at-40_000; j-- {
					sum += hits[j].cost
				}
				if sum > dividedLimits[limitOf(key)] {
					t.Fatalf("a window of %s holds %d: %v", key, sum, hits)
				}
			}
		}
	})
}

// limitOf is the name of a counter's limit: what is before the bar.
func limitOf(key string) string {
	before, _, _ := strings.Cut(key, "|")
	return before[strings.LastIndexAny(before, "{:")+1:]
}
