package stored

import (
	"strconv"
	"strings"

	"sluice/internal/limit"
)

// buckets is how many sub-windows a sliding_counter has unless it says otherwise.
const buckets = 10

func init() {
	a, err := limit.Lookup("sliding_counter", "")
	if err != nil {
		panic(err)
	}
	register(Format{
		Algorithm: a,
		Type:      "string",
		ArgNames:  []string{"limit", "window_ms", "buckets"},
		Valid:     func(v *Value) bool { _, ok := row(v); return ok },
		// How many sub-windows a window has isn't stored.
		Args: func(v *Value) []int64 {
			r, _ := row(v)
			return []int64{anySub, max(r[0]*buckets/1000, 1), buckets}
		},
		MaxTTL: func(v *Value, p *limit.Params) int64 {
			if p == nil {
				return 0
			}
			r, _ := row(v)
			return r[0]/1000 + p.WindowMS*2 + 2*skewMS
		},
		Newest: func(v *Value) int64 {
			r, _ := row(v)
			return r[3] * r[0] / 1000
		},
		Bytes: func(p *limit.Params) int64 {
			n := p.Buckets
			if n == 0 {
				n = buckets
			}
			return text(40 + (n+2)*(digits(p.Limit)+1))
		},
	})
	register(Format{
		Algorithm: limit.Penalty,
		Type:      "string",
		ArgNames:  []string{"length_ms", "guards"},
		Valid: func(v *Value) bool {
			return isNumber(string(v.Head))
		},
		Args: func(*Value) []int64 { return []int64{anyMS, 1} },
		MaxTTL: func(_ *Value, p *limit.Params) int64 {
			if p == nil {
				return 0
			}
			return p.WindowMS + 2*skewMS
		},
		Bytes: func(*limit.Params) int64 { return text(13) },
	})
}

// row reads the four numbers that a row of counts begins with: a sub-window's
// length and step in us, when it last changed in s, and the newest's number. At
// least one count follows.
func row(v *Value) (r [4]int64, ok bool) {
	f := strings.Fields(string(v.Head))
	if len(f) < 5 {
		return r, false
	}
	for i := range r {
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil || n < 0 {
			return r, false
		}
		r[i] = n
	}
	return r, r[0] > 0 && r[1] > 0 && r[3] < 1<<53/r[0]
}
