package limit

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// stored is a share that is stored after each call and read before the next, as
// several workers do.
type stored struct {
	t     interface{ Fatalf(string, ...any) }
	alg   *Algorithm
	p     Params
	g     int64
	s     Share
	state []byte
}

func (x *stored) open() {
	if !x.s.Open(x.alg, &x.p, x.g, x.state) {
		x.t.Fatalf("%s: a state of its own can't be read: %x", x.alg.Name, x.state)
	}
}

func (x *stored) close() {
	if !x.s.Dirty() {
		return
	}
	x.state = x.s.AppendState(x.state[:0])
	if len(x.state) > MaxShareState {
		x.t.Fatalf("a state of %d bytes", len(x.state))
	}
}

func (x *stored) Look(now Micros, cost int64) Decision {
	x.open()
	defer x.close()
	return x.s.Look(now, cost)
}

func (x *stored) Take(now Micros, cost int64) Decision {
	x.open()
	defer x.close()
	return x.s.Take(now, cost)
}

func (x *stored) Refuse(now Micros, cost int64) Decision {
	x.open()
	defer x.close()
	return x.s.Refuse(now, cost)
}

func (x *stored) Give(now Micros, n int64) Decision { return x.GiveFrom(now, now, n) }

func (x *stored) GiveFrom(now, since Micros, n int64) Decision {
	x.open()
	defer x.close()
	return x.s.Give(now, since, n)
}

func (x *stored) Change(p Params) { x.p = p }

func sharedAlgorithms() []*Algorithm { return append(slices.Clone(Algorithms()), Penalty) }

func TestEveryAlgorithmHasAShare(t *testing.T) {
	p := Params{Limit: 10, WindowMS: 1000, HoldMS: 1000, Calendar: &Calendar{}}
	seen := map[byte]bool{0: true}
	for _, a := range sharedAlgorithms() {
		code := a.Code
		if seen[code] || ShareAlgorithm(code) != a {
			t.Errorf("%s %s has code %d", a.Name, a.Storage, code)
		}
		seen[code] = true
		var s Share
		if !s.Open(a, &p, 2, nil) || !s.Look(epoch, 1).Admitted || s.Ends() != 0 {
			t.Errorf("%s %s: a new share refuses", a.Name, a.Storage)
		}
		s.Take(epoch, 1)
		if ends := s.Ends(); ends*1000 <= epoch {
			t.Errorf("%s %s: ends at %d", a.Name, a.Storage, ends)
		}
		if ends := s.Ends() * 1000; s.Look(ends, 1).Current != 0 {
			t.Errorf("%s %s: something is left at the end", a.Name, a.Storage)
		}
	}
	if ShareAlgorithm(0) != nil || ShareAlgorithm(200) != nil {
		t.Error("a code of no algorithm")
	}
	var s Share
	if s.Open(&Algorithm{}, &p, 1, nil) || s.Look(epoch, 1).Admitted || s.Open(CalendarQuota, &Params{Limit: 5}, 1, nil) {
		t.Error("an unknown algorithm admits")
	}
}

func drawShared(t *rapid.T) (Params, int64) {
	p := drawRate(t)
	p.Limit = rapid.SampledFrom([]int64{1, 2, 3, 10, 40, 1000}).Draw(t, "limit of all")
	return p, rapid.Int64Range(1, 6).Draw(t, "gateways")
}

// In no window (t-W, t] is more admitted than the share, whatever is merged; a
// cost above it stands alone, and for longer. What is refused would have been too
// much for a window longer by a cell.
func TestShareOfASlidingWindow(t *testing.T) {
	for _, alg := range []*Algorithm{SlidingLog, SlidingLogZset, SlidingCounter} {
		t.Run(alg.Name+alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, g := drawShared(t)
				part := p.Limit / g
				span := p.WindowMS * 1000
				late := (ceilDiv(ceilDiv(p.WindowMS, ceilDiv(p.WindowMS, 1000))+2, maxPairs-1) + 1) * ceilDiv(p.WindowMS, 1000) * 1000
				var log []hit
				within := func(now, span int64) (n int64) {
					for _, h := range log {
						if h.at > now-span {
							n += h.cost
						}
					}
					return n
				}
				maxCost := rapid.SampledFrom([]int64{1, 1, 3, p.Limit}).Draw(t, "max cost")
				big, pause := Micros(0), int64(0) // until when a cost above the part stands alone
				schedule(t, &stored{t: t, alg: alg, p: p, g: g}, p.WindowMS, maxCost, func(now Micros, cost int64, d Decision) {
					if !d.Admitted {
						if cost <= part && now >= big+late && within(now, span+late)+cost <= part {
							t.Fatalf("refused %d of %d with %d in a window longer by %d us", cost, part, within(now, span+late), late)
						}
						return
					}
					if now < big {
						t.Fatalf("admitted %d us too early after a cost of %d", big-now, pause)
					}
					if log = append(log, hit{now, cost}); within(now, span) > max(part, cost) || cost > p.Limit {
						t.Fatalf("%d admitted in a window, the share is %d of %d", within(now, span), part, p.Limit)
					}
					if cost > part {
						if within(now, span) != cost {
							t.Fatalf("a cost of %d of a share of %d isn't alone", cost, part)
						}
						pause = cost
						big = now + span*cost*g/p.Limit
					}
				})
			})
		})
	}
}

