package local

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/host"
	"sluice/internal/host/hosttest"
	"sluice/internal/limit"
)

const epoch = int64(1_780_000_000_123_456)

// gateway makes the stores of so many workers of one proxy.
func gateway(workers int, o Options) (*hosttest.Shared, []*hosttest.Host, []*Store) {
	shared := &hosttest.Shared{}
	hosts := make([]*hosttest.Host, workers)
	stores := make([]*Store, workers)
	for i := range workers {
		hosts[i] = hosttest.New()
		hosts[i].Shared = shared
		stores[i] = New(hosts[i], o)
	}
	return shared, hosts, stores
}

func counter(key string, a *limit.Algorithm, p *limit.Params, gateways, cost int64) Counter {
	return Counter{Key: []byte(key), Algorithm: a, Params: p, Gateways: gateways, Cost: cost, Votes: true, Account: true}
}

// pending takes everything from every worker, and adds up by key.
func pending(now int64, stores ...*Store) map[string]int64 {
	sum := map[string]int64{}
	for _, s := range stores {
		for s.TakePending(now, 64, func(p *Pending) bool {
			sum[string(p.Key)] += p.Units
			return true
		}) {
		}
	}
	return sum
}

func TestOneGetAndOneSetACounter(t *testing.T) {
	_, hosts, stores := gateway(1, Options{})
	p := &limit.Params{Limit: 10, WindowMS: 1000}
	cs := []Counter{counter("a", limit.SlidingLog, p, 2, 1), counter("b", limit.TokenBucket, p, 2, 1), counter("c", limit.FixedWindow, p, 2, 0)}
	stores[0].Decide(epoch, cs)
	made := hosts[0].CallsSince(func() {
		if !stores[0].Decide(epoch, cs) {
			t.Error("refused")
		}
	})
	if made["SharedData"] != 3 || made["SetSharedData"] != 2 || len(made) != 2 {
		t.Errorf("calls: %v", made)
	}
	for i, want := range []int64{3, 3, 5} {
		if d := cs[i].Decision; !d.Admitted || d.Remaining != want {
			t.Errorf("counter %d: %+v", i, d)
		}
	}
	cs[0].Cost = 6
	made = hosts[0].CallsSince(func() {
		if stores[0].Decide(epoch, cs) {
			t.Error("admitted")
		}
	})
	if made["SharedData"] != 3 || len(made) != 1 {
		t.Errorf("calls of a refused request: %v", made)
	}
	if d := cs[1].Decision; !d.Admitted || d.Remaining != 3 {
		t.Errorf("a refused request was charged: %+v", d)
	}
}

