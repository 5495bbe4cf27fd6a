package limit

import "errors"

// LeakyBucket leaks Limit units per window, steadily. As a meter it refuses what
// doesn't fit into Burst. As a queue (WaitMS > 0) it admits what waits no longer
// than that, says how long, and so lets requests out one interval apart.
var LeakyBucket = &Algorithm{
	Name:    "leaky_bucket",
	Script:  "leaky_bucket",
	Suffix:  "leak1",
	Code:    7,
	share:   queueShare,
	Options: []string{"burst", "max_wait"},
	Args: func(dst []int64, p *Params, now Micros) []int64 {
		bounded := int64(0)
		if p.Burst > 0 {
			bounded = 1
		}
		return append(bucketArgs(dst, p, now), p.WaitMS, bounded)
	},
	NArgs: 6,
	New:   func(p Params) Model { return &bucket{p: p} },
	Check: func(p *Params) error {
		if p.WaitMS < 0 || p.WaitMS > maxWindowMS {
			return errors.New("max_wait must be from 0 to 2^41 ms")
		}
		return checkBucket(p)
	},
	Quota: bucketQuota,
	Doc:   "a constant outflow; as a meter it refuses what doesn't fit, as a queue it delays requests up to max_wait and spaces them",
}
