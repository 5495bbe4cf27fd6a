package stored

import "sluice/internal/limit"

const (
	logHead   = 44   // bytes before the closed buckets
	logBucket = 8    // bytes of a bucket
	logRing   = 1008 // most buckets
	logTicks  = 1000 // ticks of a window
)

func init() {
	a, err := limit.Lookup("sliding_log", "compact")
	if err != nil {
		panic(err)
	}
	register(Format{
		Algorithm: a,
		Type:      "string",
		ArgNames:  limitAndWindow,
		Valid: func(v *Value) bool {
			if len(v.Head) < logHead {
				return false
			}
			ring, tick := number(v.Head[4:6]), logTick(v)
			return tick > 0 && tick <= anyMS/logTicks+1 && (ring == 0 || ring == 120 || ring == 504 || ring == logRing)
		},
		Args: func(v *Value) []int64 { return []int64{anyLog, logTick(v) * logTicks} },
		MaxTTL: func(v *Value, p *limit.Params) int64 {
			window := logTick(v) * logTicks
			if p != nil {
				window = max(window, p.WindowMS)
			}
			return window + window/logTicks + window/8 + 10_000 + skewMS
		},
		Newest: func(v *Value) int64 {
			// A stamp is the end of its tick.
			return (number(v.Head[17:23]) - 1) * logTick(v)
		},
		Bytes: func(p *limit.Params) int64 {
			// A bucket is a tick with hits: as many as the limit has, or ticks.
			n := min(p.Limit, logTicks+2)
			if n > 26 {
				for _, ring := range []int64{120, 504, logRing} {
					if n <= ring {
						n = ring
						break
					}
				}
			}
			return text(logHead + logBucket*n)
		},
	})
}

func logTick(v *Value) int64 { return number(v.Head[:4]) }
