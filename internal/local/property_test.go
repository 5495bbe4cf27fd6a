package local

import (
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
)

type hit struct {
	at, n int64
}

func within(log []hit, now, spanMS int64) (n int64) {
	for _, h := range log {
		if h.at > now-spanMS*1000 {
			n += h.n
		}
	}
	return n
}

// Workers in any order, meeting at any put, over keys, limits and full pages: no
// key is admitted more than its share in any window, a request is charged on all
// its counters or none, and what is to be charged in Redis is at least what
// still counts of it, and never more than was admitted.
func TestWindowsHoldOverWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, _, stores := gateway(3, Options{Bytes: 1})
		tiny := rapid.Bool().Draw(t, "one page")
		if tiny {
			for _, s := range stores {
				s.pages = 1 // everything meets
			}
		}
		g := rapid.Int64Range(1, 3).Draw(t, "gateways")
		params := []*limit.Params{
			{Limit: rapid.Int64Range(g, 30).Draw(t, "limit"), WindowMS: 1000},
			{Limit: rapid.Int64Range(g, 12).Draw(t, "longer limit"), WindowMS: 7000},
		}
		algs := []*limit.Algorithm{
			rapid.SampledFrom([]*limit.Algorithm{limit.SlidingLog, limit.SlidingCounter, limit.SlidingLogZset}).Draw(t, "first"), limit.SlidingLog,
		}
		keys := rapid.SampledFrom([]int{1, 4, 60}).Draw(t, "keys")
		logs := map[string][]hit{}
		taken := map[string]int64{}
		admitted := map[string]int64{}
		now := epoch
		decide := func(t *rapid.T, s *Store) {
			k := rapid.IntRange(0, keys-1).Draw(t, "key")
			var cs []Counter
			for i := range algs {
				if rapid.IntRange(0, 2).Draw(t, "has") > 0 {
					cost := rapid.Int64Range(1, params[i].Limit/g).Draw(t, "cost")
					cs = append(cs, counter(strconv.Itoa(i)+"-"+strconv.Itoa(k), algs[i], params[i], g, cost))
				}
			}
			if !s.Decide(now, cs) {
				return
			}
			for _, c := range cs {
				key := string(c.Key)
				logs[key] = append(logs[key], hit{now, c.Cost})
				admitted[key] += c.Cost
				if n := within(logs[key], now, c.Params.WindowMS); n > c.Params.Limit/g {
					t.Fatalf("%s: %d admitted in a window of %d ms, the share is %d/%d", key, n, c.Params.WindowMS, c.Params.Limit, g)
				}
			}
		}
		take := func(t *rapid.T, s *Store) {
			s.TakePending(now, 64, func(p *Pending) bool {
				if len(p.Args) < 2 || p.Algorithm != limit.SlidingLog && p.Algorithm != algs[0] {
					t.Fatalf("an account of %+v", p)
				}
				taken[string(p.Key)] += p.Units
				return true
			})
		}
		for range rapid.IntRange(1, 150).Draw(t, "requests") {
			now += rapid.SampledFrom([]int64{0, 1, 900, 40_000, 500_000, 3_000_000}).Draw(t, "step")
			s := stores[rapid.IntRange(0, 2).Draw(t, "worker")]
			if rapid.IntRange(0, 3).Draw(t, "meet") == 0 {
				other := stores[rapid.IntRange(0, 2).Draw(t, "other")]
				if other != s {
					shared.Interfere = func() { decide(t, other) }
				}
			}
			if rapid.IntRange(0, 9).Draw(t, "take") == 0 {
				take(t, s)
			} else {
				decide(t, s)
			}
			shared.Interfere = nil
		}
		lost := uint64(0)
		for _, s := range stores {
			take(t, s)
			lost += s.Stats.Unaccounted
		}
		short := int64(0)
		for key, log := range logs {
			i, _ := strconv.Atoi(key[:1])
			if taken[key] > admitted[key] {
				t.Fatalf("%s: %d to be charged, %d admitted", key, taken[key], admitted[key])
			}
			short += max(within(log, now, params[i].WindowMS)-taken[key], 0)
		}
		if short > int64(lost) {
			t.Fatalf("%d units that count are nowhere, %d are said to be", short, lost)
		}
	})
}

