package limit

import (
	"math/rand/v2"
	"testing"
)

// Under a load above the limit that never ends, with far more hits than stamps:
// no window holds more than the share, and each long time admits nearly all of
// it.
func TestShareUnderLoad(t *testing.T) {
	for _, windowMS := range []int64{100, 1000, 60_000} {
		for _, part := range []int64{3, 16, 200, 1000} {
			r := rand.New(rand.NewPCG(uint64(windowMS), uint64(part)))
			p := Params{Limit: part*3 + 2, WindowMS: windowMS}
			x := &stored{t: t, alg: SlidingLog, p: p, g: 3}
			span := windowMS * 1000
			var log []hit
			first, sum, all := 0, int64(0), int64(0)
			now := epoch
			for now < epoch+12*span {
				now += r.Int64N(span/(2*part) + 2)
				if r.IntN(50) == 0 {
					now += r.Int64N(span / 10)
				}
				cost := 1 + r.Int64N(min(part, 4))
				if !Decide(x, now, cost).Admitted {
					continue
				}
				log = append(log, hit{now, cost})
				sum, all = sum+cost, all+cost
				for log[first].at <= now-span {
					sum -= log[first].cost
					first++
				}
				if sum > part {
					t.Fatalf("%d of %d admitted in a window of %d ms", sum, part, windowMS)
				}
			}
			least := part * 12 * 85 / 100
			if part < 10 {
				least = part * 12 * 60 / 100 // costs that don't fit into what is left
			}
			t.Logf("%d/%d ms: %d of %d", part, windowMS, all, part*12)
			if all < least {
				t.Errorf("%d/%d ms: %d admitted in 12 windows", part, windowMS, all)
			}
		}
	}
}