// The share is the gateway's, not the worker's.
func TestWorkersShareTheShare(t *testing.T) {
	for _, a := range limit.Algorithms() {
		p := &limit.Params{Limit: 40, WindowMS: 3_600_000, HoldMS: 3_600_000, Calendar: &limit.Calendar{Unit: limit.Day}}
		_, _, stores := gateway(4, Options{})
		n := 0
		for i := range 100 {
			if stores[i%4].Decide(epoch+int64(i), []Counter{counter("k", a, p, 4, 1)}) {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%s %s: %d of 40/4 admitted", a.Name, a.Storage, n)
		}
	}
}

// When another worker takes the last unit of the second counter in between, the
// first one's is given back.
func TestAllOrNothingWhenWorkersMeet(t *testing.T) {
	for _, a := range limit.Algorithms() {
		t.Run(a.Name+a.Storage, func(t *testing.T) {
			p := &limit.Params{Limit: 2, WindowMS: 60_000, HoldMS: 60_000, Calendar: &limit.Calendar{Unit: limit.Day}}
			shared, _, stores := gateway(2, Options{})
			take := func(s *Store, keys ...string) bool {
				var cs []Counter
				for _, k := range keys {
					cs = append(cs, counter(k, a, p, 1, 1))
				}
				return s.Decide(epoch, cs)
			}
			take(stores[0], "b")
			// The first put is a's, the second b's: at a's, arm b's.
			shared.Interfere = func() {
				shared.Interfere = func() {
					if !take(stores[1], "b") {
						t.Error("the faster worker was refused")
					}
				}
			}
			cs := []Counter{counter("a", a, p, 1, 1), counter("b", a, p, 1, 1)}
			if stores[0].Decide(epoch, cs) {
				t.Fatal("admitted three of two")
			}
			if cs[1].Decision.Admitted || cs[1].Decision.RetryAfterMS < 1 {
				t.Errorf("%+v", cs[1].Decision)
			}
			if stores[0].Stats.Conflicts == 0 {
				t.Error("nothing interfered")
			}
			look := []Counter{counter("a", a, p, 1, 0), counter("b", a, p, 1, 0)}
			stores[1].Decide(epoch, look)
			if look[0].Decision.Current != 0 || look[1].Decision.Current != 2 {
				t.Errorf("a has %d, b %d", look[0].Decision.Current, look[1].Decision.Current)
			}
			if got := pending(epoch, stores...); !a.Holds && (got["a"] != 0 || got["b"] != 2) {
				t.Errorf("to be charged: %v", got)
			}
		})
	}
}

// A worker that never wins refuses, and leaves nothing.
func TestGivesUpConservatively(t *testing.T) {
	shared, _, stores := gateway(2, Options{})
	p := &limit.Params{Limit: 1000, WindowMS: 60_000}
	var busy func()
	n := int64(0)
	busy = func() {
		n++
		if !stores[1].Decide(epoch, []Counter{counter("k", limit.SlidingLog, p, 1, 1)}) {
			t.Error("the faster one was refused")
		}
		shared.Interfere = busy
	}
	stores[0].Decide(epoch, []Counter{counter("k", limit.SlidingLog, p, 1, 0)})
	shared.Interfere = busy // which isn't interfered with itself: it arms again when it is done
	c := []Counter{counter("k", limit.SlidingLog, p, 1, 1)}
	if stores[0].Decide(epoch, c) || c[0].Decision.Admitted || c[0].Decision.RetryAfterMS != 1000 {
		t.Errorf("%+v", c[0].Decision)
	}
	shared.Interfere = nil
	if stores[0].Stats.GaveUp != 1 || n != tries {
		t.Errorf("%+v after %d conflicts", stores[0].Stats, n)
	}
	look := []Counter{counter("k", limit.SlidingLog, p, 1, 0)}
	stores[0].Decide(epoch, look)
	if look[0].Decision.Current != n {
		t.Errorf("%d counted, %d admitted", look[0].Decision.Current, n)
	}
}

func TestShadowCountRejectedAndPenalty(t *testing.T) {
	_, _, stores := gateway(1, Options{})
	s := stores[0]
	p := &limit.Params{Limit: 2, WindowMS: 10_000}
	cs := []Counter{counter("s", limit.SlidingLog, p, 1, 1)}
	cs[0].Votes = false
	for i := range 4 {
		if !s.Decide(epoch, cs) || cs[0].Decision.Admitted != (i < 2) {
			t.Errorf("shadow %d: %+v", i, cs[0].Decision)
		}
	}
	if cs[0].Decision.Current != 2 {
		t.Errorf("a shadow charges above its limit: %+v", cs[0].Decision)
	}

	cs = []Counter{counter("r", limit.SlidingLog, p, 1, 1)}
	cs[0].CountRejected = true
	for range 5 {
		s.Decide(epoch, cs)
	}
	if d := cs[0].Decision; d.Admitted || d.Current != 5 {
		t.Errorf("count_rejected: %+v", d)
	}

	guarded := func(now int64) ([]Counter, bool) {
		cs := []Counter{counter("g", limit.SlidingLog, p, 1, 1), counter("g-pen", limit.Penalty, &limit.Params{WindowMS: 30_000}, 1, 0)}
		cs[1].Guards = 1
		ok := s.Decide(now, cs)
		return cs, ok
	}
	for range 2 {
		if cs, ok := guarded(epoch); !ok || !cs[1].Decision.Admitted {
			t.Errorf("refused before the limit: %+v", cs)
		}
	}
	if cs, ok := guarded(epoch); ok || cs[1].Decision.Admitted || cs[1].Decision.RetryAfterMS < 30_000 || cs[1].Decision.RetryAfterMS > 30_001 {
		t.Errorf("no penalty: %+v", cs[1].Decision)
	}
	if cs, ok := guarded(epoch + 20_000_000); ok || !cs[0].Decision.Admitted || cs[1].Decision.Admitted {
		t.Errorf("the penalty doesn't hold: %+v", cs)
	}
	if _, ok := guarded(epoch + 30_001_000); !ok {
		t.Error("the penalty doesn't end")
	}
	if got := pending(epoch, s); got["g-pen"] != 0 || got["g"] == 0 {
		t.Errorf("pending: %v", got)
	}
}

func TestGiveAndCharge(t *testing.T) {
	_, _, stores := gateway(2, Options{})
	p := &limit.Params{Limit: 20, WindowMS: 10_000, HoldMS: 10_000}
	c := counter("k", limit.SlidingLog, p, 2, 4)
	stores[0].Decide(epoch, []Counter{c})
	c.Cost = 3
	if n := stores[1].Give(epoch+1000, epoch, &c); n != 3 || c.Decision.Current != 1 {
		t.Errorf("%d taken from the account: %+v", n, c.Decision)
	}
	c.Cost = 20
	if !stores[1].Charge(epoch+1000, &c) || c.Decision.Current != 21 {
		t.Errorf("%+v", c.Decision)
	}
	if got := pending(epoch+1000, stores...); got["k"] != 21 {
		t.Errorf("pending %v", got)
	}
	if n := stores[0].Give(epoch+1000, epoch+1000, &c); n != 0 || c.Decision.Current != 1 {
		t.Errorf("%d taken from an account that is empty: %+v", n, c.Decision)
	}
	// What has left the window gives nothing, and nothing of others.
	c.Cost = 1
	stores[0].Decide(epoch+11_000_000, []Counter{c})
	if n := stores[0].Give(epoch+11_000_000, epoch, &c); n != 0 || c.Decision.Current != 1 {
		t.Errorf("%d given of another's: %+v", n, c.Decision)
	}

	hold := counter("h", limit.Concurrency, p, 2, 1)
	for i := range int64(10) {
		if !stores[i%2].Decide(epoch+i*1000, []Counter{hold}) {
			t.Fatal("refused")
		}
	}
	if stores[0].Decide(epoch+20_000, []Counter{hold}) {
		t.Error("an eleventh slot of ten")
	}
	stores[1].Give(epoch+20_000, epoch+3000, &hold)
	if !stores[0].Decide(epoch+20_000, []Counter{hold}) || stores[0].Decide(epoch+20_000, []Counter{hold}) {
		t.Error("a release isn't one slot")
	}
	if got := pending(epoch+20_000, stores...); len(got) != 1 {
		t.Errorf("pending %v", got)
	}
}

func TestSharedDataThatFails(t *testing.T) {
	_, hosts, _ := gateway(1, Options{})
	b := &broken{Host: hosts[0]}
	s := New(b, Options{})
	p := &limit.Params{Limit: 10, WindowMS: 1000}
	c := []Counter{counter("k", limit.SlidingLog, p, 1, 1)}
	if s.Decide(epoch, c) || c[0].Decision.RetryAfterMS != 1000 || s.Stats.GaveUp != 1 {
		t.Errorf("%+v %+v", c[0].Decision, s.Stats)
	}
	b.well = true
	if !s.Decide(epoch, c) {
		t.Error("refused")
	}
	b.well = false
	if s.Decide(epoch, c) || s.Charge(epoch, &c[0]) || s.Give(epoch, epoch, &c[0]) != 0 {
		t.Error("decided without data")
	}
	c[0].Votes = false
	if !s.Decide(epoch, c) {
		t.Error("a shadow refuses")
	}
	if s.TakePending(epoch, 1<<20, func(*Pending) bool { t.Error("pending"); return true }) != true {
		t.Error("nothing is left to look at")
	}
	b.well = true
	if got := pending(epoch, s); got["k"] != 1 {
		t.Errorf("pending %v", got)
	}
}

// broken is a proxy whose shared data fails.
type broken struct {
	*hosttest.Host
	well bool
}

func (b *broken) SharedData(key string) ([]byte, uint32, host.Status) {
	if !b.well {
		return nil, 0, 10
	}
	return b.Host.SharedData(key)
}

func (b *broken) SetSharedData(key string, v []byte, cas uint32) host.Status {
	if !b.well {
		return 10
	}
	return b.Host.SetSharedData(key, v, cas)
}

// Other plugins may write anything under our names.
func TestPagesThatAreNoPages(t *testing.T) {
	shared, _, stores := gateway(2, Options{Bytes: 1})
	p := &limit.Params{Limit: 10, WindowMS: 1000}
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 3000 {
		c := []Counter{counter("k"+strconv.Itoa(i%200), limit.Algorithms()[i%5], p, 2, 1)}
		stores[i%2].Decide(epoch+int64(i), c)
		keys := shared.Keys()
		k := keys[r.IntN(len(keys))]
		v := shared.Get(k)
		switch r.IntN(5) {
		case 0:
			v = v[:r.IntN(len(v)+1)]
		case 1:
			v = nil
		case 2:
			v = make([]byte, r.IntN(4000))
		default:
			if len(v) > 0 {
				v[r.IntN(len(v))] = byte(r.Uint32())
			}
		}
		shared.Set(k, v)
		if i%100 == 0 {
			pending(epoch+int64(i), stores...)
		}
	}
	if stores[0].Stats.Corrupt == 0 {
		t.Error("nothing was noticed")
	}
	if got := shared.Keys(); len(got) > 33 {
		t.Errorf("%d values", len(got))
	}
}

func TestSpacesAreApart(t *testing.T) {
	shared, hosts, stores := gateway(1, Options{Space: "a"})
	other := New(hosts[0], Options{Space: "b"})
	p := &limit.Params{Limit: 1, WindowMS: 1000}
	if !stores[0].Decide(epoch, []Counter{counter("k", limit.FixedWindow, p, 1, 1)}) ||
		!other.Decide(epoch, []Counter{counter("k", limit.FixedWindow, p, 1, 1)}) {
		t.Error("two spaces share a counter")
	}
	for _, k := range shared.Keys() {
		if !strings.HasPrefix(k, "sluice.") || len(k) > 22 {
			t.Errorf("a value named %q", k)
		}
	}
	if got := pending(epoch, stores...); got["k"] != 1 || len(got) != 1 {
		t.Errorf("pending %v", got)
	}
}

func TestDecideAllocatesLittle(t *testing.T) {
	s := New(newStill(), Options{})
	p := &limit.Params{Limit: 1_000_000, WindowMS: 60_000, HoldMS: 60_000, Calendar: &limit.Calendar{}}
	now := epoch
	var cs []Counter
	for i, a := range limit.Algorithms() {
		cs = append(cs, counter("rl:{per-user|"+strconv.Itoa(i)+"}:x", a, p, 3, 1))
	}
	s.Decide(now, cs)
	if n := testing.AllocsPerRun(300, func() {
		now += 10_000
		if !s.Decide(now, cs) {
			t.Fatal("refused")
		}
		s.Give(now, now, &cs[0])
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// still is shared data that allocates nothing once a page exists, unless it
// copies what it returns.
type still struct {
	host.Host
	data   map[string]*[]byte
	copies bool
}

func newStill() *still { return &still{data: map[string]*[]byte{}} }

func (h *still) Random(b []byte) { b[0] = 1 }

func (h *still) SharedData(key string) ([]byte, uint32, host.Status) {
	v, ok := h.data[key]
	if !ok {
		return nil, 0, host.NotFound
	}
	if h.copies {
		return slices.Clone(*v), 1, host.OK
	}
	return *v, 1, host.OK
}

func (h *still) SetSharedData(key string, v []byte, _ uint32) host.Status {
	old, ok := h.data[key]
	if !ok {
		b := make([]byte, 0, maxPage)
		old = &b
		h.data[strings.Clone(key)] = old
	}
	*old = append((*old)[:0], v...)
	return host.OK
}
