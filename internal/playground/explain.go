package playground

import (
	"net/netip"
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/redisproto"
)

// Explainer says what becomes of a request. What it returns is shown as JSON of
// Explanation's shape; it may hold more.
type Explainer func(e *engine.Engine, a *Ask) (any, error)

// Explanation is what becomes of a request.
type Explanation struct {
	Method    string          `json:"method"`
	Host      string          `json:"host"`
	Path      string          `json:"path"` // as limits see it
	Client    string          `json:"client_ip,omitempty"`
	Limits    []ExplainedWord `json:"limits"`
	RefusedBy string          `json:"refused_by,omitempty"` // the limit whose key lacks a part
	Call      *ExplainedCall  `json:"call,omitempty"`       // nil where Redis isn't asked
}

// ExplainedWord is one limit's word.
type ExplainedWord struct {
	Name     string             `json:"name"`
	Applies  bool               `json:"applies"`
	Why      string             `json:"why,omitempty"` // what keeps it from the request
	Counters []ExplainedCounter `json:"counters,omitempty"`
	Notes    []string           `json:"notes,omitempty"`
}

// ExplainedCounter is a counter that the request meets.
type ExplainedCounter struct {
	Name      string `json:"name"`
	Rate      string `json:"rate"`
	Algorithm string `json:"algorithm"`
	Key       string `json:"key"`
	Op        string `json:"op"`
	Cost      int64  `json:"cost"`
	Limit     int64  `json:"limit"`
}

// ExplainedCall is the script call that Redis gets.
type ExplainedCall struct {
	SHA      string                `json:"sha"`
	Keys     []string              `json:"keys"`
	Common   []ExplainedArgument   `json:"common"`
	Counters [][]ExplainedArgument `json:"counters"` // of each key
}

// ExplainedArgument is one of the call's arguments.
type ExplainedArgument struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// requestID stands for the id that the plugin gives each request.
const requestID = "request-id"

var opNames = map[engine.Op]string{
	engine.OpDecide: "decide", engine.OpShadow: "shadow", engine.OpCharge: "charge", engine.OpRefund: "refund",
	engine.OpDecideCount: "decide_count", engine.OpShadowCount: "shadow_count",
}

// Explain asks the engine that the plugin runs, so that the two can't disagree.
func Explain(e *engine.Engine, a *Ask) (any, error) {
	policy := e.Policy()
	var v source.View
	v.Reset(typed{a}, &policy.Source)
	x := &Explanation{Method: v.Method(), Host: v.Host(), Path: v.Path()}
	if ip, ok := v.ClientIP(); ok {
		x.Client = ip.String()
	}
	var plan engine.Plan
	e.Plan(&v, &plan)
	if plan.Missing != nil {
		x.RefusedBy = plan.Missing.Name
	}
	applies := map[*config.Limit]bool{}
	policy.Match(&v, func(l *config.Limit) bool {
		applies[l] = true
		return true
	})
	for _, l := range policy.Limits {
		x.Limits = append(x.Limits, word(&v, &plan, l, policy, applies[l]))
	}
	if len(plan.Charges) > 0 {
		x.Call = explainedCall(e, &plan)
	}
	return x, nil
}

func word(v *source.View, plan *engine.Plan, l *config.Limit, policy *config.Policy, applies bool) ExplainedWord {
	w := ExplainedWord{Name: l.Name, Applies: applies}
	if !applies {
		w.Why = policy.Why(v, l)
		return w
	}
	va := l.Variant(v)
	for i := range plan.Charges {
		if c := &plan.Charges[i]; c.Limit == l {
			w.Counters = append(w.Counters, explainedCounter(plan, i))
		}
	}
	switch {
	case va.Unlimited:
		w.Why = "an override makes it unlimited"
	case plan.Missing == l:
		w.Why = "a part of its key is absent, and missing is deny"
	case plan.Missing != nil:
		w.Why = plan.Missing.Name + " refuses the request first"
	case len(w.Counters) == 0:
		w.Why = "a part of its key is absent, and missing is skip"
	}
	switch {
	case va.Shadow:
		w.Notes = append(w.Notes, "a shadow: counts and never rejects")
	case l.Tag != nil:
		w.Notes = append(w.Notes, "marks the request instead of rejecting it")
	case len(w.Counters) > 0 && strings.HasPrefix(w.Counters[0].Op, "shadow"):
		w.Notes = append(w.Notes, "enforce: this key is not among those that may be rejected")
	}
	return w
}

