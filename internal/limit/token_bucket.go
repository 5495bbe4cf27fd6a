package limit

// TokenBucket holds Burst tokens, full at first, and gains Limit of them per
// window, steadily.
var TokenBucket = &Algorithm{
	Name:    "token_bucket",
	Script:  "token_bucket",
	Suffix:  "tok1",
	Code:    6,
	share:   meterShare,
	Options: []string{"burst"},
	Args:    bucketArgs,
	NArgs:   4,
	New:     func(p Params) Model { p.WaitMS = 0; return &bucket{p: p} },
	Check:   checkBucket,
	Quota:   bucketQuota,
	Doc:     "never more than burst + rate × t in any time t; a burst at once, then a steady rate",
}

func bucketArgs(dst []int64, p *Params, _ Micros) []int64 {
	c := capacity(p)
	unit, leak, res, _ := scale(p, c)
	return append(dst, c, unit, leak, res)
}
