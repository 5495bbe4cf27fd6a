package limit

import (
	"errors"
	"math"
)

const maxLevel = 1 << 52 // the highest level of a bucket

// scale says how a bucket counts without rounding: a unit of cost raises the
// level by unit, and it falls by leak every res us. A microsecond is the finest
// res; where the numbers would pass 2^52, it is a millisecond.
func scale(p *Params, capacity int64) (unit, leak, res int64, err error) {
	if p.Limit == 0 {
		return 1, 1, 1, nil // nothing fits, so the speed doesn't matter
	}
	for _, res = range [...]int64{1, 1000} {
		window := p.WindowMS * 1000 / res
		g := gcd(window, p.Limit)
		unit, leak = window/g, p.Limit/g
		if capacity <= maxLevel/unit && p.WaitMS*1000/res <= (maxLevel-unit)/leak {
			return unit, leak, res, nil
		}
	}
	return unit, leak, res, errors.New("the burst or the max_wait is too large to count exactly at this rate: make it smaller, or the rate a rounder number")
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// capacity is the burst, by default the limit; nothing fits at a limit of 0.
func capacity(p *Params) int64 {
	if p.Burst == 0 || p.Limit == 0 {
		return p.Limit
	}
	return p.Burst
}

func checkBucket(p *Params) error {
	if err := checkRate(p); err != nil {
		return err
	}
	if p.Burst < 0 || p.Burst > maxExact {
		return errors.New("the burst must be from 0 to 2^53")
	}
	_, _, _, err := scale(p, capacity(p))
	return err
}

// bucket is what bucket.lua stores.
type bucket struct {
	p     Params
	level int64 // at tick at
	at    int64
	unit  int64
	leak  int64
	res   int64
}

type bucketView struct {
	bucket
	capacity int64
	wait     int64 // a queue: the level up to which a request is admitted; else -1
	bounded  bool  // a queue that also has a capacity
	brim     int64
	dirty    bool
}

func (l *bucket) open(now Micros) bucketView {
	v := bucketView{bucket: *l, capacity: capacity(&l.p), wait: -1}
	v.unit, v.leak, v.res, _ = scale(&l.p, v.capacity)
	v.brim = v.capacity * v.unit
	if v.p.WaitMS > 0 {
		v.wait = v.p.WaitMS * 1000 / v.res * v.leak
		v.bounded = v.p.Burst > 0
		if brim := v.wait + v.unit; !v.bounded || brim < v.brim {
			v.brim = brim
		}
	}
	v.at, v.level = ceilDiv(now, v.res), 0
	if l.level == 0 {
		return v
	}
	at, level := floorDiv(now, l.res), l.level
	switch {
	case at >= l.at:
		level = leaked(level, at-l.at, l.leak)
	case ceilDiv(l.at*l.res, 1000)-floorDiv(now, 1000) <= skewMS:
		at = l.at // time stands still
	default:
		v.dirty = true
	}
	if level > 0 && (l.unit != v.unit || l.leak != v.leak || l.res != v.res) {
		level = int64(min(math.Ceil(float64(level)*float64(v.unit)/float64(l.unit)), maxLevel))
		from := ceilDiv(at*l.res, v.res)
		at = max(floorDiv(now, v.res), from)
		level = leaked(level, at-from, v.leak)
		v.dirty = true
	}
	if level == 0 {
		v.dirty = false
		return v
	}
	v.at, v.level = at, level
	return v
}

// leaked is what is left of a level after some ticks.
func leaked(level, ticks, leak int64) int64 {
	if ticks >= ceilDiv(level, leak) {
		return 0
	}
	return level - ticks*leak
}

func (l *bucket) Look(now Micros, cost int64) Decision {
	v := l.open(now)
	if v.dirty {
		*l = v.bucket
	}
	return v.decide(now, cost)
}

func (l *bucket) Take(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	v.level += min(cost, (maxLevel-v.level)/v.unit) * v.unit
	*l = v.bucket
	return after(d, v.decide(now, cost))
}

func (l *bucket) Refuse(now Micros, cost int64) Decision {
	v := l.open(now)
	d := v.decide(now, cost)
	v.level = max(v.level, v.brim)
	*l = v.bucket
	return after(d, v.decide(now, cost))
}

func (l *bucket) Give(now Micros, n int64) Decision {
	v := l.open(now)
	if v.level > 0 && (n > 0 || v.dirty) {
		v.level = max(v.level-min(n, maxLevel/v.unit+1)*v.unit, 0)
		*l = v.bucket
	}
	return v.decide(now, 0).admitted()
}

func (l *bucket) Change(p Params) { l.p = p }

// fall is how long the level takes to fall to target, ms rounded up.
func (v *bucketView) fall(now Micros, target int64) int64 {
	tick := v.at + ceilDiv(v.level-target, v.leak)
	return max(ceilDiv(tick*v.res-now, 1000), 0)
}

func (v *bucketView) decide(now Micros, cost int64) Decision {
	d := Decision{Current: ceilDiv(v.level, v.unit)}
	units := max(cost, 1)
	d.Remaining = max(v.capacity-d.Current, 0)
	fits := units <= v.capacity
	var room, target int64 // the levels at which it fits, and at which more is free
	if fits {
		room = (v.capacity - units) * v.unit
	}
	if v.wait < 0 {
		target = (v.capacity - d.Remaining - 1) * v.unit
	} else {
		slots := int64(0)
		if v.level <= v.wait {
			slots = (v.wait-v.level)/v.unit + 1
		}
		if v.bounded {
			slots = min(slots, d.Remaining)
			target = min(v.wait-slots*v.unit, (v.capacity-slots-1)*v.unit)
			room = min(room, v.wait)
		} else {
			target, room = v.wait-slots*v.unit, v.wait
		}
		d.Remaining = slots
	}
	if v.level > 0 {
		d.ResetMS = v.fall(now, max(target, 0))
	}
	switch d.Admitted = fits && v.level <= room; {
	case d.Admitted && v.wait >= 0 && cost > 0 && v.level > 0:
		d.RetryAfterMS = v.fall(now, 0)
	case d.Admitted:
	case fits:
		d.RetryAfterMS = v.fall(now, room)
	default:
		d.RetryAfterMS = Never
	}
	return d
}

// bucketQuota is a bucket as a quota: its capacity, in the time that it takes to
// fill.
func bucketQuota(p *Params) (units, windowMS int64) {
	if p.Burst <= 0 || p.Burst == p.Limit || p.Limit <= 0 {
		return p.Limit, p.WindowMS
	}
	window := math.Ceil(float64(p.Burst) * float64(p.WindowMS) / float64(p.Limit))
	return p.Burst, int64(min(window, maxExact))
}
