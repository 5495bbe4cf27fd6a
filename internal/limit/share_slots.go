package limit

import (
	"sort"
)

// slots counts what is held by when it stops counting at the latest: Holders
// without their ids.
type slots struct {
	limit int64
	hold  int64  // ms
	held  []hits // stamp = the end of the hold, ms
	total int64
}

// open drops what is over and reports whether something was moved, as after a
// step of the clock.
func (l *slots) open(now Micros) (moved bool) {
	ms, last := floorDiv(now, 1000), ceilDiv(now, 1000)+l.hold
	left := l.held[:0]
	l.total = 0
	for _, h := range l.held {
		if h.stamp <= ms {
			continue
		}
		if h.stamp > last+skewMS {
			h.stamp, moved = last, true
		}
		left = append(left, h)
		l.total += h.n
	}
	l.held = left
	if moved {
		sort.Stable(byStamp(left))
	}
	return moved
}

type byStamp []hits

func (l byStamp) Len() int           { return len(l) }
func (l byStamp) Less(i, j int) bool { return l[i].stamp < l[j].stamp }
func (l byStamp) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

func (l *slots) decide(now Micros, cost int64) Decision {
	return decideLog(l.limit, l.total, cost, func(units int64) int64 {
		for _, h := range l.held {
			if units -= h.n; units <= 0 {
				return h.stamp - floorDiv(now, 1000)
			}
		}
		return 0
	})
}

func (l *slots) take(now Micros, cost int64) Decision {
	l.open(now)
	d := l.decide(now, cost)
	n := min(cost, maxExact-1-l.total)
	if n <= 0 {
		return d
	}
	till := ceilDiv(now, 1000) + l.hold
	i := len(l.held)
	for i > 0 && l.held[i-1].stamp > till {
		i--
	}
	if i > 0 && l.held[i-1].stamp == till {
		l.held[i-1].n += n
	} else {
		l.held = insert(l.held, i, hits{stamp: till, n: n})
	}
	l.total += n
	l.held = squeeze(l.held, ceilDiv(l.hold+1, maxPairs-1))
	return after(d, l.decide(now, cost))
}

// give releases n units that are held since then.
func (l *slots) give(now, since Micros, n int64) {
	l.open(now)
	till := ceilDiv(since, 1000) + l.hold
	if till <= floorDiv(now, 1000) {
		return // its time is over
	}
	left, taken := takeFrom(l.held, till, n)
	l.held, l.total = left, l.total-taken
}
