package limit

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

const epoch Micros = 1_754_321_987_654_321

// hit is an admitted request at its true time.
type hit struct {
	at   Micros
	cost int64
}

// schedule runs random requests against a model, with a clock that goes forward,
// and returns what was admitted and what was refused.
func schedule(t *rapid.T, m Model, windowMS, maxCost int64, each func(now Micros, cost int64, d Decision)) {
	now := epoch + rapid.Int64Range(0, windowMS*1000).Draw(t, "start")
	for range rapid.IntRange(1, 300).Draw(t, "requests") {
		switch rapid.IntRange(0, 9).Draw(t, "pace") {
		case 0:
			now += rapid.Int64Range(0, windowMS*1500).Draw(t, "pause")
		case 1, 2:
			now += rapid.Int64Range(0, windowMS*100).Draw(t, "short pause")
		default:
			now += rapid.Int64Range(0, windowMS*2).Draw(t, "step")
		}
		cost := rapid.Int64Range(1, maxCost).Draw(t, "cost")
		each(now, cost, Decide(m, now, cost))
	}
}

func drawRate(t *rapid.T) Params {
	return Params{
		Limit:    rapid.Int64Range(1, 40).Draw(t, "limit"),
		WindowMS: rapid.SampledFrom([]int64{1, 7, 999, 1000, 1001, 60_000, 86_400_000}).Draw(t, "window"),
	}
}

// In no window (t-W, t] of true times, to the microsecond, is more admitted than
// the limit; and what is refused would have been too much for a window that is
// longer by what the stamps are rounded by.
func TestSlidingLogKeepsEveryWindow(t *testing.T) {
	for _, alg := range []*Algorithm{SlidingLog, SlidingLogZset} {
		t.Run(alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawRate(t)
				rounding := int64(1000)
				if alg == SlidingLog {
					rounding = ceilDiv(p.WindowMS, 1000) * 1000
				}
				var log []hit
				within := func(now Micros, span int64) (n int64) {
					for _, h := range log {
						if h.at > now-span {
							n += h.cost
						}
					}
					return n
				}
				schedule(t, alg.New(p), p.WindowMS, 5, func(now Micros, cost int64, d Decision) {
					if d.Admitted {
						log = append(log, hit{now, cost})
						if n := within(now, p.WindowMS*1000); n > p.Limit {
							t.Fatalf("%d admitted in a window of %d", n, p.Limit)
						}
					} else if n := within(now, p.WindowMS*1000+rounding); n+cost <= p.Limit {
						t.Fatalf("refused %d with %d of %d counted in a window longer by %d us", cost, n, p.Limit, rounding)
					}
				})
			})
		})
	}
}

// The compact log is an exact log whose stamps are rounded up to the end of
// their tick, the zset one whose stamps are rounded up to the millisecond: both
// equal one that was written to be read, not to be fast.
func TestSlidingLogIsARoundedLog(t *testing.T) {
	for _, alg := range []*Algorithm{SlidingLog, SlidingLogZset} {
		t.Run(alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawRate(t)
				tick := int64(1000)
				if alg == SlidingLog {
					tick = ceilDiv(p.WindowMS, 1000) * 1000
				}
				var log []hit
				schedule(t, alg.New(p), p.WindowMS, p.Limit, func(now Micros, cost int64, d Decision) {
					var live []hit
					total := int64(0)
					for _, h := range log {
						if now < h.at+p.WindowMS*1000 {
							live = append(live, h)
							total += h.cost
						}
					}
					log = live
					admitted := total+cost <= p.Limit
					if admitted {
						log = append(log, hit{(now + tick - 1) / tick * tick, cost})
						total += cost
					}
					if d.Admitted != admitted || d.Current != total || d.Remaining != p.Limit-total {
						t.Fatalf("at %d: %+v, the log says %v with %d of %d", now, d, admitted, total, p.Limit)
					}
				})
			})
		})
	}
}

