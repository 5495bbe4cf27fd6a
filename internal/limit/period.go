package limit

// period counts in one period of time after the other; fixed_window and calendar
// differ only in where periods begin. It is what period.lua stores.
type period struct {
	p           Params
	bounds      func(p *Params, now Micros) (start, stop int64)
	start, stop int64 // ms; the count is of [start, stop)
	count       int64
}

type periodView struct {
	period
	dirty bool
}

func (l *period) open(now Micros) periodView {
	v := periodView{period: *l}
	ms := floorDiv(now, 1000)
	start, stop := l.bounds(&l.p, now)
	switch {
	case l.count == 0:
	case l.start == start && l.stop == stop:
	case l.start > ms && l.start-ms <= skewMS: // another clock is there already
		start, stop = l.start, l.stop
	case l.start > ms || l.stop > start:
		// The clock stepped far back, or the periods changed: all that was counted
		// may lie in this one.
		v.dirty = true
	default:
		v.count = 0
	}
	v.start, v.stop = start, stop
	return v
}

func (l *period) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	if v.dirty {
		*l = v.period
	}
	return v.decide(now, cost)
}

func (l *period) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	v.count = min(v.count+cost, maxExact-1)
	*l = v.period
	return after(d, v.decide(now, cost))
}

func (l *period) Give(now Micros, n int64) Decision {
	v := l.open(now)
	if v.count > 0 && (n > 0 || v.dirty) {
		v.count = max(v.count-n, 0)
		*l = v.period
	}
	return v.decide(now, 0).admitted()
}

func (l *period) Refuse(now Micros, cost int64) Decision { return l.Take(now, cost) }

func (l *period) Change(p Params) { l.p = p }

func (v *periodView) decide(now Micros, cost int64) Decision {
	return decideLog(v.p.Limit, v.count, cost, func(int64) int64 {
		return v.stop - floorDiv(now, 1000)
	})
}
