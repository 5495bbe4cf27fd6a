package chaos

import (
	"math"
	"sync"
	"testing"
	"time"

	"sluice/chaos/load"
	"sluice/internal/stack"
)

const (
	// warmUp fills the windows before the fault.
	warmUp = window + window/4
	// coolDown is watched after all is well again: whole windows, so that one
	// which spans the fault's end is among them.
	coolDown = window + window/4
	// hang is when a request counts as lost.
	hang = 20 * time.Second
)

// scenario is a fault, and what must hold meanwhile.
type scenario struct {
	name  string
	short bool   // in `go test ./chaos` too
	what  string // is done, for the report: sentences
	why   string // the bounds are these, for the report: sentences
	bound string // of a window, for the report: a formula; "" for N

	fault func(*run) // makes the fault and ends it; the load runs

	// recovers is the longest time from the fault's end until every gateway
	// decides by Redis again. A request that Redis didn't decide counts against
	// it unless it came during the fault.
	recovers time.Duration
	// decided means that not one request may go without Redis's decision.
	decided bool
	// lostConnections means that attempts may be repeated on a new connection.
	lostConnections bool
	// starves is how long a full key may stay without capacity after recovers.
	starves time.Duration
	// uncounted means that the gateways' metrics can't equal what callers saw:
	// a gateway ended, callers left, or some met several limits.
	uncounted bool

	// died are answers that no plugin gave, since its virtual machine had died.
	died func(*run, *load.Answer) bool

	streams []*load.Stream // besides the usual ones

	prepare func(*run) // before the load; may be nil
}

// heldWithin is the longest that the plugin may hold a request.
func (s *scenario) heldWithin() time.Duration {
	if s.lostConnections {
		return 2*timeout + retryAfter + slack
	}
	return timeout + slack
}

// admitsWithin is the longest until a full key admits again.
func (s *scenario) admitsWithin() time.Duration { return s.recovers + s.starves + window }

// run is one fault being made.
type run struct {
	*testing.T
	*scenario
	bed  *bed
	load *load.Load
	key  string // of the hot streams

	began  time.Time      // of the load
	before []stack.Stats  // of each gateway, then
	said   map[string]int // what went wrong, by kind
	tardy  []string       // what may be the machine's doing

	chances *int // how often a single such thing is let pass

	mu    sync.Mutex // guards wipes
	wipes []wipe

	begun, ended time.Time       // of the fault; ended is zero until it is over
	again        time.Time       // when the same fault was made once more; zero if it wasn't
	clocks       []time.Duration // by how much a Redis's clock was ahead
	jumps        []time.Duration // forward, of the clock that decides
	stepsBack    bool            // the clock that decides went back
	killed       map[int]bool    // gateways that were
	ownPanics    bool            // check counts them
	mend         []func()        // what to do after the round
	check        func(answers []load.Answer, admitted []admission)
}

// wipe is a loss of what Redis knew: admissions of (from, to], us of a wall
// clock, were forgotten.
type wipe struct{ from, to int64 }

// longAgo is before all admissions.
const longAgo = math.MinInt64

// forget notes that Redis forgot everything at a time, us.
func (r *run) forget(at int64) { r.wiped(longAgo, at) }

func (r *run) wiped(from, to int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wipes = append(r.wipes, wipe{from, to})
}

// end notes that the fault is over: recovery counts from here.
func (r *run) end() { r.ended = time.Now() }

// us is a time as Redis has it.
func us(t time.Time) int64 { return t.UnixMicro() }

// hot is a stream at a key that all of a run's requests share.
func hot(name, key string, rate float64) *load.Stream {
	return &load.Stream{Name: name, Path: "/" + name, Rate: rate, Header: func(_ int, set func(k, v string)) {
		set("X-Key", key)
		set("X-Debug", debugSecret)
	}}
}

// single is the stream of keys that are used once.
func single(rate float64) *load.Stream {
	return &load.Stream{Name: probe, Path: "/" + probe, Rate: rate, Header: func(i int, set func(k, v string)) {
		set("X-Key", time.Now().Format(time.StampNano)+string(rune('a'+i%26)))
		set("X-Debug", debugSecret)
	}}
}

// tries is how often a round is made that a busy machine spoils.
const tries = 4

// round makes the fault under load and judges what callers got.
func (s *scenario) round(t *testing.T, b *bed) measured {
	chances := 1
	for range tries {
		if m, counts := s.try(t, b, &chances); counts || t.Failed() {
			return m
		}
	}
	t.Fatalf("the machine was too busy %d times in a row", tries)
	return measured{}
}

// try makes the fault once. counts is false when a busy machine spoiled it; chances
// is how often a single late answer may be taken for that.
func (s *scenario) try(t *testing.T, b *bed, chances *int) (m measured, counts bool) {
	r := &run{T: t, chances: chances, scenario: s, bed: b, clocks: []time.Duration{0}, killed: map[int]bool{}, said: map[string]int{}}
	defer func() {
		for _, f := range r.mend {
			f()
		}
	}()
	if s.prepare != nil {
		s.prepare(r)
	}
	b.settle(t)
	r.before = b.stats(t)
	key := t.Name() + time.Now().Format(time.StampNano)
	r.key = key
	streams := append([]*load.Stream{hot(open, key, 130), hot(shut, key, 130), single(60)}, s.streams...)
	r.began = time.Now()
	r.load = load.Start(b.targets, hang, streams...)
	stopped := false
	defer func() {
		if !stopped {
			r.load.Stop()
		}
		if t.Failed() {
			b.renew() // the next fault begins in order
		}
	}()
	time.Sleep(warmUp)
	r.begun = time.Now()
	s.fault(r)
	if r.ended.IsZero() {
		r.end()
	}
	r.awaitRecovery()
	time.Sleep(coolDown)
	answers := r.load.Stop()
	stopped = true
	time.Sleep(30 * time.Millisecond) // for a last sample of the workers' waits
	m = r.judge(answers)
	return m, !r.excused()
}

// awaitRecovery waits until every gateway decides by Redis and a hot key admits
// again, or until that is too late.
func (r *run) awaitRecovery() {
	waiting := map[int]bool{}
	for i, g := range r.bed.gateways {
		if g.envoy != nil {
			waiting[i] = true
		}
	}
	admits := false
	r.load.Until(r.recovers+r.starves+time.Second, func(a *load.Answer) bool {
		if byRedis(a) && a.Sent.After(r.ended) {
			delete(waiting, a.Gateway)
			admits = admits || a.Stream.Name != probe && a.Status == 200
		}
		return len(waiting) == 0 && admits
	})
}