func explainedCounter(plan *engine.Plan, i int) ExplainedCounter {
	c := &plan.Charges[i]
	out := ExplainedCounter{
		Name: c.Rate.Name, Rate: c.Rate.Text, Algorithm: c.Algorithm().Name, Key: string(plan.Key(i)),
		Op: opNames[c.Op], Cost: c.Cost, Limit: quota(c.Limit, c.Rate),
	}
	if c.Guards > 0 {
		out.Rate, out.Limit = "penalty", 0
	}
	return out
}

// explainedCall names the parts of the command.
func explainedCall(e *engine.Engine, plan *engine.Plan) *ExplainedCall {
	d := redisproto.NewDecoder(redisproto.Limits{MaxElems: 1 << 16, MaxBulk: 1 << 20, MaxBuffered: 4 << 20})
	d.Feed(e.AppendCommand(nil, plan, []byte(requestID), nowUS(), false))
	v, ok, err := d.Next()
	if !ok || err != nil {
		return nil // the engine writes what the decoder reads
	}
	words := make([]string, len(v.Elems))
	for i := range v.Elems {
		words[i] = string(v.Elems[i].Str)
	}
	n := len(plan.Charges)
	c := &ExplainedCall{SHA: e.Script().SHA, Keys: words[3 : 3+n]}
	argv := words[3+n:]
	c.Common = []ExplainedArgument{{"clock", argv[0]}, {"request_id", argv[1]}}
	argv = argv[2:]
	for i := range plan.Charges {
		names := []string{"algorithm", "op", "cost"}
		for j := range plan.Charges[i].Algorithm().NArgs {
			names = append(names, "number "+strconv.Itoa(j+1))
		}
		var row []ExplainedArgument
		for j, name := range names {
			row = append(row, ExplainedArgument{name, argv[j]})
		}
		c.Counters = append(c.Counters, row)
		argv = argv[len(names):]
	}
	return c
}

// typed is a typed request as it arrives at a proxy with use_remote_address.
type typed struct{ a *Ask }

// peer is who is connected.
func (t typed) peer() netip.Addr {
	if t.a.IP.IsValid() {
		return t.a.IP
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// Header is source.Request.
func (t typed) Header(name string) (string, bool) {
	switch name {
	case ":method":
		return t.a.Method, true
	case ":path":
		return t.a.Path, true
	case ":authority":
		return t.a.Host, t.a.Host != ""
	case ":scheme":
		return t.a.Scheme, true
	}
	var value string
	found := false
	for _, h := range t.a.Headers {
		switch {
		case h.Name != name:
		case !found:
			value, found = h.Value, true
		case name == "cookie":
			value += "; " + h.Value
		default:
			value += "," + h.Value
		}
	}
	if name == "x-forwarded-for" { // the proxy appends its peer
		if found {
			value += ", "
		}
		return value + t.peer().String(), true
	}
	return value, found
}

// Attribute is source.Request. What other filters would leave is unknown here.
func (t typed) Attribute(path string) ([]byte, bool) {
	bare, query := source.SplitPath(t.a.Path)
	switch strings.ReplaceAll(path, "\x00", ".") {
	case "source.address":
		return []byte(netip.AddrPortFrom(t.peer(), 40000).String()), true
	case "request.method":
		return []byte(t.a.Method), true
	case "request.path":
		return []byte(t.a.Path), true
	case "request.url_path":
		return []byte(bare), true
	case "request.query":
		return []byte(query), query != ""
	case "request.host":
		return []byte(t.a.Host), t.a.Host != ""
	case "request.scheme":
		return []byte(t.a.Scheme), true
	}
	return nil, false
}
