package engine

import "sluice/internal/config"

// Ending is how a request ended, as far as settling asks.
type Ending interface {
	// Status is the upstream's status; false when it gave no answer: the proxy
	// answered itself, or the client left before headers.
	Status() (code int, ok bool)
	// Cost is what the request turned out to cost; false when the answer doesn't
	// say, or says no whole number.
	Cost(from *config.SettleCost) (int64, bool)
	// BodyBytes is the length of the request's body as far as it was read.
	BodyBytes() int64
}

// Settle corrects what an admitted request was charged, now that it has ended:
// what is left in the plan is one more script call. It returns Send when there
// is something to correct. Call it once, and nothing but AppendCommand and Reply
// after it.
func (d *Decision) Settle(end Ending) Step {
	p := &d.Plan
	known := (d.Verdict.Mode == ModeRedis || d.Verdict.Mode == ModeLocal) && d.Verdict.Outcome == Admitted
	left := p.Charges[:0]
	for _, c := range p.Charges {
		if !known {
			// Nothing was charged, unless a call whose reply never came was carried
			// out after all: a slot that it may hold is given back, which is nothing
			// where it holds none.
			if d.Failure == NoFailure || !c.Limit.Algorithm.Holds || c.Guards > 0 {
				continue
			}
			c.Result.Admitted = true
		}
		if !c.Result.Admitted || c.Guards > 0 || known && c.Undecided {
			continue // a shadow that had no room charged nothing, a guard never does
		}
		due := c.due(end)
		switch {
		case due > c.Cost:
			c.Op, c.Cost = OpCharge, due-c.Cost
		case due < c.Cost:
			c.Op, c.Cost = OpRefund, c.Cost-due
		default:
			continue
		}
		left = append(left, c)
	}
	p.Charges = left
	d.full, d.retries, d.corrections = false, 0, d.e.policy.Redis.Retry.Times
	if len(left) == 0 {
		return Decide
	}
	return Send
}

// due is what a charge comes to in the end, units.
func (c *Charge) due(end Ending) int64 {
	if c.Limit.Algorithm.Holds {
		return 0 // a slot that is free again
	}
	due := c.Cost
	if c.Limit.Cost.BodyBytes && c.Cost == 0 {
		due = end.BodyBytes()
	}
	s := c.Limit.Settle
	if s == nil {
		return due
	}
	code, answered := end.Status()
	if o := s.ChargeOn; o != nil {
		if !includes(o, code, answered) {
			return 0
		}
		due = max(due, 1) // with cost 0 it looked for room for 1
	}
	if o := s.RefundOn; o != nil && includes(o, code, answered) {
		return 0
	}
	if s.Cost != nil {
		if n, ok := end.Cost(s.Cost); ok {
			return n
		}
	}
	return due
}

// includes reports whether a request that ended so is in a set of endings.
func includes(o *config.Outcomes, code int, answered bool) bool {
	if !answered {
		return o.NoAnswer
	}
	return o.HasStatus(code)
}
