package plugin

import (
	"strconv"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/internal/limit"
	"sluice/internal/version"
	"sluice/redisproto"
)

// answers writes what a caller sees: headers on what passes, and whole answers
// to what doesn't.
type answers struct {
	policy  *config.Policy
	items   []string    // ratelimit-policy's item, by Rate.ID
	details []string    // response code details, by Limit.Index
	values  []byte      // reused for headers' values
	text    []byte      // reused for a serialised map
	pairs   [][2]string // reused
	message []byte      // reused for a refusal's message
	body    []byte      // reused for a refusal's body
}

// compile prepares what doesn't depend on a request.
func (a *answers) compile(p *config.Policy) {
	a.policy = p
	a.items = nil
	a.details = make([]string, len(p.Limits))
	for _, l := range p.Limits {
		a.details[l.Index] = "sluice_" + l.Name
	}
	p.EachRate(func(l *config.Limit, r *config.Rate) {
		for len(a.items) <= r.ID {
			a.items = append(a.items, "")
		}
		if r.Params.Calendar == nil {
			a.items[r.ID] = string(appendItem(nil, l, r, quota(l, r)))
		}
	})
}

// allowance is what answers call a limit: so many units in so many ms.
type allowance struct{ units, windowMS int64 }

func quota(l *config.Limit, r *config.Rate) allowance {
	if r.Pool {
		return allowance{units: r.Params.Limit} // it has no window
	}
	if q := l.Algorithm.Quota; q != nil {
		units, windowMS := q(&r.Params)
		return allowance{units, windowMS}
	}
	return allowance{r.Params.Limit, r.Params.WindowMS}
}

// appendItem appends one member of ratelimit-policy, as the IETF's draft 10 has
// it: w is whole seconds, so a window below one has none.
func appendItem(dst []byte, l *config.Limit, r *config.Rate, q allowance) []byte {
	dst = append(append(dst, '"'), r.Name...)
	dst = strconv.AppendInt(append(dst, `";q=`...), q.units, 10)
	switch {
	case l.Algorithm.Holds:
		return append(dst, `;qu="concurrent-requests"`...)
	case l.Cost.BodyBytes, l.Settle != nil && l.Settle.Cost != nil && l.Settle.Cost.From == config.SettleBytes:
		dst = append(dst, `;qu="content-bytes"`...)
	}
	if q.windowMS >= 1000 {
		dst = strconv.AppendInt(append(dst, ";w="...), seconds(q.windowMS), 10)
	}
	return dst
}

// appendCharge appends a charge's member of ratelimit-policy. at is the time of
// the decision: the periods of a calendar differ in length.
func (a *answers) appendCharge(dst []byte, c *engine.Charge, at int64) []byte {
	r := c.Rate
	if cal := r.Params.Calendar; cal != nil {
		s := cal.Starts(at)
		return appendItem(dst, c.Limit, r, allowance{r.Params.Limit, s[2] - s[1]})
	}
	if item := a.item(r); item != "" {
		return append(dst, item...)
	}
	return appendItem(dst, c.Limit, r, quota(c.Limit, r))
}

// item is a rate's item where it is the same for all requests; "" for a calendar,
// and for rates that the request brought or an operator set at run time.
func (a *answers) item(r *config.Rate) string {
	if r.ID < 0 || r.ID >= len(a.items) {
		return ""
	}
	return a.items[r.ID]
}

// seconds rounds milliseconds up.
func seconds(ms int64) int64 { return (ms + 999) / 1000 }

// fields are the rate-limit headers of one decision. Their texts are valid until
// the next decision's are made.
type fields struct {
	policy, limit           string // the list headers; "" for none
	quota, remaining, reset string // x-ratelimit-*; "" for none
	remainingUnits          int64
}

// value returns what was appended to the buffer of values since from.
func (a *answers) value(from int) string { return host.Text(a.values[from:]) }

