package chaos

import (
	"fmt"
	"strings"
	"time"

	"sluice/chaos/load"
	"sluice/internal/history"
)

// bounded is what was measured beside the bound that it must keep.
type bounded[T int64 | time.Duration] struct {
	got, bound T
	set        bool
}

// worst keeps the one of two rounds that came closer to its bound.
func (b bounded[T]) worst(o bounded[T]) bounded[T] {
	if !b.set || o.set && o.bound-o.got < b.bound-b.got {
		return o
	}
	return b
}

// measured is one round of a fault.
type measured struct {
	requests, left int
	resent         int // to another gateway, since theirs was killed
	byEnvoy        int // answered by Envoy itself, since the plugin had died
	open, closed   int // failed
	lost           bounded[int64]
	byServer       bounded[int64]
	byWall         bounded[int64]
	recovered      bounded[time.Duration]
	admits         time.Duration // until a full key admitted again
	latest         bounded[time.Duration]
	late           int
}

// admission is a request that Redis admitted.
type admission struct {
	*load.Answer
	at   int64 // us of Redis's clock
	wall int64 // us of the machine's
}

func (a admission) key() string { return a.Stream.Name }

// byRedis reports whether Redis decided.
func byRedis(a *load.Answer) bool { return mode(a) == "redis" }

func mode(a *load.Answer) string { return a.Header.Get("X-Sluice-Mode") }

// known reports whether the answer is Redis's: of now, or a rejection that the
// gateway remembered for as long as Redis had said.
func known(a *load.Answer) bool { return byRedis(a) || mode(a) == "memory" && a.Status == 429 }

// usual reports whether a stream is one that every fault has.
func usual(s *load.Stream) bool { return s.Name == open || s.Name == shut || s.Name == probe }

// judge compares what callers got with what must hold.
func (r *run) judge(answers []load.Answer) measured {
	got := measured{lost: bounded[int64]{set: true}}
	var admitted []admission
	for i := range answers {
		a := &answers[i]
		got.requests++
		for _, f := range a.Failed {
			if !r.killed[f.Gateway] {
				r.wrong("broken", "gateway %d broke a connection: %v", f.Gateway, f.Err)
			}
			got.resent++
		}
		switch {
		case a.Left && a.Stream.Patience > 0:
			got.left++
		case a.Err != nil:
			got.lost.got++
			r.wrong("lost", "a request for %s got no answer after %v: %v", a.Stream.Path, a.Received.Sub(a.Sent), a.Err)
		case r.died != nil && r.died(r, a):
			got.byEnvoy++
		case byRedis(a):
			if x, ok := r.decidedByRedis(a); ok && a.Status == 200 && (a.Stream.Name == open || a.Stream.Name == shut) {
				admitted = append(admitted, x)
			}
		case usual(a.Stream) && !known(a):
			r.failed(a, &got)
		}
	}
	r.checkWindows(admitted, &got)
	r.checkRecovery(answers, &got)
	r.checkLateness(answers, &got)
	r.checkMetrics(&got)
	for i, g := range r.bed.gateways {
		if g.envoy != nil && g.envoy.Process().Ended() {
			r.Errorf("gateway %d ended", i)
		}
	}
	if r.check != nil {
		r.check(answers, admitted)
	}
	return got
}

// decidedByRedis checks an answer that Redis decided: the time of the decision lies
// between question and answer, by one of the clocks there were. A reply that
// was taken for another request's would show here.
func (r *run) decidedByRedis(a *load.Answer) (admission, bool) {
	if a.Status != 200 && a.Status != 429 {
		r.wrong("status", "%s answered %d in mode redis", a.Stream.Path, a.Status)
		return admission{}, false
	}
	at := a.Int("X-Sluice-At")
	const reading = 2000 // us: the clocks are read one after the other
	for _, ahead := range r.clocks {
		wall := at - ahead.Microseconds()
		if wall >= us(a.Sent)-reading && wall <= us(a.Received)+reading {
			return admission{a, at, wall}, true
		}
	}
	r.wrong("at", "%s was sent at %d and answered at %d us, and decided at %d", a.Stream.Path, us(a.Sent), us(a.Received), at)
	return admission{}, false
}

// failed checks an answer that Redis didn't decide: by on_error, and only while
// there was a reason.
func (r *run) failed(a *load.Answer, got *measured) {
	want := 503
	if a.Stream.Name == open {
		want = 200
		got.open++
	} else {
		got.closed++
	}
	if a.Status != want || mode(a) != "none" {
		r.wrong("on_error", "%s answered %d in mode %q without Redis, expected %d", a.Stream.Path, a.Status, mode(a), want)
	}
	switch {
	case r.decided:
		r.slow("undecided", "%s wasn't decided by Redis, %v after the fault began (%s)", a.Stream.Path, a.Sent.Sub(r.begun), r.circumstances(a))
	case a.Received.Before(r.begun):
		r.slow("undecided", "%s wasn't decided by Redis %v before the fault (%s)", a.Stream.Path, r.begun.Sub(a.Received), r.circumstances(a))
	case a.Sent.After(r.ended.Add(r.recovers)):
		r.slow("undecided", "%s wasn't decided by Redis %v after the fault (%s)", a.Stream.Path, a.Sent.Sub(r.ended), r.circumstances(a))
	}
}

