package limit

import (
	"errors"
)

const maxExtra = 1 << 52 // what all costs above 1 in one zset log add up to

// SlidingLogZset is the exact log with one sorted-set member a hit, for audit:
// stamps are rounded up to the millisecond. It takes about 100 bytes a hit.
var SlidingLogZset = &Algorithm{
	Name:    "sliding_log",
	Storage: "zset",
	Script:  "sliding_log_zset",
	Suffix:  "zlog1",
	Code:    2,
	share:   logShare,
	PerHit:  true,
	Args:    limitAndWindow,
	NArgs:   2,
	New:     func(p Params) Model { return &zsetLog{p: p} },
	Check: func(p *Params) error {
		if p.Limit > maxExtra {
			return errors.New("a sliding_log in a zset counts to 2^52")
		}
		return checkRate(p)
	},
	Doc: "never more than N in any trailing window, to the microsecond; one readable member a hit, about 100 bytes each",
}

// zsetLog is what sliding_log_zset.lua stores.
type zsetLog struct {
	p       Params
	members []hits // by stamp (ms), then by time
	shift   int64  // ms by which stamps are ahead of the clock
	total   int64
}

type zsetView struct {
	zsetLog
	at    int64 // the stamp of a hit now
	dirty bool
}

func (l *zsetLog) open(now Micros) zsetView {
	v := zsetView{zsetLog: *l, at: ceilDiv(now, 1000) + l.shift}
	if len(v.members) == 0 {
		return v
	}
	cut := floorDiv(now, 1000) - v.p.WindowMS + v.shift
	if newest := v.members[len(v.members)-1].stamp; v.at < newest {
		step := newest - v.at
		if newest-1-v.shift-floorDiv(now, 1000) <= skewMS {
			cut = newest - 1 - v.p.WindowMS
		} else {
			v.shift += step
			cut += step
			v.dirty = true
		}
		v.at = newest
	}
	i := 0
	for i < len(v.members) && v.members[i].stamp <= cut {
		v.total -= v.members[i].n
		i++
	}
	v.members = v.members[i:]
	return v
}

func (l *zsetLog) store(v *zsetView) {
	*l = v.zsetLog
	if len(l.members) == 0 {
		l.shift = 0
	}
}

func (l *zsetLog) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	if v.dirty {
		l.store(&v)
	}
	return d
}

func (l *zsetLog) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	if len(v.members) >= int(max(v.p.Limit, 1)) {
		// Over the limit: the log doesn't grow above it, the oldest hit makes room.
		v.total -= v.members[0].n
		v.members = v.members[1:]
	}
	n := max(min(cost, maxExtra-(v.total-int64(len(v.members)))), 1)
	h := hits{stamp: v.at, at: now, n: n}
	i := len(v.members)
	for i > 0 && v.members[i-1].stamp == h.stamp && v.members[i-1].at > h.at {
		i--
	}
	v.members = insert(v.members, i, h)
	v.total += n
	l.store(&v)
	return after(d, v.decide(now, cost))
}

func (l *zsetLog) Give(now Micros, n int64) Decision {
	v := l.open(now)
	n = min(n, v.total)
	if n > 0 || v.dirty {
		v.members = giveBack(v.members, n)
		v.total -= n
		l.store(&v)
	}
	return v.decide(now, 0).admitted()
}

func (l *zsetLog) Refuse(now Micros, cost int64) Decision { return l.Take(now, cost) }

func (l *zsetLog) Change(p Params) { l.p = p }

func (v *zsetView) decide(now Micros, cost int64) Decision {
	return decideLog(v.p.Limit, v.total, cost, func(units int64) int64 {
		for _, h := range v.members {
			if units -= h.n; units <= 0 {
				return h.stamp + v.p.WindowMS - floorDiv(now, 1000) - v.shift
			}
		}
		return 0
	})
}