// int is n in decimals.
func (a *answers) int(n int64) string {
	from := len(a.values)
	a.values = redisproto.AppendDecimal(a.values, n)
	return a.value(from)
}

// fields describes the decision: every live limit that matched in the policy
// list, the one closest to rejecting in the rest.
func (a *answers) fields(d *engine.Decision) fields {
	var f fields
	a.values = a.values[:0]
	if d.Verdict.Mode == engine.ModeNone || d.Verdict.Closest < 0 {
		return f
	}
	c := &d.Plan.Charges[d.Verdict.Closest]
	if c.Limit.HideHeaders {
		return f
	}
	if a.policy.Headers.RateLimit {
		f.policy = a.policyList(d)
		from := len(a.values)
		t := append(a.values, '"')
		t = append(t, c.Rate.Name...)
		t = append(t, `";r=`...)
		t = redisproto.AppendDecimal(t, c.Result.Remaining)
		t = append(t, ";t="...)
		a.values = redisproto.AppendDecimal(t, seconds(c.Result.ResetMS))
		f.limit = a.value(from)
	}
	if a.policy.Headers.XRateLimit {
		f.quota = a.int(quota(c.Limit, c.Rate).units)
		f.remaining = a.int(c.Result.Remaining)
		f.remainingUnits = c.Result.Remaining
		if a.policy.XRateLimitResetSeconds {
			f.reset = a.int(seconds(c.Result.ResetMS))
		} else {
			f.reset = a.int((d.Verdict.AtUS/1000 + c.Result.ResetMS + 999) / 1000)
		}
	}
	return f
}

// policyList joins the items of the live limits that matched; one alone, the
// usual case, is there already.
func (a *answers) policyList(d *engine.Decision) string {
	from, only := len(a.values), -1
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if !c.Shown() {
			continue
		}
		if only < 0 && a.item(c.Rate) != "" && len(a.values) == from {
			only = i // perhaps nothing has to be joined
			continue
		}
		if only >= 0 {
			a.values = a.appendCharge(a.values, &d.Plan.Charges[only], d.Verdict.AtUS)
			only = -1
		}
		if len(a.values) > from {
			a.values = append(a.values, ", "...)
		}
		a.values = a.appendCharge(a.values, c, d.Verdict.AtUS)
	}
	if only >= 0 {
		return a.item(d.Plan.Charges[only].Rate)
	}
	return a.value(from)
}

// annotate adds the headers to the upstream's answer. Lists are appended to; of
// x-ratelimit-* the scarcer of the two stays.
func (a *answers) annotate(r *request) {
	h := r.w.host
	f := a.fields(&r.decision)
	if f.policy != "" {
		h.AddHeader(host.ResponseHeaders, "ratelimit-policy", f.policy)
	}
	if f.limit != "" {
		h.AddHeader(host.ResponseHeaders, "ratelimit", f.limit)
	}
	if f.quota != "" && !scarcer(h, f.remainingUnits) {
		h.ReplaceHeader(host.ResponseHeaders, "x-ratelimit-limit", f.quota)
		h.ReplaceHeader(host.ResponseHeaders, "x-ratelimit-remaining", f.remaining)
		h.ReplaceHeader(host.ResponseHeaders, "x-ratelimit-reset", f.reset)
	}
	if r.debug {
		a.debug(r, func(name, value string) { h.AddHeader(host.ResponseHeaders, name, value) })
	}
}

// scarcer reports whether the answer already says that less remains than ours.
func scarcer(h host.Host, remaining int64) bool {
	v, s := h.HeaderValue(host.ResponseHeaders, "x-ratelimit-remaining")
	if s != host.OK || v == "" {
		return false
	}
	n, err := strconv.ParseInt(v, 10, 64)
	return err == nil && n < remaining
}