// In any time t a token bucket, and a meter, admit at most burst + rate × t.
func TestBucketsKeepTheirRate(t *testing.T) {
	for _, alg := range []*Algorithm{TokenBucket, LeakyBucket} {
		t.Run(alg.Name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawRate(t)
				p.Burst = rapid.Int64Range(0, 60).Draw(t, "burst")
				burst := capacity(&p)
				var log []hit
				schedule(t, alg.New(p), p.WindowMS, min(5, burst), func(now Micros, cost int64, d Decision) {
					if !d.Admitted {
						return
					}
					log = append(log, hit{now, cost})
					sum := int64(0)
					for i := len(log) - 1; i >= 0; i-- {
						sum += log[i].cost
						// sum <= burst + limit/window * span, without dividing
						if (sum-burst)*p.WindowMS*1000 > p.Limit*(now-log[i].at) {
							t.Fatalf("%d admitted in %d us: more than %d + %d per %d ms", sum, now-log[i].at, burst, p.Limit, p.WindowMS)
						}
					}
				})
			})
		})
	}
}

// A bucket that is always asked admits its full rate: nothing is lost by
// rounding.
func TestTokenBucketReachesItsRate(t *testing.T) {
	m := TokenBucket.New(Params{Limit: 7, WindowMS: 1000, Burst: 3})
	n := 0
	for now := epoch; now < epoch+100_000_000; now += 1000 {
		if Decide(m, now, 1).Admitted {
			n++
		}
	}
	if n < 702 || n > 703 {
		t.Errorf("%d admitted in 100 s at 7/s with a burst of 3, want 702", n)
	}
}

// Requests leave a queue one interval apart and wait no longer than they may.
func TestQueueSpacesRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Params{
			Limit:    rapid.Int64Range(1, 50).Draw(t, "limit"),
			WindowMS: rapid.SampledFrom([]int64{1000, 60_000}).Draw(t, "window"),
			WaitMS:   rapid.SampledFrom([]int64{1, 500, 5000}).Draw(t, "max wait"),
			Burst:    rapid.SampledFrom([]int64{0, 0, 4}).Draw(t, "burst"),
		}
		interval := float64(p.WindowMS) * 1000 / float64(p.Limit)
		free := 0.0 // when the last one's turn is over
		schedule(t, LeakyBucket.New(p), p.WindowMS, 1, func(now Micros, cost int64, d Decision) {
			if !d.Admitted {
				if d.RetryAfterMS < 0 {
					t.Fatalf("a queue that waiting doesn't help with: %+v", d)
				}
				return
			}
			if d.RetryAfterMS > p.WaitMS {
				t.Fatalf("waits %d ms of at most %d", d.RetryAfterMS, p.WaitMS)
			}
			now -= epoch // floats are exact enough near 0
			leaves := float64(now + d.RetryAfterMS*1000)
			if leaves < free-1 { // 1 us for the floats of this test
				t.Fatalf("leaves %.0f us early", free-leaves)
			}
			if early := max(free, float64(now)); leaves > early+1002 { // the ms it is told in, and a us each way
				t.Fatalf("leaves %.0f us after its turn", leaves-early)
			}
			free = max(free, float64(now)) + interval*float64(cost)
		})
	})
}

// A sliding counter refuses nothing that a window longer by a sub-window would
// admit, and admits nothing that a window shorter by one would refuse.
func TestSlidingCounterErrorIsOneSubWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawRate(t)
		p.WindowMS = max(p.WindowMS, 7)
		p.Buckets = rapid.SampledFrom([]int64{1, 2, 3, 10, 60}).Draw(t, "buckets")
		span := p.WindowMS * 1000
		unit := ceilDiv(span, p.Buckets*subSteps)
		sub := ceilDiv(span, p.Buckets*unit) * unit
		if sub > span/p.Buckets+span/1000+p.Buckets {
			t.Fatalf("a sub-window of %d us in %d of %d", sub, p.Buckets, span)
		}
		var log []hit
		within := func(now Micros, span int64) (n int64) {
			for _, h := range log {
				if h.at > now-span {
					n += h.cost
				}
			}
			return n
		}
		schedule(t, SlidingCounter.New(p), p.WindowMS, 3, func(now Micros, cost int64, d Decision) {
			if d.Admitted {
				log = append(log, hit{now, cost})
				if n := within(now, span-sub); n > p.Limit {
					t.Fatalf("%d of %d admitted in a window shorter by a sub-window", n, p.Limit)
				}
			} else if n := within(now, span+sub); n+cost <= p.Limit {
				t.Fatalf("refused %d with %d of %d in a window longer by a sub-window", cost, n, p.Limit)
			}
		})
	})
}

