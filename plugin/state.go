package plugin

import (
	"sluice/internal/engine"
	"sluice/redisproto"
)

// record leaves the decision in filter state, where access logs read it as
// %FILTER_STATE(wasm.sluice.decision:PLAIN)% and so on.
func (r *request) record() {
	h := r.w.host
	d := &r.decision
	h.SetProperty("sluice.decision", outcomeText[d.Verdict.Outcome])
	if l := r.limitName(); l != "" {
		h.SetProperty("sluice.limit", r.w.scratch(l))
	}
	if d.Verdict.Mode != engine.ModeNone {
		h.SetProperty("sluice.mode", r.w.scratch(modeName(r.w.mode(d))))
	}
	if o := d.Plan.Override; o != nil {
		h.SetProperty("sluice.override", r.w.scratch(o.Entry.Kind.String()))
	}
	if d.Verdict.Mode == engine.ModeRedis {
		r.w.text = redisproto.AppendDecimal(r.w.text[:0], r.redisUS)
		h.SetProperty("sluice.redis_us", r.w.text)
	}
}

// scratch is s as bytes, valid until scratch or text is used again.
func (w *worker) scratch(s string) []byte {
	w.text = append(w.text[:0], s...)
	return w.text
}

var outcomeText = [...][]byte{
	engine.Admitted:     []byte("admitted"),
	engine.Rejected:     []byte("rejected"),
	engine.FailedOpen:   []byte("failed_open"),
	engine.FailedClosed: []byte("failed_closed"),
	engine.MissingKey:   []byte("missing_key"),
}

// limitName is the limit that the decision is about; "" for none.
func (r *request) limitName() string {
	d := &r.decision
	if d.Plan.Missing != nil {
		return d.Plan.Missing.Name
	}
	if d.Verdict.Closest >= 0 {
		return d.Plan.Charges[d.Verdict.Closest].Limit.Name
	}
	return ""
}