// A share among one is the model itself, where the state is exact.
func TestShareOfOneIsTheModel(t *testing.T) {
	for _, alg := range []*Algorithm{FixedWindow, CalendarQuota, TokenBucket, LeakyBucket, Penalty} {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawRate(t)
				p.Burst = rapid.Int64Range(0, 50).Draw(t, "burst")
				p.WaitMS = rapid.SampledFrom([]int64{0, 5, 700}).Draw(t, "wait")
				p.Calendar = &Calendar{Unit: Unit(rapid.IntRange(0, 4).Draw(t, "unit"))}
				m, x := alg.New(p), &stored{t: t, alg: alg, p: p, g: 1}
				schedule(t, x, p.WindowMS, 5, func(now Micros, cost int64, d Decision) {
					if want := Decide(m, now, cost); d != want {
						t.Fatalf("%+v, the model says %+v", d, want)
					}
					if !d.Admitted && rapid.Bool().Draw(t, "refuse") {
						if got, want := x.Refuse(now, cost), m.Refuse(now, cost); got != want {
							t.Fatalf("refused: %+v, the model says %+v", got, want)
						}
					}
				})
			})
		})
	}
}

// A bucket's share admits in any time t at most its part of the burst, and the
// exact part of the rate.
func TestShareOfABucketKeepsItsRate(t *testing.T) {
	for _, alg := range []*Algorithm{TokenBucket, LeakyBucket} {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, g := drawShared(t)
				p.Burst = rapid.Int64Range(0, 60).Draw(t, "burst")
				burst := max(capacity(&p)/g, 1)
				var log []hit
				n := int64(0)
				schedule(t, &stored{t: t, alg: alg, p: p, g: g}, p.WindowMS, min(5, burst), func(now Micros, cost int64, d Decision) {
					if !d.Admitted {
						return
					}
					n++
					log = append(log, hit{now, cost})
					sum := int64(0)
					for i := len(log) - 1; i >= 0; i-- {
						sum += log[i].cost
						if (sum-burst)*p.WindowMS*1000*g > p.Limit*(now-log[i].at) {
							t.Fatalf("%d admitted in %d us: more than %d + %d/%d per %d ms", sum, now-log[i].at, burst, p.Limit, g, p.WindowMS)
						}
					}
				})
			})
		})
	}
	x := &stored{t: t, alg: TokenBucket, p: Params{Limit: 7, WindowMS: 1000}, g: 3}
	n := 0
	for now := epoch; now < epoch+90_000_000; now += 1000 {
		if Decide(x, now, 1).Admitted {
			n++
		}
	}
	if n < 209 || n > 213 {
		t.Errorf("%d admitted in 90 s at a third of 7/s", n)
	}
}

// A bucket whose exact share can't be counted becomes slower, never faster.
func TestShareOfAHugeBucket(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{
			Limit:    rapid.Int64Range(1, maxExact).Draw(t, "limit"),
			WindowMS: rapid.Int64Range(1, maxWindowMS).Draw(t, "window"),
			Burst:    rapid.Int64Range(0, maxExact).Draw(t, "burst"),
			WaitMS:   rapid.SampledFrom([]int64{0, 0, 1000, maxWindowMS}).Draw(t, "wait"),
		}
		if LeakyBucket.Check(&p) != nil {
			t.Skip("not a limit")
		}
		g := rapid.Int64Range(2, maxGateways).Draw(t, "gateways")
		q := bucketShare(p, g)
		if _, _, _, err := scale(&q, capacity(&q)); err != nil {
			t.Fatalf("%+v of %+v: %v", q, p, err)
		}
		if p.WindowMS*g/p.Limit < 1<<50 && float64(q.Limit)/float64(q.WindowMS) > float64(p.Limit)/float64(p.WindowMS)/float64(g)*1.000001 {
			t.Fatalf("%+v is faster than %+v among %d", q, p, g)
		}
	})
}