// The known weakness of fixed windows: twice the limit around an edge.
func TestFixedWindowAdmitsTwiceAtAnEdge(t *testing.T) {
	m := FixedWindow.New(Params{Limit: 100, WindowMS: 1000})
	edge := epoch/1_000_000*1_000_000 + 1_000_000
	n := 0
	for i := range Micros(400) {
		now := edge - 10_000 + i*50 // 20 ms around the edge
		if Decide(m, now, 1).Admitted {
			n++
		}
	}
	if n != 200 {
		t.Errorf("%d admitted within 20 ms around an edge, expected 200 of a limit of 100", n)
	}
}

// Every algorithm: a request that was refused is admitted at the time announced,
// if nothing else came; and refusing it changed nothing.
func TestRetryAtTheAnnouncedTime(t *testing.T) {
	for _, alg := range Algorithms() {
		t.Run(alg.Name+alg.Storage, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := drawRate(t)
				p.Limit = rapid.Int64Range(1, 12).Draw(t, "small limit")
				p.HoldMS = p.WindowMS
				p.Calendar = &Calendar{Unit: Unit(rapid.IntRange(0, 4).Draw(t, "unit"))}
				if alg == LeakyBucket {
					p.WaitMS = rapid.SampledFrom([]int64{0, 3, 700}).Draw(t, "max wait")
				}
				m := alg.New(p)
				schedule(t, m, p.WindowMS, min(p.Limit, 4), func(now Micros, cost int64, d Decision) {
					if d.Admitted {
						return
					}
					if d.RetryAfterMS < 0 {
						t.Fatalf("cost %d of %d: %+v", cost, p.Limit, d)
					}
					if again := m.Look(now, cost); again != d {
						t.Fatalf("refused with %+v, then %+v", d, again)
					}
					if then := m.Look(now+d.RetryAfterMS*1000, cost); !then.Admitted {
						t.Fatalf("refused %d ms after the announcement: %+v, then %+v", d.RetryAfterMS, d, then)
					}
					if d.ResetMS > 0 {
						if then := m.Look(now+d.ResetMS*1000, cost); then.Remaining <= d.Remaining {
							t.Fatalf("%d free %d ms after %d were", then.Remaining, d.ResetMS, d.Remaining)
						}
					}
				})
			})
		})
	}
}

// Exactness of the announcement, where it can be: a millisecond sooner there is
// no room.
func TestRetryIsNotLate(t *testing.T) {
	for _, alg := range Algorithms() {
		p := Params{Limit: 5, WindowMS: 1000, HoldMS: 1000, Calendar: &Calendar{Unit: Hour}}
		m := alg.New(p)
		for i := range Micros(5) {
			Decide(m, epoch+i*7000, 1)
		}
		d := Decide(m, epoch+40_000, 3)
		if d.Admitted || d.RetryAfterMS < 1 {
			t.Fatalf("%s: %+v", alg.Name, d)
		}
		if sooner := m.Look(epoch+40_000+(d.RetryAfterMS-1)*1000, 3); sooner.Admitted {
			t.Errorf("%s %s: announced %d ms, admitted 1 ms before", alg.Name, alg.Storage, d.RetryAfterMS)
		}
	}
}

// A clock that steps far back locks no counter for longer than its window.
func TestClockStepsBackAnHour(t *testing.T) {
	for _, alg := range Algorithms() {
		if alg == CalendarQuota {
			continue // its periods are the clock's own
		}
		p := Params{Limit: 5, WindowMS: 10_000, HoldMS: 10_000}
		m := alg.New(p)
		for range 5 {
			Decide(m, epoch, 1)
		}
		back := epoch - Micros(time.Hour/time.Microsecond)
		if d := Decide(m, back, 1); d.Admitted {
			t.Errorf("%s %s: a step back gives capacity", alg.Name, alg.Storage)
		}
		if d := Decide(m, back+11_100_000, 1); !d.Admitted {
			t.Errorf("%s %s: locked for longer than the window: %+v", alg.Name, alg.Storage, d)
		}
	}
}
