package advice

import (
	"math/bits"

	"sluice/internal/config"
)

func init() { register("never-binds", neverBinds) }

// neverBinds finds limits that another one always forestalls: it is for at least
// the same requests, its counters are shared by at least the same, and what it
// admits in the first one's window is no more than that one's limit.
func neverBinds(s *Subject, warn func(path, message, remedy string)) {
	for _, a := range s.Policy.Limits {
		if !binding(a) || !windowed(a.Algorithm) {
			continue
		}
		for i := range a.Rates {
			if b, r := forestalls(s.Policy, a, &a.Rates[i]); b != nil {
				warn(rateField(a, i),
					"limit "+a.Rates[i].Name+" ("+a.Rates[i].Text+") never rejects: "+r.Name+" ("+r.Text+") admits no more than that",
					"remove it, or make it smaller than what "+r.Name+" admits")
			}
		}
	}
}

// binding reports whether a limit has one fixed set of numbers for all requests.
func binding(l *config.Limit) bool {
	return enforced(l) && len(l.Overrides) == 0 && l.RateFrom == nil && l.Settle == nil &&
		l.Cost.Source == nil && !l.Cost.BodyBytes && l.Cost.Fixed > 0 && l.PenaltyUS == 0 && !l.CountRejected
}

// forestalls finds the limit and rate that keep a's rate from ever rejecting.
func forestalls(p *config.Policy, a *config.Limit, rate *config.Rate) (*config.Limit, *config.Rate) {
	for _, b := range compared(p) {
		if !binding(b) || b.Algorithm.Holds || !stricter(a, b) {
			continue
		}
		for j := range b.Rates {
			r := &b.Rates[j]
			if r == rate || r.Params.WaitMS > 0 || r.Params.Calendar != nil || !suffices(a, rate, b, r) {
				continue
			}
			// Of two that say the same, the first is the one that stays.
			later := b.Index > a.Index || b.Index == a.Index && r.ID > rate.ID
			if later && windowed(b.Algorithm) && stricter(b, a) && suffices(b, r, a, rate) {
				continue
			}
			return b, r
		}
	}
	return nil, nil
}

// stricter reports whether whatever a counts, b counts at least as much of, at a
// counter that is shared by at least the same.
func stricter(a, b *config.Limit) bool {
	return b.Cost.Fixed >= a.Cost.Fixed && covers(a, b) && coarser(a, b)
}

// suffices reports whether what b's rate admits never fills a's.
func suffices(a *config.Limit, rate *config.Rate, b *config.Limit, r *config.Rate) bool {
	x, y := &rate.Params, &r.Params
	if a.Algorithm == b.Algorithm && x.WindowMS == y.WindowMS && x.Buckets == y.Buckets && windowed(a.Algorithm) {
		return y.Limit <= x.Limit // the same windows, rounded alike
	}
	admits, ok := most(b, r, window(a, rate))
	return ok && admits <= x.Limit
}

// window is the longest time whose requests count together at a limit, ms.
func window(l *config.Limit, r *config.Rate) int64 {
	w := r.Params.WindowMS
	switch l.Algorithm.Name {
	case "sliding_counter":
		n := r.Params.Buckets
		if n == 0 {
			n = 10
		}
		w += w/n + 1
	case "sliding_log":
		w += w/1000 + 1 // a tick late
	}
	return w
}

// most is what a limit admits at most in a time, units; false when that is too
// much to say.
func most(l *config.Limit, r *config.Rate, ms int64) (int64, bool) {
	p := &r.Params
	// One part of the time that is longer than a window may hold a whole one more.
	windows := (ms + p.WindowMS - 1) / p.WindowMS
	burst := int64(0)
	switch l.Algorithm.Name {
	case "fixed_window":
		windows++
	case "sliding_counter":
		windows *= 2 // it is right to a sub-window, either way
	case "token_bucket", "leaky_bucket":
		burst = p.Burst
		if burst == 0 {
			burst = p.Limit
		}
	}
	hi, lo := bits.Mul64(uint64(windows), uint64(p.Limit))
	if hi != 0 || lo > 1<<62 || burst > 1<<61 {
		return 0, false
	}
	return int64(lo) + burst, true
}
