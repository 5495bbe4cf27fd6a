// Package explain says what becomes of a request: which limits it meets and
// why not the others, the keys of its counters and their rates, and the calls
// that Redis gets. It asks the engine that the plugin runs, so that the two
// can't disagree. It is for the tool only.
package explain

import (
	"strings"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/internal/override"
	"sluice/internal/source"
)

// RequestID stands in calls for the id that the plugin gives each request.
const RequestID = "request-id"

// Explanation is what becomes of a request.
type Explanation struct {
	Method string `json:"method"`
	Host   string `json:"host"`
	Path   string `json:"path"` // as limits see it
	// Client is the client's address, "" where none was found.
	Client string  `json:"client_ip,omitempty"`
	Limits []Limit `json:"limits"`
	// RefusedBy is the limit that refuses the request because its key has an
	// absent part.
	RefusedBy string `json:"refused_by,omitempty"`
	// BlockedBy is the limit whose override at run time blocks the request.
	BlockedBy string `json:"blocked_by,omitempty"`
	// Calls are the calls that Redis gets, at once: one, or one for each hash slot
	// of a cluster that the request has counters in; none where Redis isn't asked.
	Calls []*Call `json:"calls,omitempty"`
	Live  *Live   `json:"live,omitempty"`

	decision *engine.Decision
	split    *engine.Split // nil for a request that one call decides
	engine   *engine.Engine
	nowUS    int64
}

// Limit is one limit's word on the request.
type Limit struct {
	Name    string `json:"name"`
	Applies bool   `json:"applies"`
	// Why says what keeps the limit, or its counters, from the request.
	Why string `json:"why,omitempty"`
	// Override is the number, from 0, of the override that applies; -1 for none.
	Override int `json:"override"`
	// RunTime is the override that an operator set at run time; nil for none.
	RunTime  *RunTime  `json:"run_time,omitempty"`
	Counters []Counter `json:"counters,omitempty"`
	Notes    []string  `json:"notes,omitempty"`
}

// RunTime is an override that was set at run time.
type RunTime struct {
	Override string `json:"override"` // as `sluice set --list` shows it
	// Key is the caller that it is about, as in the counter's name; nil for all.
	Key     *string `json:"key"`
	UntilMS int64   `json:"until_ms"` // of Redis's clock, ms since the epoch
}

// Counter is one counter that the request meets.
type Counter struct {
	Name      string `json:"name"` // of the rate
	Rate      string `json:"rate"`
	Algorithm string `json:"algorithm"`
	Key       string `json:"key"`
	Op        string `json:"op"`
	Cost      int64  `json:"cost"`
	Limit     int64  `json:"limit"`
	WindowMS  int64  `json:"window_ms,omitempty"`
	// Gateway reports that each gateway counts by itself: Redis has no such key.
	Gateway bool `json:"gateway,omitempty"`
}

var opNames = map[engine.Op]string{
	engine.OpDecide: "decide", engine.OpShadow: "shadow", engine.OpCharge: "charge", engine.OpRefund: "refund",
	engine.OpDecideCount: "decide_count", engine.OpShadowCount: "shadow_count",
}

// Explain explains a request. nowUS is the gateway's time, microseconds since
// the epoch.
func Explain(e *engine.Engine, r source.Request, nowUS int64) *Explanation {
	p := e.Policy()
	var v source.View
	v.Reset(r, &p.Source)
	x := &Explanation{
		Method: v.Method(), Host: v.Host(), Path: v.Path(),
		engine: e, decision: new(engine.Decision), nowUS: nowUS,
	}
	if ip, ok := v.ClientIP(); ok {
		x.Client = ip.String()
	}
	step := x.decision.Start(e, &v)
	plan := &x.decision.Plan
	if plan.Missing != nil {
		x.RefusedBy = plan.Missing.Name
	}
	if plan.Block != nil {
		x.BlockedBy = plan.Block.Limit.Name
	}
	applies := map[*config.Limit]bool{}
	p.Match(&v, func(l *config.Limit) bool {
		applies[l] = true
		return true
	})
	for _, l := range p.Limits {
		x.Limits = append(x.Limits, x.word(&v, l, applies[l]))
	}
	if step == engine.Send {
		x.calls()
	}
	return x
}

