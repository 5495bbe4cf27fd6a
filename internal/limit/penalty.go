package limit

// Penalty is the algorithm of the guard that stands beside a limit with a
// penalty: a counter of its own, one more key in the same script call, asked
// with the limit's own op (0 or 1) and cost 0. Its arguments are the penalty's
// length in ms (Params.WindowMS) and the place of the limit's counter among the
// call's KEYS, from 1 (PenaltyArgs). It isn't an algorithm that a configuration
// names, so it isn't among Algorithms.
var Penalty = &Algorithm{
	Name:   "penalty",
	Script: "penalty",
	Suffix: "pen1",
	Code:   9,
	share:  penaltyShare,
	NArgs:  2,
	Args: func(dst []int64, p *Params, _ Micros) []int64 {
		return PenaltyArgs(dst, p.WindowMS, p.Limit)
	},
	New: func(p Params) Model { return &penalty{p: p} },
	Check: func(p *Params) error {
		return checkRate(&Params{Limit: 1, WindowMS: p.WindowMS})
	},
	Doc: "once its limit has refused, refuses for a time",
}

// PenaltyArgs appends what the penalty's script reads: its length in ms, and the
// place in KEYS, from 1, of the counter that it guards.
func PenaltyArgs(dst []int64, lengthMS, guarded int64) []int64 {
	return append(dst, lengthMS, guarded)
}

// penalty is what penalty.lua stores. Take starts it, Give ends it. A caller
// Takes when the guarded counter refused and Look admitted.
type penalty struct {
	p    Params
	till int64 // ms
}

func (l *penalty) Look(now Micros, _ int64) Decision {
	ms, last := floorDiv(now, 1000), ceilDiv(now, 1000)+l.p.WindowMS
	if l.till > ms+l.p.WindowMS+skewMS {
		l.till = last // the clock stepped back, or the penalty was made shorter
	}
	if l.till <= ms {
		return Decision{Admitted: true, Remaining: 1}
	}
	return Decision{Current: 1, ResetMS: l.till - ms, RetryAfterMS: l.till - ms}
}

func (l *penalty) Take(now Micros, _ int64) Decision {
	l.till = ceilDiv(now, 1000) + l.p.WindowMS
	return l.Look(now, 0)
}

func (l *penalty) Give(now Micros, n int64) Decision {
	if n > 0 {
		l.till = 0
	}
	return l.Look(now, 0).admitted()
}

func (l *penalty) Refuse(now Micros, cost int64) Decision { return l.Look(now, cost) }

func (l *penalty) Change(p Params) { l.p = p }