// Within one window, what is to be charged is what was admitted, each unit once,
// whoever takes it and whatever is put back.
func TestEachUnitIsChargedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shared, _, stores := gateway(3, Options{})
		p := &limit.Params{Limit: 500, WindowMS: 3_600_000, Calendar: &limit.Calendar{Unit: limit.Year}}
		admitted, taken := map[string]int64{}, map[string]int64{}
		var vain []Pending
		now := epoch
		decide := func(t *rapid.T, s *Store) {
			k := rapid.IntRange(0, 7).Draw(t, "key")
			algs := []*limit.Algorithm{limit.SlidingLog, limit.SlidingCounter, limit.CalendarQuota}
			c := counter("rl:{x|"+strconv.Itoa(k)+"}:log1", algs[k%len(algs)], p, 2, rapid.Int64Range(1, 5).Draw(t, "cost"))
			if s.Decide(now, []Counter{c}) {
				admitted[string(c.Key)] += c.Cost
			}
		}
		take := func(t *rapid.T, s *Store) {
			s.TakePending(now, rapid.IntRange(0, 300).Draw(t, "pages"), func(p *Pending) bool {
				switch rapid.IntRange(0, 5).Draw(t, "fate") {
				case 0:
					return false
				case 1: // charged in vain
					q := *p
					q.Key, q.Args = slices.Clone(p.Key), slices.Clone(p.Args)
					vain = append(vain, q)
					return true
				}
				taken[string(p.Key)] += p.Units
				return true
			})
		}
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			now += rapid.Int64Range(0, 2_000_000).Draw(t, "step")
			s := stores[rapid.IntRange(0, 2).Draw(t, "worker")]
			if rapid.Bool().Draw(t, "meet") {
				other := stores[rapid.IntRange(0, 2).Draw(t, "other")]
				if other != s {
					shared.Interfere = func() {
						if rapid.Bool().Draw(t, "take there") {
							take(t, other)
						} else {
							decide(t, other)
						}
					}
				}
			}
			if rapid.IntRange(0, 4).Draw(t, "take") == 0 {
				take(t, s)
			} else {
				decide(t, s)
			}
			shared.Interfere = nil
			for i := range vain {
				s.PutBack(now, &vain[i])
			}
			vain = vain[:0]
		}
		for k, n := range pending(now, stores...) {
			taken[k] += n
		}
		for k, n := range admitted {
			if taken[k] != n {
				t.Fatalf("%s: %d to be charged, %d admitted", k, taken[k], n)
			}
		}
		if more := pending(now, stores...); len(more) > 0 {
			t.Fatalf("again: %v", more)
		}
	})
}

// A share below one: each key one unit in window × gateways/limit, over workers.
func TestShareBelowOneOverWorkers(t *testing.T) {
	for _, a := range []*limit.Algorithm{limit.SlidingLog, limit.FixedWindow, limit.TokenBucket} {
		_, _, stores := gateway(3, Options{})
		p := &limit.Params{Limit: 2, WindowMS: 1000}
		last, n := int64(0), 0
		for i := range int64(20_000) {
			now := epoch + i*1000
			if stores[i%3].Decide(now, []Counter{counter("k", a, p, 5, 1)}) {
				if n > 0 && now-last < 2_500_000 {
					t.Fatalf("%s: again after %d us", a.Name, now-last)
				}
				last, n = now, n+1
			}
		}
		if n < 7 || n > 8 {
			t.Errorf("%s: %d in 20 s at 1 per 2.5 s", a.Name, n)
		}
	}
}

// What was left by a worker that is gone, another takes.
func TestNewWorkerTakesWhatIsLeft(t *testing.T) {
	shared, _, stores := gateway(1, Options{})
	p := &limit.Params{Limit: 9, WindowMS: 60_000}
	long := make([]byte, maxKey+1)
	for _, k := range []string{"a", "b", string(long)} {
		stores[0].Decide(epoch, []Counter{counter(k, limit.TokenBucket, p, 2, 3)})
	}
	if n := stores[0].Stats.Unaccounted; n != 3 {
		t.Errorf("%d units unaccounted", n)
	}
	own := counter("own", limit.SlidingLog, p, 1, 3)
	own.Account = false
	stores[0].Decide(epoch, []Counter{own})
	h := hosttest.New()
	h.Shared = shared
	late := New(h, Options{})
	calls := h.CallsSince(func() {
		for late.TakePending(epoch, 100, func(p *Pending) bool { return true }) {
		}
	})
	if n := int(late.pages); calls["SharedData"] != n || calls["SetSharedData"] != 2 {
		t.Errorf("calls %v for %d pages", calls, n)
	}
	if got := pending(epoch, stores...); len(got) != 0 {
		t.Errorf("taken twice: %v", got)
	}
	stores[0].Decide(epoch, []Counter{counter("a", limit.TokenBucket, p, 2, 1)})
	calls = h.CallsSince(func() { late.TakePending(epoch, 100, nil) })
	if len(calls) != 0 {
		t.Errorf("looks again: %v", calls)
	}
	if got := pending(epoch+59_000_000, stores...); len(got) != 0 {
		t.Errorf("what has leaked away: %v", got)
	}
}
