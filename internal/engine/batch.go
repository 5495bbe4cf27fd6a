package engine

import (
	"bytes"

	"sluice/internal/config"
	"sluice/redisproto"
)

// Requests that ask for the same may share a call: it asks for n times the cost,
// and its answer is the same as that of n calls one right after the other. What
// doesn't fit as a whole is asked for again in smaller numbers, so nobody is
// admitted or rejected otherwise than by a call of one's own.

// Batchable reports whether the request may share a call: none of its counters
// keeps hits, holders or places of a queue apart, and none treats the rejection
// of a whole batch as an event of its own.
func (d *Decision) Batchable() bool {
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		l := c.Limit
		if c.Op != OpDecide || c.Rate.ID < 0 || l.PenaltyUS > 0 || c.Rate.Params.WaitMS > 0 ||
			l.Algorithm.Holds || l.Algorithm.PerHit || l.Hot != nil && !l.Hot.Batch {
			return false
		}
	}
	return true
}

// Signature is equal for requests that ask for the same, and rarely for others;
// see Alike.
func (d *Decision) Signature() uint64 {
	h := uint64(14695981039346656037)
	for _, b := range d.Plan.keys {
		h = (h ^ uint64(b)) * 1099511628211
	}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		h = (h ^ uint64(c.Cost)) * 1099511628211
		h = (h ^ uint64(c.Rate.ID)) * 1099511628211
	}
	return h
}

// Alike reports whether two batchable requests ask for the same.
func (d *Decision) Alike(o *Decision) bool {
	if len(d.Plan.Charges) != len(o.Plan.Charges) || !bytes.Equal(d.Plan.keys, o.Plan.keys) {
		return false
	}
	for i := range d.Plan.Charges {
		a, b := &d.Plan.Charges[i], &o.Plan.Charges[i]
		if a.Cost != b.Cost || a.Rate.ID != b.Rate.ID {
			return false
		}
	}
	return true
}

// MaxBatch is how many requests like this one a call may ask for.
func (d *Decision) MaxBatch() int {
	most := int64(1 << 16)
	for i := range d.Plan.Charges {
		most = min(most, config.MaxLimit/max(d.Plan.Charges[i].Cost, 1))
	}
	return int(most)
}

func (d *Decision) scale(n int64) {
	for i := range d.Plan.Charges {
		d.Plan.Charges[i].Cost *= n
	}
}

func (d *Decision) unscale(n int64) {
	for i := range d.Plan.Charges {
		d.Plan.Charges[i].Cost /= n
	}
}

// ReplyBatch takes the reply to the call for n requests, of which d is the
// first. It returns d's next step, and when that is Decide, how many of the n
// are admitted: n, or 0 with room for fewer.
func (d *Decision) ReplyBatch(v redisproto.Value, n int) (step Step, room int) {
	step = d.Reply(v)
	if step != Decide || d.Failure != NoFailure {
		return step, 0
	}
	if d.Verdict.Outcome == Admitted {
		return Decide, n
	}
	room = n
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if c.Cost == 0 {
			if !c.Result.Admitted {
				return Decide, 0
			}
			continue
		}
		room = min(room, int(min(c.Result.Remaining/c.Cost, int64(n))))
	}
	return Decide, min(room, n-1)
}

// Share gives d, the i-th of n requests that a call admitted or rejected
// together, its own part of what first was answered. Of admitted ones each
// leaves less than the one before it.
func (d *Decision) Share(first *Decision, i, n int) {
	d.Failure, d.FailureText = NoFailure, ""
	d.Verdict = first.Verdict
	for j := range d.Plan.Charges {
		c := &d.Plan.Charges[j]
		c.Result = first.Plan.Charges[j].Result
		if d.Verdict.Outcome == Admitted {
			after := int64(n-1-i) * c.Cost
			c.Result.Current -= after
			c.Result.Remaining += after
		}
	}
}
