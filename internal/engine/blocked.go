package engine

// BlockedAt completes the rejection of a request that an override blocks (see
// Plan.Block): nowUS is Redis's time, as well as the gateway knows it,
// microseconds since the epoch. The block ends by itself, so that is how long to
// wait.
func (d *Decision) BlockedAt(nowUS int64) {
	left := max(d.Plan.Block.Entry.UntilMS-nowUS/1000, 1)
	d.Plan.Charges[0].Result.ResetMS = left
	d.Plan.Charges[0].Result.RetryAfterMS = left
	d.Verdict.AtUS, d.Verdict.RetryAfterMS = nowUS, left
}

// Exhausted reports whether a pool is what refuses the request.
func (d *Decision) Exhausted() bool {
	v := &d.Verdict
	return v.Outcome == Rejected && v.Closest >= 0 && d.Plan.Charges[v.Closest].Rate.Pool
}