func TestShareBelowOne(t *testing.T) {
	for _, x := range []struct {
		alg  *Algorithm
		p    Params
		g    int64
		each int64 // us
	}{
		{SlidingLog, Params{Limit: 2, WindowMS: 1000}, 5, 2_500_000},
		{SlidingCounter, Params{Limit: 1, WindowMS: 60_000}, 3, 180_000_000},
		{FixedWindow, Params{Limit: 2, WindowMS: 1000}, 5, 2_500_000},
		{TokenBucket, Params{Limit: 2, WindowMS: 1000}, 5, 2_500_000},
		{LeakyBucket, Params{Limit: 2, WindowMS: 1000}, 5, 2_500_000},
		{CalendarQuota, Params{Limit: 2, Calendar: &Calendar{Unit: Day}}, 4, 2 * 86_400_000_000},
	} {
		s := &stored{t: t, alg: x.alg, p: x.p, g: x.g}
		start := epoch
		if x.alg == FixedWindow {
			start -= start % 1_000_000
		}
		if d := Decide(s, start, 1); !d.Admitted || d.Remaining != 0 {
			t.Errorf("%s: the first: %+v", x.alg.Name, d)
		}
		d := s.Look(start, 1)
		if at := d.RetryAfterMS * 1000; d.Admitted || at < x.each || at > x.each+1_002_000 {
			t.Errorf("%s: again after %d us, want %d: %+v", x.alg.Name, at, x.each, d)
		}
		if d := s.Look(start+x.each-2000, 1); d.Admitted {
			t.Errorf("%s: too early: %+v", x.alg.Name, d)
		}
		if d := Decide(s, start+d.RetryAfterMS*1000, 1); !d.Admitted {
			t.Errorf("%s: not at the time announced: %+v", x.alg.Name, d)
		}
		if d := s.Look(start, x.p.Limit+1); d.Admitted || d.RetryAfterMS != Never {
			t.Errorf("%s: above the limit: %+v", x.alg.Name, d)
		}
		zero := &stored{t: t, alg: x.alg, p: x.p, g: x.g}
		zero.p.Limit = 0
		if d := Decide(zero, start, 1); d.Admitted || d.RetryAfterMS != Never || d.Remaining != 0 {
			t.Errorf("%s: a limit of 0: %+v", x.alg.Name, d)
		}
	}
}

// What is returned makes room, and no more than was taken: with hits given back
// at random, in no window stays more than the share.
func TestShareGivesBack(t *testing.T) {
	for _, alg := range []*Algorithm{SlidingLog, SlidingCounter, FixedWindow, TokenBucket} {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := Params{Limit: rapid.Int64Range(12, 200).Draw(t, "limit"), WindowMS: 1000}
				g := rapid.Int64Range(1, 4).Draw(t, "gateways")
				x := &stored{t: t, alg: alg, p: p, g: g}
				part := p.Limit / g
				var log []hit
				schedule(t, x, p.WindowMS, 3, func(now Micros, cost int64, d Decision) {
					if d.Admitted {
						log = append(log, hit{now, cost})
					}
					if len(log) > 0 && rapid.IntRange(0, 3).Draw(t, "give") == 0 {
						i := rapid.IntRange(max(len(log)-9, 0), len(log)-1).Draw(t, "which")
						before := x.Look(now, 0).Current
						after := x.GiveFrom(now, log[i].at, log[i].cost).Current
						if after > before || after < before-log[i].cost {
							t.Fatalf("%d after giving %d of %d", after, log[i].cost, before)
						}
						log = slices.Delete(log, i, i+1)
					}
					sum := int64(0)
					for i := len(log) - 1; i >= 0; i-- {
						sum += log[i].cost
						took := now - log[i].at
						switch alg {
						case TokenBucket:
							if (sum-part)*p.WindowMS*1000*g > p.Limit*took {
								t.Fatalf("%d in %d us", sum, took)
							}
						case FixedWindow:
							if now/1_000_000 == log[i].at/1_000_000 && sum > part {
								t.Fatalf("%d of %d in a window", sum, part)
							}
						default:
							if took < p.WindowMS*1000 && sum > part {
								t.Fatalf("%d of %d in a window", sum, part)
							}
						}
					}
				})
			})
		})
	}
}

