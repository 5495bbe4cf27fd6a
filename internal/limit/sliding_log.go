package limit

import "errors"

// The bounds that the scripts share; doubles hold whole numbers up to 2^53.
const (
	maxExact    = 1 << 53
	maxBucket   = 1<<48 - 1 // a compact log's bucket
	maxWindowMS = 1 << 41   // 69 years
	skewMS      = 3000      // a clock that steps back further moves its log along
	holdS       = 60        // seconds between two changes of a tick to a shorter one
)

// SlidingLog is the exact log in one small string: its stamps are rounded up to
// the end of their tick, so that it never admits more than the limit in any
// window, to the microsecond, and gives capacity back at most one tick late.
var SlidingLog = &Algorithm{
	Name:    "sliding_log",
	Storage: "compact",
	Script:  "sliding_log",
	Suffix:  "log1",
	Code:    1,
	share:   logShare,
	Args:    limitAndWindow,
	NArgs:   2,
	New:     func(p Params) Model { return &compactLog{p: p} },
	Check: func(p *Params) error {
		if p.Limit > maxBucket {
			return errors.New("a sliding_log counts to 2^48 - 1")
		}
		return checkRate(p)
	},
	Doc: "never more than N in any trailing window, to the microsecond; capacity returns within 0.1 % of the window; at most 10 kB a key",
}

func limitAndWindow(dst []int64, p *Params, _ Micros) []int64 {
	return append(dst, p.Limit, p.WindowMS)
}

func checkRate(p *Params) error {
	switch {
	case p.Limit < 0 || p.Limit > maxExact:
		return errors.New("the limit must be from 0 to 2^53")
	case p.WindowMS < 1 || p.WindowMS > maxWindowMS:
		return errors.New("the window must be from 1 ms to 2^41 ms (69 years)")
	}
	return nil
}

// compactLog is what sliding_log.lua stores.
type compactLog struct {
	p       Params
	tick    int64 // ms
	since   int64 // s, when tick last changed; 0 = never
	last    int64 // the newest stamp, ticks
	buckets []hits
	total   int64
}

// hits are units that were charged together.
type hits struct {
	stamp int64  // when they count as charged, in the log's ticks
	at    Micros // when they were charged; not in a compact log
	n     int64
}

// compactView is a log as one call sees it: what expired is gone. The log
// itself changes only when the call stores it.
type compactView struct {
	compactLog
	at    int64 // the stamp of a hit now
	dirty bool  // to be stored even when nothing is charged
}

func (l *compactLog) open(now Micros) compactView {
	v := compactView{compactLog: *l}
	want := ceilDiv(v.p.WindowMS, 1000)
	if v.total == 0 {
		v.clear(want)
		v.at = ceilDiv(now, want*1000)
		return v
	}
	ms := floorDiv(now, 1000)
	v.at = ceilDiv(now, v.tick*1000)
	from, back := ms, false // the time that expiry goes by
	if v.at < v.last {
		if newest := (v.last - 1) * v.tick; newest-ms <= skewMS {
			v.at, from, back = v.last, newest, true
		} else {
			v.shift(v.at - v.last)
			v.dirty = true
		}
	}
	if !back && (v.tick < want || v.tick > want && abs(ms/1000-v.since) >= holdS) {
		v.at = ceilDiv(now, want*1000)
		v.retick(want, min(v.at, ceilDiv(v.last*v.tick, want)))
		v.since = ms / 1000
		v.expire(floorDiv(ms-v.p.WindowMS, want), want)
		v.dirty = true
		return v
	}
	if v.expire(floorDiv(from-v.p.WindowMS, v.tick), want) {
		v.at = ceilDiv(now, want*1000)
	}
	return v
}

func (l *compactLog) clear(tick int64) {
	*l = compactLog{p: l.p, tick: tick}
}

// expire drops the stamps up to cut; when all are gone it says so, and the tick
// is the one wanted.
func (l *compactLog) expire(cut, want int64) bool {
	i := 0
	for i < len(l.buckets) && l.buckets[i].stamp <= cut {
		l.total -= l.buckets[i].n
		i++
	}
	l.buckets = l.buckets[i:]
	if len(l.buckets) == 0 {
		l.clear(want)
		return true
	}
	return false
}

func (l *compactLog) shift(by int64) {
	moved := make([]hits, len(l.buckets))
	for i, b := range l.buckets {
		b.stamp += by
		moved[i] = b
	}
	l.buckets = moved
	l.last += by
}

func (l *compactLog) retick(tick, top int64) {
	var merged []hits
	for _, b := range l.buckets {
		b.stamp = min(top, ceilDiv(b.stamp*l.tick, tick))
		if k := len(merged) - 1; k >= 0 && merged[k].stamp == b.stamp {
			merged[k].n = min(maxBucket, merged[k].n+b.n)
		} else {
			merged = append(merged, b)
		}
	}
	l.buckets, l.tick, l.last, l.total = merged, tick, top, 0
	for _, b := range merged {
		l.total += b.n
	}
}

func (l *compactLog) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	if v.dirty {
		*l = v.compactLog
	}
	return v.decide(now, cost)
}

func (l *compactLog) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	k := len(v.buckets) - 1
	if k < 0 || v.buckets[k].stamp != v.at {
		v.buckets = append(v.buckets, hits{stamp: v.at})
		v.last = v.at
		k++
	}
	n := min(cost, maxBucket-v.buckets[k].n, maxExact-1-v.total)
	v.buckets[k].n += n
	v.total += n
	*l = v.compactLog
	return after(d, v.decide(now, cost))
}

func (l *compactLog) Give(now Micros, n int64) Decision {
	v := l.open(now)
	n = min(n, v.total)
	if n > 0 || v.dirty {
		v.buckets = giveBack(v.buckets, n)
		v.total -= n
		if k := len(v.buckets); k > 0 {
			v.last = v.buckets[k-1].stamp
		}
		*l = v.compactLog
	}
	return v.decide(now, 0).admitted()
}

func (l *compactLog) Refuse(now Micros, cost int64) Decision { return l.Take(now, cost) }

func (l *compactLog) Change(p Params) { l.p = p }

func (v *compactView) decide(now Micros, cost int64) Decision {
	return decideLog(v.p.Limit, v.total, cost, func(units int64) int64 {
		for _, b := range v.buckets {
			if units -= b.n; units <= 0 {
				return b.stamp*v.tick + v.p.WindowMS - floorDiv(now, 1000)
			}
		}
		return 0
	})
}
