package engine

import "sluice/internal/limit"

// A lease is a call for more requests than are there: those that come until it is
// over, and ask for the same, are admitted without a call. Redis has charged each
// of them in every counter that it meets, so what holds for a call of one's own
// holds for them, too; see config.Rate.Enforced for the time between.

// Leasable reports whether the request may use what a lease took: each of its
// charges is of a limit with hot.lease, and it may share a call.
func (d *Decision) Leasable() bool {
	for i := range d.Plan.Charges {
		if c := &d.Plan.Charges[i]; c.Rate.LeaseUnits == 0 || c.Local {
			return false
		}
	}
	return len(d.Plan.Charges) > 0 && d.Batchable()
}

// LeaseUS is how long what a lease for such requests took may be used, and
// LeaseMost how many of them one lease may be for.
func (d *Decision) LeaseUS() int64 {
	us := int64(0)
	for i := range d.Plan.Charges {
		if h := d.Plan.Charges[i].Limit.Hot; us == 0 || h.LeaseUS < us {
			us = h.LeaseUS
		}
	}
	return us
}

// LeaseMost: see LeaseUS.
func (d *Decision) LeaseMost() int64 {
	most := int64(d.MaxBatch())
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		most = min(most, c.Rate.LeaseUnits/max(c.Cost, 1))
	}
	return most
}

// Lease makes d a copy of another decision that is ready to be sent, for
// Ask and ReplyBatch.
func (d *Decision) Lease(from *Decision) {
	d.become(from)
	for i := range from.Plan.Charges {
		d.Plan.take(&from.Plan, i)
	}
}

// EndsIn is how long after the call that took it what a lease took may be used,
// as far as its counters' periods tell, microseconds; see config.Rate.Enforced.
func (d *Decision) EndsIn() int64 {
	us := d.LeaseUS()
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if a := c.Limit.Algorithm; a == limit.FixedWindow || a == limit.CalendarQuota {
			us = min(us, max(c.Result.ResetMS-1, 0)*1000)
		}
	}
	return us
}

// Use admits the request by the i-th of n that a lease was for; passed is how long
// ago its call went out, microseconds.
func (d *Decision) Use(lease *Decision, i, n int, passed int64) {
	d.Share(lease, i, n)
	d.Verdict.Mode = ModeLease
	d.Verdict.AtUS += passed
	for j := range d.Plan.Charges {
		r := &d.Plan.Charges[j].Result
		r.ResetMS = max(r.ResetMS-passed/1000, 1)
	}
}

// Return makes the call that returns what the last n requests of a lease would
// have used; Send when there is something to return. Call it once.
func (d *Decision) Return(n int) Step {
	if n == 0 {
		return Decide
	}
	d.scale(int64(n))
	return d.Undo()
}

// Exhaust makes what a lease was told a rejection of further requests like d: it
// took the last that there was. False when it didn't, or when how long to wait
// isn't known.
func (d *Decision) Exhaust() bool {
	full := false
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		c.Result.Admitted = c.Result.Remaining >= c.Cost
		if c.Result.Admitted {
			continue
		}
		if c.Cost != 1 || c.Result.ResetMS <= 0 {
			return false
		}
		full = true
		// Until more than nothing is free.
		c.Result.RetryAfterMS = c.Result.ResetMS
	}
	if full {
		d.Verdict.Outcome = Rejected
		d.Verdict.Closest, d.Verdict.RetryAfterMS = violated(&d.Plan)
	}
	return full
}
