package limit

import "errors"

// Pool is the algorithm of a degraded limit: so many units, allotted in advance,
// are spent until a deadline, and the limit's own counter isn't touched
// meanwhile. It takes the place of that counter in a call. An operator asks for
// it at run time, so it isn't among Algorithms.
//
// Its arguments are the units and the deadline, in ms since the epoch. A later
// deadline than the stored one opens a new pool; an earlier one goes on with what
// is stored, so that gateways that hear of a change one after the other never
// open one twice.
var Pool = &Algorithm{
	Name:   "pool",
	Script: "pool",
	Suffix: "pool1",
	Code:   10,
	share:  poolShare,
	NArgs:  2,
	Args: func(dst []int64, p *Params, _ Micros) []int64 {
		return append(dst, p.Limit, p.UntilMS)
	},
	New:   func(p Params) Model { return &pool{p: p} },
	Check: checkPool,
	// A pool has no window.
	Quota: func(p *Params) (units, windowMS int64) { return p.Limit, 0 },
	Doc:   "so many units until a deadline, for a limit that an operator degraded",
}

// MaxUntilMS is the last deadline of a pool: the last clock that scripts take.
const MaxUntilMS = 1 << 52 / 1000

func checkPool(p *Params) error {
	if p.Limit < 0 || p.Limit >= maxExact {
		return errors.New("a pool has 0 to 2^53 - 1 units")
	}
	if p.UntilMS < 1 || p.UntilMS > MaxUntilMS {
		return errors.New("a pool needs the time of its end")
	}
	return nil
}

// pool is what pool.lua stores: the end of the pool that is open, ms, and what
// was spent of it.
type pool struct {
	p           Params
	till, spent int64
}

// poolView is the pool as it is now; only a charge stores it.
type poolView struct {
	pool
	left int64 // ms until the deadline; 0 when it is over
}

func (l *pool) open(now Micros) poolView {
	ms := floorDiv(now, 1000)
	v := poolView{pool: *l, left: max(l.p.UntilMS-ms, 0)}
	if l.till <= ms || l.till < l.p.UntilMS {
		v.till, v.spent = l.p.UntilMS, 0
	}
	return v
}

func (v *poolView) decide(cost int64) Decision {
	if v.left == 0 {
		return Decision{RetryAfterMS: 1}
	}
	d := Decision{Current: v.spent, Remaining: max(v.p.Limit-v.spent, 0)}
	if v.spent > 0 {
		d.ResetMS = v.left
	}
	if v.spent+max(cost, 1) <= v.p.Limit {
		d.Admitted = true
	} else {
		d.RetryAfterMS = v.left // the limit's own counter then decides
	}
	return d
}

func (l *pool) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	return v.decide(cost)
}

func (l *pool) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(cost)
	if v.left == 0 {
		return d
	}
	v.spent = min(v.spent+cost, maxExact-1)
	*l = v.pool
	return after(d, v.decide(cost))
}

func (l *pool) Give(now Micros, n int64) Decision {
	v := l.open(now)
	if v.left > 0 && v.spent > 0 && n > 0 {
		v.spent = max(v.spent-n, 0)
		*l = v.pool
	}
	return v.decide(0).admitted()
}

// Refuse leaves the pool as it is: it has no window to keep full.
func (l *pool) Refuse(now Micros, cost int64) Decision { return l.Look(now, cost) }

func (l *pool) Change(p Params) { l.p = p }
