package limit

import "errors"

const (
	maxSub   = 1 << 40 // the most that a sub-window counts
	subSteps = 4096    // about how finely the window's edge divides a sub-window
)

// SlidingCounter counts in sub-windows; the one that the window's edge cuts
// counts by the part that is still inside. It acts as an exact window whose
// length is right to one sub-window, WindowMS/Buckets.
var SlidingCounter = &Algorithm{
	Name:    "sliding_counter",
	Script:  "sliding_counter",
	Suffix:  "sub1",
	Code:    3,
	share:   logShare,
	Options: []string{"buckets"},
	Args: func(dst []int64, p *Params, _ Micros) []int64 {
		return append(dst, p.Limit, p.WindowMS, buckets(p))
	},
	NArgs: 3,
	New:   func(p Params) Model { return &subCounter{p: p} },
	Check: func(p *Params) error {
		switch {
		case p.Limit > maxSub:
			return errors.New("a sliding_counter counts to 2^40")
		case p.Buckets < 0 || p.Buckets > 100:
			return errors.New("buckets must be from 1 to 100")
		}
		return checkRate(p)
	},
	Doc: "as an exact window whose length is right to one of its sub-windows; a few numbers a key",
}

func buckets(p *Params) int64 {
	if p.Buckets == 0 {
		return 10
	}
	return p.Buckets
}

// subCounter is what sliding_counter.lua stores. Times are in us.
type subCounter struct {
	p         Params
	len, unit int64   // of a sub-window, and of the steps that divide it
	since     int64   // s, when len last changed; 0 = never
	newest    int64   // the newest sub-window's number
	counts    []int64 // newest first
}

type subView struct {
	subCounter
	time  int64 // the time that it goes by
	edge  int64 // the sub-window that the window's edge cuts
	part  int64 // how many steps of it are in the window
	total int64
	dirty bool
}

func (l *subCounter) open(now Micros) subView {
	v := subView{subCounter: *l, time: now}
	span := l.p.WindowMS * 1000
	n := buckets(&l.p)
	unit := ceilDiv(span, n*subSteps)
	length := ceilDiv(span, n*unit) * unit
	if len(v.counts) == 0 {
		v.len, v.unit, v.since = length, unit, 0
		v.place()
		return v
	}
	back := false
	if v.newest*v.len > now {
		if back = v.newest*v.len-now <= skewMS*1000; back {
			v.time = v.newest * v.len
		} else {
			v.newest = floorDiv(now, v.len)
			v.dirty = true
		}
	}
	s := floorDiv(now, 1_000_000)
	if !back && (v.len < length || v.len > length && abs(s-v.since) >= holdS) {
		v.resize(now, length, n)
		v.unit, v.since, v.dirty = unit, s, true
	}
	v.place()
	v.counts = append([]int64(nil), v.counts[:min(int64(len(v.counts)), max(v.newest-v.edge+1, 0))]...)
	v.tally()
	if v.total == 0 {
		v = subView{subCounter: subCounter{p: l.p, len: length, unit: unit}, time: now}
		v.place()
	}
	return v
}

// place finds the sub-window that the window's edge cuts, and how many of its
// steps are inside. The one that time is in counts whole, even where it is
// longer than a window made shorter.
func (v *subView) place() {
	from := v.time - v.p.WindowMS*1000
	v.edge = floorDiv(from, v.len)
	v.part = ceilDiv((v.edge+1)*v.len-from, v.unit)
	if at := floorDiv(v.time, v.len); v.edge >= at {
		v.edge, v.part = at-1, 0
	}
}

// resize moves each count to the new sub-window that its old one ends in.
func (l *subCounter) resize(now, length, n int64) {
	end := func(sub int64) int64 { return floorDiv(min((sub+1)*l.len-1, now), length) }
	top := end(l.newest)
	var moved []int64
	for i, c := range l.counts {
		age := top - end(l.newest-int64(i))
		if age > n+1 {
			break
		}
		for int64(len(moved)) <= age {
			moved = append(moved, 0)
		}
		moved[age] = min(moved[age]+c, maxSub)
	}
	l.newest, l.counts, l.len = top, moved, length
}

func (v *subView) tally() {
	v.total = 0
	for i, c := range v.counts {
		if v.newest-int64(i) == v.edge {
			c = ceilDiv(c*v.part, v.len/v.unit)
		}
		v.total += c
	}
}

func (l *subCounter) store(v *subView) {
	*l = v.subCounter
	for len(l.counts) > 0 && l.counts[len(l.counts)-1] == 0 {
		l.counts = l.counts[:len(l.counts)-1]
	}
}

func (l *subCounter) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	if v.dirty {
		l.store(&v)
	}
	return v.decide(now, cost)
}

func (l *subCounter) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	at := floorDiv(v.time, v.len)
	if len(v.counts) == 0 {
		v.counts = []int64{0}
	} else if ahead := at - v.newest; ahead > 0 {
		v.counts = append(make([]int64, ahead, ahead+int64(len(v.counts))), v.counts...)
	}
	v.newest = at
	n := min(cost, maxSub-v.counts[0])
	v.counts[0] += n
	v.total += n
	l.store(&v)
	return after(d, v.decide(now, cost))
}

func (l *subCounter) Give(now Micros, n int64) Decision {
	v := l.open(now)
	if v.total > 0 && (n > 0 || v.dirty) {
		for i, c := range v.counts {
			c = min(c, n)
			v.counts[i] -= c
			n -= c
		}
		v.tally()
		l.store(&v)
	}
	return v.decide(now, 0).admitted()
}

func (l *subCounter) Refuse(now Micros, cost int64) Decision { return l.Take(now, cost) }

func (l *subCounter) Change(p Params) { l.p = p }

func (v *subView) decide(now Micros, cost int64) Decision {
	lim := v.p.Limit
	d := Decision{Current: v.total, Remaining: max(lim-v.total, 0)}
	if v.total > 0 {
		d.ResetMS = v.falls(now, max(min(v.total, lim)-1, 0))
	}
	cost = max(cost, 1)
	switch {
	case v.total+cost <= lim:
		d.Admitted = true
	case cost > lim:
		d.RetryAfterMS = Never
	default:
		d.RetryAfterMS = v.falls(now, lim-cost)
	}
	return d
}

// falls is how long until the total is x when nothing else comes, ms rounded up.
func (v *subView) falls(now Micros, x int64) int64 {
	steps := v.len / v.unit
	count := func(sub int64) int64 {
		if i := v.newest - sub; i >= 0 && i < int64(len(v.counts)) {
			return v.counts[i]
		}
		return 0
	}
	whole := int64(0)
	for i := range v.counts {
		if v.newest-int64(i) > v.edge {
			whole += v.counts[i]
		}
	}
	for sub := max(v.edge, v.newest-int64(len(v.counts))); sub <= v.newest; sub++ {
		if whole <= x {
			p := steps
			if n := count(sub); n > 0 {
				p = min((x-whole)*steps/n, steps)
			}
			end := (sub + 1) * v.len
			return max(ceilDiv(end+max(v.p.WindowMS*1000-p*v.unit, 0)-now, 1000), 0)
		}
		whole -= count(sub + 1)
	}
	return 0
}
