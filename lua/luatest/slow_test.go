package luatest

import (
	"testing"

	"sluice/internal/limit"
)

// A limit that is lowered to next to nothing empties its bucket in thousands of
// years: their milliseconds times 1000 are beyond whole numbers.
func TestBucketThatTakesAgesToEmpty(t *testing.T) {
	const hour = 3_600_000
	for _, alg := range limit.Algorithms() {
		if alg.Suffix != "tok1" && alg.Suffix != "leak1" {
			continue
		}
		c := newCaller(t, client(t), alg)
		p := limit.Params{Limit: 1_000_000_007, WindowMS: hour, Burst: 1_000_000_007}
		m := alg.New(p)
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: p}
		for i := range 20 {
			cost := int64(1)
			if i == 0 {
				cost = 20_034_567
			}
			if i == 1 {
				k.p.Limit = 1
				m.Change(k.p)
			}
			k.cost = cost
			now := int64(epoch) + int64(i)*12_345
			want, ok := apply(m, k.op, now, "", cost)
			if got := c.call(now, "id", k); !ok || !got.admitted || got.counters[0] != want {
				t.Errorf("%s, call %d: script %+v, model %+v %v", alg.Name, i, got, want, ok)
			}
		}
	}
}