// debug gives the headers that only a caller with the debug secret gets.
func (a *answers) debug(r *request, add func(name, value string)) {
	d := &r.decision
	if d.Verdict.Closest >= 0 {
		add("x-sluice-limit", d.Plan.Charges[d.Verdict.Closest].Rate.Name)
	}
	add("x-sluice-mode", modeName(r.w.mode(d)))
	if o := d.Plan.Override; o != nil {
		add("x-sluice-override", o.Entry.Kind.String())
	}
	add("x-sluice-redis-us", a.int(r.redisUS))
	add("x-sluice-version", version.Version)
	if d.Verdict.AtUS != 0 {
		add("x-sluice-at", a.int(d.Verdict.AtUS))
	}
}

// refuse answers a request that its verdict ends.
func (a *answers) refuse(r *request) {
	d := &r.decision
	switch d.Verdict.Outcome {
	case engine.MissingKey:
		l := d.Plan.Missing
		a.send(r, refusal{
			status: 400, grpc: 3, code: "MISSING_KEY", limit: l, retryAfter: -1, details: a.details[l.Index],
			message: "Rate limit " + l.Name + " needs a part of its key that this request lacks.",
		})
	case engine.FailedClosed:
		a.unavailable(r, d.Plan.Charges[d.Verdict.Closest].Limit)
	default:
		a.reject(r)
	}
}

// unavailable answers that the limiter can't decide.
func (a *answers) unavailable(r *request, l *config.Limit) {
	a.send(r, refusal{
		status: 503, grpc: 14, code: "LIMITER_UNAVAILABLE", limit: l, retryAfter: 1, pushbackMS: 1000, details: "sluice_error",
		message: "The rate limiter is unavailable. Retry in 1 s.",
	})
}

// slotRetryMS is when to try again for a slot.
const slotRetryMS = 1000

// reject answers 429.
func (a *answers) reject(r *request) {
	d := &r.decision
	c := &d.Plan.Charges[d.Verdict.Closest]
	x := refusal{
		status: c.Limit.Reject.Status, grpc: 8, code: "RATE_LIMITED", limit: c.Limit, retryAfter: -1,
		details: a.details[c.Limit.Index], limited: true,
	}
	m := append(a.message[:0], "Rate limit "...)
	if d.Plan.Block != nil {
		m = append(append(m, c.Limit.Name...), " blocks these requests for now. "...)
	} else {
		m = append(append(m, c.Rate.Name...), " exceeded. "...)
	}
	if c.Limit.Algorithm.Holds && d.Verdict.RetryAfterMS != limit.Never {
		// When a slot comes free is anyone's guess, and the time after which a
		// crashed holder's does is no advice to a caller.
		d.Verdict.RetryAfterMS = slotRetryMS
	}
	if d.Verdict.RetryAfterMS == limit.Never {
		x.pushbackMS = -1
		m = append(m, "Waiting doesn't help: the cost of this request is above the limit."...)
	} else {
		x.retryAfter = max(seconds(d.Verdict.RetryAfterMS), 1)
		x.pushbackMS = d.Verdict.RetryAfterMS
		m = redisproto.AppendDecimal(append(m, "Retry in "...), x.retryAfter)
		m = append(m, " s."...)
	}
	a.message = m
	x.message = host.Text(m)
	if c.Limit.Reject.Body == config.BodyProblem {
		x.violated = violated(&d.Plan)
	}
	a.send(r, x)
}

// violated lists the policies that rejected the request, each once.
func violated(p *engine.Plan) []byte {
	var list []byte
	for i := range p.Charges {
		c := &p.Charges[i]
		// A penalty has its limit's name, which may be in the list already.
		named := c.Guards > 0 && !p.Charges[c.Guards-1].Result.Admitted
		if !c.Op.Votes() || c.Result.Admitted || named {
			continue
		}
		if len(list) > 0 {
			list = append(list, ',')
		}
		list = append(append(append(list, '"'), c.Rate.Name...), '"')
	}
	return list
}