// wrong fails the test; of each kind only the first few are told.
func (r *run) wrong(kind, format string, args ...any) {
	r.Helper()
	if r.said[kind]++; r.said[kind] <= 3 {
		r.Errorf(format, args...)
	}
}

// slow is wrong, unless the machine starved the gateways meanwhile, or it is the
// only such thing and the first: then the round is made again.
func (r *run) slow(kind, format string, args ...any) {
	if r.said[kind]++; r.said[kind] <= 3 {
		r.tardy = append(r.tardy, fmt.Sprintf(format, args...))
	}
}

// excused tells what was slow. It returns true when that was the machine's
// doing.
func (r *run) excused() bool {
	if len(r.tardy) == 0 {
		return false
	}
	if who, is := r.bed.waits.starved(r.began, time.Now()); is {
		r.Logf("the machine is too busy (%s), so this doesn't count:\n%s", who, strings.Join(r.tardy, "\n"))
		return true
	}
	// Of hundreds of answers one alone may be late for a reason that no clock of
	// ours sees. What the gateway does wrong comes again.
	if len(r.tardy) == 1 && *r.chances > 0 {
		*r.chances--
		r.Logf("made again, since a single thing came late:\n%s", r.tardy[0])
		return true
	}
	for _, text := range r.tardy {
		r.Error(text)
	}
	for kind, n := range r.said {
		if n > 3 {
			r.Errorf("%q went wrong %d times in all", kind, n)
		}
	}
	return false
}

// circumstances help to see why an answer is wrong.
func (r *run) circumstances(a *load.Answer) string {
	return fmt.Sprintf("gateway %d, held for %d us, workers waited %v for a core, the machine paused for %v", a.Gateway, a.Int("X-Sluice-Redis-Us"),
		r.bed.waits.between(a.Gateway, a.Sent, a.Received), r.bed.pauses.Between(a.Sent, a.Received))
}

// axis is a list of admissions on one clock.
func axis(list []admission, clock func(admission) int64) []history.Admission {
	var out []history.Admission
	for _, a := range list {
		out = append(out, history.Admission{At: clock(a), Cost: 1, Key: a.key()})
	}
	return out
}

func byServer(a admission) int64 { return a.at }
func byWall(a admission) int64   { return a.wall }

// most is the most that any window of a length holds, of any key.
func most(list []history.Admission, length time.Duration) int64 {
	var n int64
	if length <= 0 {
		return 0
	}
	for _, w := range history.Worst(list, length.Microseconds()) {
		n = max(n, w.Units)
	}
	return n
}

// some are the admissions that ok picks.
func some(list []admission, ok func(admission) bool) []admission {
	var out []admission
	for _, a := range list {
		if ok(a) {
			out = append(out, a)
		}
	}
	return out
}

// checkWindows checks the history: what Redis didn't forget keeps the limit in
// every window, and so does what it admitted between two losses. What comes on
// top is at most what was forgotten.
func (r *run) checkWindows(admitted []admission, got *measured) {
	wall := axis(admitted, byWall)
	forgotten := func(a admission) bool {
		for _, w := range r.wipes {
			if a.wall > w.from && a.wall <= w.to {
				return true
			}
		}
		return false
	}
	lost := most(axis(some(admitted, forgotten), byWall), window)
	early := int64(0)
	for _, d := range r.jumps {
		// Hits as old as the jump is long leave that much too early.
		early += most(wall, min(d, window))
	}
	got.byWall = bounded[int64]{most(wall, window), limit + lost + early, true}
	got.byServer = bounded[int64]{most(axis(admitted, byServer), window), limit + lost, true}
	serverBound := int64(limit)
	if r.stepsBack {
		// Its clock passes the same time twice.
		serverBound = 2 * limit
		got.byServer.bound = 2*limit + lost
	}
	from := int64(longAgo)
	for i, w := range r.wipes {
		life := some(admitted, func(a admission) bool { return a.wall > from && a.wall <= w.to })
		if n := most(axis(life, byWall), window); n > limit {
			r.Errorf("before loss %d a window holds %d, and the limit is %d", i+1, n, limit)
		}
		from = w.to
	}
	if len(r.wipes) > 0 {
		kept := some(admitted, func(a admission) bool { return !forgotten(a) })
		if n := most(axis(kept, byWall), window); n > limit+early {
			r.Errorf("of what Redis didn't forget a window of a wall clock holds %d, more than %d", n, limit+early)
		}
		if n := most(axis(kept, byServer), window); n > serverBound {
			r.Errorf("of what Redis didn't forget a window of its clock holds %d, more than %d", n, serverBound)
		}
	}
	for name, w := range map[string]bounded[int64]{"Redis's clock": got.byServer, "a wall clock": got.byWall} {
		if w.got > w.bound {
			r.Errorf("by %s a window holds %d, more than %d", name, w.got, w.bound)
		}
	}
	if got.byWall.got < limit {
		r.slow("load", "the fullest window holds %d of %d: the load was too low to show anything", got.byWall.got, limit)
	}
}

