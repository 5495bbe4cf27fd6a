package stored

import "sluice/internal/limit"

// bucket is the format of a level: tick, level, expiry, unit, leak, us a tick.
const bucket = 37 // bytes

// maxLevel is the highest level of a bucket.
const maxLevel = 1 << 52

func init() {
	queue := []string{"max_wait_ms", "bounded"}
	for name, more := range map[string][]int64{"token_bucket": nil, "leaky_bucket": {0, 0}} {
		a, err := limit.Lookup(name, "")
		if err != nil {
			panic(err)
		}
		register(Format{
			Algorithm: a,
			Type:      "string",
			ArgNames:  append([]string{"capacity", "unit", "leak", "us_per_tick"}, queue[:len(more)]...),
			Valid: func(v *Value) bool {
				if len(v.Head) != bucket {
					return false
				}
				level, unit, leak, res := level(v)
				return level <= maxLevel && unit > 0 && leak > 0 && (res == 1 || res == 1000)
			},
			Args: func(v *Value) []int64 {
				_, unit, leak, res := level(v)
				return append([]int64{maxLevel / unit, unit, leak, res}, more...)
			},
			// What is stored says how long it takes until it is empty.
			MaxTTL: func(v *Value, _ *limit.Params) int64 {
				level, _, leak, res := level(v)
				need := (level/leak+1)*res/1000 + 1 + skewMS
				return need + need/8 + 10_000 + skewMS
			},
			Newest: func(v *Value) int64 {
				_, _, _, res := level(v)
				return number(v.Head[:7]) * res / 1000
			},
			Bytes: func(*limit.Params) int64 { return text(bucket) },
		})
	}
}

func level(v *Value) (level, unit, leak, res int64) {
	return number(v.Head[7:14]), number(v.Head[21:28]), number(v.Head[28:35]), number(v.Head[35:37])
}
