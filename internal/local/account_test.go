package local

import (
	"strconv"
	"testing"

	"sluice/internal/limit"
)

// After a long time without Redis, only what still counts is to be charged.
func TestOnlyWhatCountsIsCharged(t *testing.T) {
	for _, a := range limit.Algorithms() {
		_, _, stores := gateway(2, Options{})
		p := &limit.Params{Limit: 20, WindowMS: 1000, HoldMS: 1000, Calendar: &limit.Calendar{Unit: limit.Hour}}
		now := epoch
		for i := range 60_000 { // five minutes
			now += 5000
			stores[i%2].Decide(now, []Counter{counter("k", a, p, 2, 1)})
		}
		got := pending(now, stores...)["k"]
		if a.Holds && got != 0 || !a.Holds && (got < 1 || got > 10) {
			t.Errorf("%s %s: %d to be charged of a share of 10", a.Name, a.Storage, got)
		}
	}
}

// A charge that comes between the reading and the emptying of an account isn't
// lost.
func TestTakingMeetsCharging(t *testing.T) {
	shared, _, stores := gateway(2, Options{})
	p := &limit.Params{Limit: 20, WindowMS: 60_000}
	charge := func() {
		stores[1].Decide(epoch, []Counter{counter("k", limit.SlidingLog, p, 1, 2)})
	}
	stores[0].Decide(epoch, []Counter{counter("k", limit.SlidingLog, p, 1, 3)})
	shared.Interfere = charge
	var got []int64
	for stores[0].TakePending(epoch, 64, func(p *Pending) bool {
		got = append(got, p.Units)
		return true
	}) {
	}
	if shared.Interfere != nil {
		t.Fatal("accounts are emptied without comparing")
	}
	if len(got) != 1 || got[0] != 5 {
		t.Errorf("taken: %v", got)
	}
}

// What has left its window makes room for others.
func TestSeatsBecomeFree(t *testing.T) {
	shared, _, stores := gateway(1, Options{})
	s := stores[0]
	s.pages = 1
	p := &limit.Params{Limit: 10, WindowMS: 1000}
	fill := func(now int64) (seats int) {
		for i := range 100 {
			before := s.Stats.Shared
			key := strconv.FormatInt(now, 10) + "-" + strconv.Itoa(i)
			if s.Decide(now, []Counter{counter(key, limit.SlidingLog, p, 1, 1)}) && s.Stats.Shared == before {
				seats++
			}
		}
		return seats
	}
	first := fill(epoch)
	if again := fill(epoch + 2_000_000); first < 15 || first > 60 || again != first {
		t.Errorf("%d seats, later %d", first, again)
	}
	s.Decide(epoch+10_000_000, []Counter{counter("last", limit.SlidingLog, p, 1, 1)})
	for _, k := range shared.Keys() {
		if n := len(shared.Get(k)); n > 100 {
			t.Errorf("%s still has %d bytes", k, n)
		}
	}
}
