package cookbook

import (
	"strconv"
	"strings"

	"github.com/dunglas/httpsfv"
	"github.com/google/go-cmp/cmp"

	"sluice/internal/emulator"
)

// look compares what became of a request with what the step expects.
func (p *player) look(s *Step, r *emulator.Request) {
	p.t.Helper()
	e := &s.Expect
	if got := result(r); got != e.Result {
		p.errorf(s, "%s, want %s; %q", got, e.Result, r.Response().Body)
		return
	}
	h := r.Response().Headers
	if e.Limit != "" {
		if got := string(r.FilterState("sluice.limit")); got != e.Limit {
			p.errorf(s, "is about limit %q, want %q", got, e.Limit)
		}
		if r.LocalReply() != nil && (e.Result == "429" || e.Result == "400") && r.Details() != "sluice_"+e.Limit {
			p.errorf(s, "response code details %q", r.Details())
		}
	}
	var own item // what the plugin says, after whatever the upstream said
	if list := p.list(s, h.Values("ratelimit")); len(list) > 0 {
		own = list[len(list)-1]
	}
	if own.name != "" && e.Limit != "" && own.name != e.Limit && !strings.HasPrefix(own.name, e.Limit+"-") {
		p.errorf(s, "ratelimit is about %q", own.name)
	}
	number := func(what string, want *int64, got any) {
		p.t.Helper()
		if want != nil && got != *want {
			p.errorf(s, "%s %v, want %d; ratelimit: %s", what, got, *want, h.Get("ratelimit"))
		}
	}
	number("remaining", e.Remaining, own.params["r"])
	number("reset", e.Reset, own.params["t"])
	if e.Policy != "" {
		got := p.list(s, h.Values("ratelimit-policy"))
		if d := cmp.Diff(p.list(s, []string{e.Policy}), got, cmp.AllowUnexported(item{})); d != "" {
			p.errorf(s, "ratelimit-policy: %s", d)
		}
	}
	if e.RetryAfter != nil {
		want := ""
		if *e.RetryAfter > 0 {
			want = strconv.FormatInt(*e.RetryAfter, 10)
		}
		if got := h.Get("retry-after"); got != want {
			p.errorf(s, "retry-after %q, want %q", got, want)
		}
	}
	p.headers(s, "the answer", h, e.Headers)
	p.headers(s, "what went on", r.Upstream().Headers, e.Upstream)
	if body := string(r.Response().Body); !strings.Contains(body, e.Body) {
		p.errorf(s, "body %q, want %q", body, e.Body)
	}
}

// result is what became of a request in one word.
func result(r *emulator.Request) string {
	if l := r.LocalReply(); l != nil {
		return strconv.Itoa(int(l.Status))
	}
	switch d := string(r.FilterState("sluice.decision")); d {
	case "admitted":
		return Passed
	case "":
		return Free
	default:
		return d
	}
}

func (p *player) headers(s *Step, where string, got emulator.Headers, want map[string]*string) {
	p.t.Helper()
	for name, value := range want {
		all := got.Values(name)
		switch {
		case value == nil && len(all) > 0:
			p.errorf(s, "%s has %s: %q", where, name, all)
		case value != nil && strings.Join(all, ", ") != *value:
			p.errorf(s, "%s has %s: %q, want %q", where, name, all, *value)
		}
	}
}

// item is a member of the headers ratelimit and ratelimit-policy.
type item struct {
	name   string
	params map[string]any
}

// list reads such a header by a parser that wasn't written for it.
func (p *player) list(s *Step, values []string) []item {
	p.t.Helper()
	if len(values) == 0 {
		return nil
	}
	list, err := httpsfv.UnmarshalList(values)
	if err != nil {
		p.errorf(s, "%q is no list of structured fields: %v", values, err)
		return nil
	}
	var out []item
	for _, member := range list {
		m, ok := member.(httpsfv.Item)
		name, isText := m.Value.(string)
		if !ok || !isText {
			p.errorf(s, "%q has a member that is no name with parameters", values)
			continue
		}
		x := item{name, map[string]any{}}
		for _, k := range m.Params.Names() {
			x.params[k], _ = m.Params.Get(k)
		}
		out = append(out, x)
	}
	return out
}