// checkRecovery measures how long after the fault's end the last gateway decided
// by Redis again, and how long until a full key admitted.
func (r *run) checkRecovery(answers []load.Answer, got *measured) {
	first := map[int]time.Duration{}
	got.admits = -1
	for i := range answers {
		a := &answers[i]
		if !byRedis(a) || !a.Sent.After(r.ended) {
			continue
		}
		after := a.Received.Sub(r.ended)
		if d, seen := first[a.Gateway]; !seen || after < d {
			first[a.Gateway] = after
		}
		if a.Status == 200 && a.Stream.Name != probe && (got.admits < 0 || after < got.admits) {
			got.admits = after
		}
	}
	got.recovered = bounded[time.Duration]{0, r.recovers, true}
	for i, g := range r.bed.gateways {
		if g.envoy == nil {
			continue
		}
		d, seen := first[i]
		if !seen {
			r.slow("recovery", "gateway %d never decided by Redis again", i)
			continue
		}
		got.recovered.got = max(got.recovered.got, d)
	}
	if got.recovered.got > r.recovers {
		r.slow("recovery", "it took %v until every gateway decided by Redis again, more than %v", got.recovered.got, r.recovers)
	}
	if longest := r.admitsWithin(); got.admits < 0 || got.admits > longest {
		r.slow("recovery", "a full key admitted again after %v (-1ns: never), expected within %v", got.admits, longest)
	}
}

// checkLateness checks how long the plugin held requests, by its own clock. How
// long a worker stood in the kernel's queue for a core meanwhile is taken off, and
// how long the machine had stopped a core when the deadline came.
func (r *run) checkLateness(answers []load.Answer, got *measured) {
	got.latest = bounded[time.Duration]{0, r.heldWithin(), true}
	for i := range answers {
		a := &answers[i]
		held := time.Duration(a.Int("X-Sluice-Redis-Us")) * time.Microsecond
		if a.Err != nil || held <= 0 {
			continue
		}
		if held > r.heldWithin() {
			due := a.Received.Add(r.heldWithin() - slack - held)
			held -= r.bed.waits.between(a.Gateway, a.Sent, a.Received) + r.bed.pauses.Between(due, a.Received)
		}
		got.latest.got = max(got.latest.got, held)
		if held > r.heldWithin() {
			got.late++
			r.slow("late", "%s was held for %v on gateway %d, more than %v (status %d, mode %s, %v after the fault began; %s)",
				a.Stream.Path, held, a.Gateway, r.heldWithin(), a.Status, mode(a), a.Sent.Sub(r.begun), r.circumstances(a))
		}
	}
}

// checkMetrics compares the gateways' metrics with what callers saw, and wants
// no panic that wasn't asked for.
func (r *run) checkMetrics(got *measured) {
	after := r.bed.stats(r.T)
	grown := func(name string, l labels) (sum float64) {
		for i := range after {
			sum += after[i].Sum(name, l)
			if !r.killed[i] {
				sum -= r.before[i].Sum(name, l)
			}
		}
		return sum
	}
	if n := grown("sluice_panics_total", nil); n != 0 && !r.ownPanics {
		r.Errorf("%v panics", n)
	}
	if r.uncounted {
		return
	}
	for outcome, seen := range map[string]int{"failed_open": got.open, "failed_closed": got.closed} {
		if n := int(grown("sluice_decisions_total", labels{"outcome": outcome})); n != seen {
			r.Errorf("the gateways counted %d as %s, callers saw %d", n, outcome, seen)
		}
	}
}

func (m measured) String() string {
	return fmt.Sprintf("%d requests, %d lost, %d left, %d resent, failed %d open and %d closed; worst window %d ≤ %d by Redis's clock, %d ≤ %d by a wall clock; by Redis again after %v ≤ %v, admitting after %v; held at most %v ≤ %v",
		m.requests, m.lost.got, m.left, m.resent, m.open, m.closed, m.byServer.got, m.byServer.bound, m.byWall.got, m.byWall.bound,
		m.recovered.got.Round(time.Millisecond), m.recovered.bound, m.admits.Round(time.Millisecond), m.latest.got.Round(time.Millisecond), m.latest.bound)
}