// Slots: never more held than the share, counting those that crashed for as long
// as they may hold.
func TestShareOfSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{Limit: rapid.Int64Range(1, 60).Draw(t, "max"), HoldMS: rapid.SampledFrom([]int64{1, 50, 1000, 60_000}).Draw(t, "hold"), WindowMS: 1}
		g := rapid.Int64Range(1, 3).Draw(t, "gateways")
		x := &stored{t: t, alg: Concurrency, p: p, g: g}
		part := max(p.Limit/g, 1)
		var held []hit
		schedule(t, x, p.HoldMS, 3, func(now Micros, cost int64, d Decision) {
			held = slices.DeleteFunc(held, func(h hit) bool { return h.at+p.HoldMS*1000 <= now })
			n := int64(0)
			for _, h := range held {
				n += h.cost
			}
			if d.Admitted {
				if held = append(held, hit{now, cost}); n+cost > max(part, cost) {
					t.Fatalf("%d held of %d", n+cost, part)
				}
			} else if n == 0 && cost <= part && x.Look(now+p.HoldMS*1000/8+4000, cost).RetryAfterMS > p.HoldMS {
				t.Fatalf("locked: %+v", d)
			}
			if len(held) > 0 && rapid.Bool().Draw(t, "release") {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				before := x.Look(now, 0).Current
				if after := x.GiveFrom(now, held[i].at, held[i].cost).Current; after != before-held[i].cost {
					t.Fatalf("%d held after releasing %d of %d", after, held[i].cost, before)
				}
				held = slices.Delete(held, i, i+1)
			}
		})
	})
	// One that crashed doesn't live on in the releases of others.
	x := &stored{t: t, alg: Concurrency, p: Params{Limit: 2, HoldMS: 1000}, g: 1}
	x.Take(epoch, 1)
	for now := epoch; now < epoch+1_000_000; now += 10_000 {
		x.Take(now+1000, 1)
		x.GiveFrom(now+9000, now+1000, 1)
	}
	if d := x.Look(epoch+1_002_000, 2); !d.Admitted {
		t.Errorf("a crashed holder still counts: %+v", d)
	}
}

func TestShareWhenTheClockStepsBackAnHour(t *testing.T) {
	for _, alg := range Algorithms() {
		if alg == CalendarQuota {
			continue // its periods are the clock's own
		}
		for _, p := range []Params{{Limit: 10, WindowMS: 10_000, HoldMS: 10_000}, {Limit: 1, WindowMS: 10_000, HoldMS: 10_000}} {
			x := &stored{t: t, alg: alg, p: p, g: 2}
			for range 5 {
				Decide(x, epoch, 1)
			}
			back := epoch - Micros(time.Hour/time.Microsecond)
			if d := Decide(x, back, 1); d.Admitted {
				t.Errorf("%s %s: a step back gives capacity", alg.Name, alg.Storage)
			}
			if d := Decide(x, back+21_100_000, 1); !d.Admitted {
				t.Errorf("%s %s %d: locked for longer than the window: %+v", alg.Name, alg.Storage, p.Limit, d)
			}
		}
	}
}

func TestShareAnnouncesWhenToRetry(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name+alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p, g := drawShared(t)
				p.Limit = min(p.Limit, 40)
				p.HoldMS = p.WindowMS
				p.Calendar = &Calendar{Unit: Hour}
				x := &stored{t: t, alg: alg, p: p, g: g}
				schedule(t, x, p.WindowMS, min(p.Limit, 4), func(now Micros, cost int64, d Decision) {
					if d.Admitted {
						return
					}
					if d.RetryAfterMS < 1 {
						t.Fatalf("cost %d of %d among %d: %+v", cost, p.Limit, g, d)
					}
					if then := x.Look(now+d.RetryAfterMS*1000, cost); !then.Admitted {
						t.Fatalf("refused %d ms after the announcement: %+v, then %+v", d.RetryAfterMS, d, then)
					}
				})
			})
		})
	}
}

