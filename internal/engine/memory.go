package engine

import (
	"bytes"

	"sluice/internal/limit"
)

const (
	// memorySlots is how many rejected counters are remembered; a power of two.
	memorySlots = 4096
	// memoryMaxUS bounds how long one is, so that a counter that an operator
	// lifts, or that Redis lost, is asked about again.
	memoryMaxUS = 1_000_000
	// leasePause is what part of a lease's time a full limit with leases is left
	// alone for, so that the next call finds more than a unit or two.
	leasePause = 5
)

// Memory remembers which counters Redis rejected and until when nothing can
// change that: requests that would be rejected again are answered without a
// call. It holds a fixed number of counters; a newer one takes an older one's
// place. Times are microseconds of a steady clock. It serves one policy.
type Memory struct {
	slots []remembered // nil until the first rejection
}

type remembered struct {
	key    []byte
	rate   int // Rate.ID
	cost   int64
	until  int64 // steady
	noted  int64 // steady: when the call that was rejected went out
	at     int64 // Redis's time of the decision
	result limit.Decision
}

// memorable reports whether a rejection by a charge's counter stands until the
// time that Redis said: nothing gives units back earlier, and rejected requests
// leave no trace that has to be left each time.
func (c *Charge) memorable() bool {
	l := c.Limit
	return c.Op == OpDecide && c.Guards == 0 && l.Settle == nil && !l.Algorithm.Holds &&
		l.PenaltyUS == 0 && !l.Cost.BodyBytes && c.Rate.ID >= 0
}

func memorySlot(key []byte) int {
	h := uint32(2166136261)
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	return int((h ^ h>>15) & (memorySlots - 1))
}

// find is what is known of a counter's rejecting such a charge; nil for nothing.
// A larger cost would be rejected too, but for longer than is known here.
func (m *Memory) find(key []byte, c *Charge, now int64) *remembered {
	if m == nil || m.slots == nil {
		return nil
	}
	r := &m.slots[memorySlot(key)]
	if now >= r.until || c.Cost != r.cost || c.Rate.ID != r.rate || !bytes.Equal(r.key, key) {
		return nil
	}
	return r
}

// left is what the rejection is now.
func (r *remembered) left(now int64) limit.Decision {
	passed := now - r.noted
	d := r.result
	d.ResetMS = max(d.ResetMS-passed/1000, 1)
	if d.RetryAfterMS != limit.Never {
		d.RetryAfterMS = max(d.RetryAfterMS-passed/1000, 1)
	}
	return d
}

// Recall decides the request if a counter that it meets is known to reject it.
// now is the time.
func (d *Decision) Recall(m *Memory, now int64) bool {
	if m.slots == nil {
		return false
	}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if !c.memorable() {
			continue
		}
		r := m.find(d.Plan.Key(i), c, now)
		if r == nil {
			continue
		}
		c.Result = r.left(now)
		passed := now - r.noted
		if c.Rate.Shards != nil {
			c.refused(c.Result.RetryAfterMS)
			if d.elsewhere(i, m, now) {
				continue
			}
			c.Result.RetryAfterMS = c.waitMS
		}
		d.Verdict = Verdict{
			Outcome: Rejected, Mode: ModeMemory, AtUS: r.at + passed,
			Closest: i, RetryAfterMS: c.Result.RetryAfterMS,
		}
		return true
	}
	return false
}

// Remember notes what Redis rejected. sent is when the call went out: Redis's
// time began to run no earlier.
func (d *Decision) Remember(m *Memory, sent int64) {
	if d.Verdict.Outcome != Rejected || d.Verdict.Mode != ModeRedis {
		return
	}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if c.Result.Admitted || !c.memorable() {
			continue
		}
		wait := c.Result.RetryAfterMS * 1000
		if c.Result.RetryAfterMS == limit.Never || wait > memoryMaxUS {
			wait = memoryMaxUS
		}
		if c.Rate.LeaseUnits > 0 {
			wait = max(wait, c.Limit.Hot.LeaseUS/leasePause)
		}
		if m.slots == nil {
			m.slots = make([]remembered, memorySlots)
		}
		key := d.Plan.Key(i)
		r := &m.slots[memorySlot(key)]
		*r = remembered{
			key: append(r.key[:0], key...), rate: c.Rate.ID, cost: c.Cost, until: sent + wait,
			noted: sent, at: d.Verdict.AtUS, result: c.Result,
		}
	}
}
