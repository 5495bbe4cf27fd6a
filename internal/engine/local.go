package engine

import "sluice/internal/config"

// NeedsLocal reports whether the decision failed and some limit wants its local
// share counted then. DecidedLocally must follow.
func (d *Decision) NeedsLocal() bool {
	if d.Failure == NoFailure || d.Verdict.Outcome != FailedOpen {
		return false
	}
	for i := range d.Plan.Charges {
		if d.Plan.Charges[i].Limit.OnError == config.OnErrorLocal {
			return true
		}
	}
	return false
}

// DecidedLocally takes the verdict of the gateway's own counters, whose results
// are in the charges of the limits with on_error local; the others let the
// request through. at is the gateway's time, microseconds since the epoch.
func (d *Decision) DecidedLocally(admitted bool, at int64) {
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		c.Undecided = c.Limit.OnError != config.OnErrorLocal && !c.Here()
		c.Result.Admitted = c.Result.Admitted || c.Undecided
	}
	d.Verdict = Verdict{Mode: ModeLocal, AtUS: at, Outcome: Admitted, Closest: -1}
	if !admitted {
		d.Verdict.Outcome = Rejected
		d.Verdict.Closest, d.Verdict.RetryAfterMS = violated(&d.Plan)
		return
	}
	d.Verdict.Closest = closest(&d.Plan)
	d.Verdict.DelayMS = delay(&d.Plan)
}