func TestShareStateIsSmall(t *testing.T) {
	for _, alg := range sharedAlgorithms() {
		x := &stored{t: t, alg: alg, p: Params{Limit: 10_000, WindowMS: 60_000, HoldMS: 60_000, Burst: 500, Calendar: &Calendar{Unit: Month}}, g: 3}
		most := 0
		for i := range Micros(20_000) {
			Decide(x, epoch+i*7919, 1)
			most = max(most, len(x.state))
		}
		t.Logf("%s %s: %d bytes", alg.Name, alg.Storage, most)
		if most > 64 {
			t.Errorf("%s %s: a state of %d bytes", alg.Name, alg.Storage, most)
		}
	}
}

func TestShareAllocatesNothing(t *testing.T) {
	p := Params{Limit: 10_000, WindowMS: 60_000, HoldMS: 60_000, Burst: 500, Calendar: &Calendar{Unit: Month}}
	var s Share
	state := make([]byte, 0, MaxShareState)
	for _, alg := range sharedAlgorithms() {
		now := epoch
		n := testing.AllocsPerRun(200, func() {
			now += 50_000
			s.Open(alg, &p, 3, state)
			if s.Look(now, 1).Admitted {
				s.Take(now, 1)
			}
			s.Give(now, now-100_000, 1)
			state = s.AppendState(state[:0])
		})
		state = state[:0]
		if n != 0 {
			t.Errorf("%s %s: %v allocations", alg.Name, alg.Storage, n)
		}
	}
}

// A state may hold anything: nothing panics, and what is taken is counted.
func FuzzShareState(f *testing.F) {
	p := Params{Limit: 9, WindowMS: 60_000, HoldMS: 60_000, Calendar: &Calendar{}}
	for i, alg := range sharedAlgorithms() {
		x := &stored{t: f, alg: alg, p: p, g: 2}
		for range 3 {
			x.Take(epoch, 2)
		}
		f.Add(x.state, byte(i), int64(3))
	}
	f.Add([]byte{}, byte(0), int64(1))
	f.Fuzz(func(t *testing.T, state []byte, which byte, cost int64) {
		algs := sharedAlgorithms()
		alg := algs[int(which)%len(algs)]
		var s Share
		if !s.Open(alg, &p, 2, state) {
			if s.Look(epoch, 1).Admitted {
				t.Fatal("a bad state admits")
			}
			return
		}
		s.Look(epoch, cost)
		s.Take(epoch, cost)
		s.Refuse(epoch+1000, cost)
		s.Give(epoch+2000, epoch, cost)
		s.Ends()
		if n := len(s.AppendState(nil)); n > MaxShareState {
			t.Fatalf("%d bytes", n)
		}
	})
}

func BenchmarkShare(b *testing.B) {
	p := Params{Limit: 10_000, WindowMS: 60_000, HoldMS: 60_000, Burst: 500, Calendar: &Calendar{Unit: Month}}
	for _, alg := range Algorithms() {
		b.Run(alg.Name+alg.Storage, func(b *testing.B) {
			var s Share
			state := make([]byte, 0, MaxShareState)
			now := epoch
			b.ReportAllocs()
			for b.Loop() {
				now += 20_000
				s.Open(alg, &p, 3, state)
				if s.Look(now, 1).Admitted {
					s.Take(now, 1)
				}
				state = s.AppendState(state[:0])
			}
		})
	}
}

// Returned at once, a charge costs a bucket nothing that isn't nearly empty,
// however fast it leaks; of one that drained meanwhile only the rest comes back.
func TestShareOfABucketReturnsWhatStoodOnTop(t *testing.T) {
	for _, x := range []struct{ before, want int64 }{{4000, 3900}, {0, 0}} {
		var s Share
		p := Params{Limit: 5000, WindowMS: 1000}
		if !s.Open(TokenBucket, &p, 1, nil) {
			t.Fatal("a token bucket can't be shared")
		}
		s.Take(epoch, x.before)
		was := s.Take(epoch+10, 1).Current
		if n := s.GiveFrom(epoch+20_010, epoch+10, 1, was).Current; n != x.want { // 100 have leaked in 20 ms
			t.Errorf("%d are counted of %d, want %d", n, x.before, x.want)
		}
	}
	// Another's charge after it had drained stays.
	var s Share
	p := Params{Limit: 5000, WindowMS: 1000}
	s.Open(LeakyBucket, &p, 1, nil)
	was := s.Take(epoch, 1).Current
	s.Take(epoch+10_000, 1)
	if n := s.GiveFrom(epoch+10_001, epoch, 1, was).Current; n != 1 {
		t.Errorf("%d are counted, and one other's charge is 10 us old", n)
	}
}