// word is one limit's word.
func (x *Explanation) word(v *source.View, l *config.Limit, applies bool) Limit {
	out := Limit{Name: l.Name, Applies: applies, Override: -1}
	if !applies {
		out.Why = x.engine.Policy().Why(v, l)
		return out
	}
	va := l.Variant(v)
	for i := range l.Overrides {
		if &l.Overrides[i].Variant == va {
			out.Override = i
		}
	}
	o := x.engine.OverrideOf(v, l)
	if o != nil {
		out.RunTime = &RunTime{Override: o.Entry.Spec.String(), UntilMS: o.Entry.UntilMS}
		if o.Entry.Keyed {
			out.RunTime.Key = &o.Entry.Values
		}
	}
	plan := &x.decision.Plan
	switch {
	case o != nil && o == plan.Block:
		out.Why = "blocked by an override at run time"
		return out
	case plan.Block != nil:
		out.Why = "not asked: " + x.BlockedBy + " blocks the request"
		return out
	case o != nil && o.Entry.Kind == override.Unlimited:
		out.Why = "unlimited: override at run time"
		return out
	case va.Unlimited && !(o != nil && o.Rated()):
		out.Why = "unlimited: override " + l.Overrides[out.Override].When.String()
		return out
	}
	for i := range plan.Charges {
		if plan.Charges[i].Limit == l {
			out.Counters = append(out.Counters, counter(plan, i))
		}
	}
	switch {
	case plan.Missing == l:
		out.Why = "the request lacks " + absent(v, l) + ", and missing is deny"
	case len(out.Counters) == 0 && plan.Missing != nil:
		out.Why = "not asked: " + plan.Missing.Name + " refuses the request"
	case len(out.Counters) == 0:
		out.Why = "the request lacks " + absent(v, l) + ", and missing is skip"
	}
	out.Notes = notes(l, va, o, out.Counters)
	return out
}

// absent names the parts of the key that the request lacks.
func absent(v *source.View, l *config.Limit) string {
	var names []string
	for _, part := range l.Key.Parts() {
		found := false
		for _, s := range part {
			if _, ok := s.Value(v); ok {
				found = true
			}
		}
		if !found {
			names = append(names, part.String())
		}
	}
	return strings.Join(names, ", ")
}

// notes are what else a reader would want to know of a limit that applies.
func notes(l *config.Limit, va *config.Variant, o *engine.Override, counters []Counter) []string {
	var out []string
	if o != nil && o.Entry.Kind == override.Pool {
		out = append(out, "degraded: a pool of units is spent instead of the limit's own counter")
	}
	if va.Shadow || o != nil && o.Entry.Kind == override.Shadow {
		out = append(out, "shadow: counts and never rejects")
	} else if l.Tag != nil {
		out = append(out, "tag: marks the request instead of rejecting it")
	} else if len(counters) > 0 && strings.HasPrefix(counters[0].Op, "shadow") {
		out = append(out, "enforce: this key is not among those that may be rejected")
	}
	if l.CountRejected {
		out = append(out, "count_rejected: what it rejects counts too")
	}
	if l.PenaltyUS > 0 {
		out = append(out, "penalty: its key stays rejected after exceeding")
	}
	if l.Scope == config.ScopeGateway {
		out = append(out, "scope: gateway: each gateway counts by itself, without Redis")
	}
	switch {
	case l.Algorithm.Holds:
		out = append(out, "the slot is free again when the request ends")
	case l.Settle != nil:
		out = append(out, "settle: the charge is corrected after the answer")
	}
	return out
}

func counter(p *engine.Plan, i int) Counter {
	c := &p.Charges[i]
	out := Counter{
		Name: c.Rate.Name, Rate: c.Rate.Text, Algorithm: c.Algorithm().Name, Key: string(p.Key(i)),
		Op: opNames[c.Op], Cost: c.Cost, Limit: c.Rate.Params.Limit, WindowMS: c.Rate.Params.WindowMS,
	}
	if c.Algorithm().Holds || c.Rate.Pool {
		out.WindowMS = 0
	}
	out.Gateway = c.Limit.Scope == config.ScopeGateway
	if c.Guards > 0 {
		out.Rate, out.Limit, out.WindowMS = "penalty", 0, c.Limit.PenaltyUS/1000
	}
	return out
}

// RetryAfterSeconds is what an answer's Retry-After says of a wait: whole seconds,
// never too early; -1 where waiting doesn't help.
func RetryAfterSeconds(ms int64) int64 {
	if ms == limit.Never {
		return -1
	}
	return max((ms+999)/1000, 1)
}
