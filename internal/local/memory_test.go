package local

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"sluice/internal/limit"
)

// A million keys that all count: memory stays within the bound, no key is ever
// admitted more than its share, and those that came first keep their counters.
func TestAMillionKeys(t *testing.T) {
	shared, hosts, stores := gateway(2, Options{})
	p := &limit.Params{Limit: 6, WindowMS: 86_400_000}
	const keys = 1_000_000
	admitted := make([]uint8, keys)
	now := epoch
	c := make([]Counter, 1)
	decide := func(k int) bool {
		now += 10
		c[0] = counter("rl:{per-user|user-"+strconv.Itoa(k)+"}:log1", limit.SlidingLog, p, 2, 1)
		if !stores[k%2].Decide(now, c) {
			return false
		}
		if admitted[k]++; admitted[k] > 3 {
			t.Fatalf("key %d was admitted %d times", k, admitted[k])
		}
		return true
	}
	first := 0
	for k := range keys {
		if decide(k) && k < 20_000 {
			first++
		}
	}
	for k := range 20_000 { // seated: refused when their own share is used up
		decide(k)
		decide(k)
		decide(k)
		if admitted[k] != 3 && first == 20_000 {
			t.Fatalf("key %d, which came first, was admitted %d times", k, admitted[k])
		}
	}
	r := rand.New(rand.NewPCG(3, 4))
	for range 300_000 {
		decide(r.IntN(keys))
	}
	bytes := 0
	names := shared.Keys()
	for _, k := range names {
		v := shared.Get(k)
		if len(v) > maxPage {
			t.Errorf("a page of %d bytes", len(v))
		}
		bytes += pageCost
	}
	if most := stores[0].Memory(); bytes > most+pageCost || most > 16<<20 {
		t.Errorf("%d pages, the bound is %d bytes", len(names), most)
	}
	units := int64(0)
	for _, n := range admitted {
		units += int64(n)
	}
	var charged int64
	for _, n := range pending(now, stores...) {
		charged += n
	}
	stats := stores[0].Stats
	stats.Unaccounted += stores[1].Stats.Unaccounted
	t.Logf("%d pages; %d units admitted, %d to be charged, %d unaccounted; first worker %+v, %d gets", len(names), units, charged, stats.Unaccounted, stats, hosts[0].Calls["SharedData"])
	if charged+int64(stats.Unaccounted) != units {
		t.Errorf("%d to be charged and %d unaccounted of %d", charged, stats.Unaccounted, units)
	}
}

// In pages that overflow all the time, no key passes its share: each algorithm,
// seats coming and going, in windows that move.
func TestEvictionNeverAdmitsMore(t *testing.T) {
	for _, a := range []*limit.Algorithm{limit.SlidingLog, limit.TokenBucket, limit.FixedWindow, limit.Concurrency} {
		t.Run(a.Name, func(t *testing.T) {
			_, _, stores := gateway(2, Options{Bytes: 1})
			p := &limit.Params{Limit: 8, WindowMS: 10_000, HoldMS: 10_000}
			const share = 4
			r := rand.New(rand.NewPCG(5, 6))
			logs := make([][]hit, 3000)
			now := epoch
			n := 0
			for i := range 60_000 {
				now += r.Int64N(3000)
				k := r.IntN(len(logs))
				if i%3 == 0 {
					k = r.IntN(40)
				}
				if !stores[i%2].Decide(now, []Counter{counter("rl:{per-user|user-"+strconv.Itoa(k)+"}:log1", a, p, 2, 1)}) {
					continue
				}
				n++
				logs[k] = append(logs[k], hit{now, 1})
				log := logs[k]
				switch a {
				case limit.TokenBucket:
					for j := range log {
						if m := int64(len(log) - j); (m-share)*10_000_000*2 > 8*(now-log[j].at) {
							t.Fatalf("%d in %d us", m, now-log[j].at)
						}
					}
				case limit.FixedWindow:
					m := 0
					for _, h := range log {
						if h.at/10_000_000 == now/10_000_000 {
							m++
						}
					}
					if m > share {
						t.Fatalf("%d in a window", m)
					}
				default:
					if m := within(log, now, 10_000); m > share {
						t.Fatalf("%d in a window", m)
					}
				}
			}
			s := stores[0].Stats
			t.Logf("%d admitted, %+v", n, s)
			if s.Shared == 0 || n < 2000 {
				t.Errorf("%d admitted, %+v", n, s)
			}
		})
	}
}

// With no room even for a shared counter, requests are refused.
func TestFullPageRefuses(t *testing.T) {
	_, _, stores := gateway(1, Options{})
	s := stores[0]
	s.pages = 1
	admitted := 0
	for i := range int64(400) { // each of a class of its own
		p := &limit.Params{Limit: 10, WindowMS: 3_600_000 + i}
		c := []Counter{counter("key-"+strconv.FormatInt(i, 10), limit.FixedWindow, p, 1, 1)}
		if s.Decide(epoch, c) {
			admitted++
		} else if c[0].Decision.RetryAfterMS != 1000 {
			t.Fatalf("%+v", c[0].Decision)
		}
	}
	if s.Stats.Full == 0 || admitted+int(s.Stats.Full) != 400 || admitted < 20 {
		t.Errorf("%d admitted, %+v", admitted, s.Stats)
	}
	// Those that are there go on.
	p := &limit.Params{Limit: 10, WindowMS: 3_600_000}
	if !s.Decide(epoch, []Counter{counter("key-0", limit.FixedWindow, p, 1, 1)}) {
		t.Error("a counter that has its place is refused")
	}
}
