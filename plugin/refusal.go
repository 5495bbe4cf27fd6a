package plugin

import (
	"strconv"

	"sluice/internal/config"
	"sluice/internal/host"
)

// refusal is an answer that ends a request here.
type refusal struct {
	status     uint32
	grpc       int32 // gRPC status
	code       string
	message    string
	limit      *config.Limit // nil when no limit is to blame
	retryAfter int64         // seconds; -1 for none
	pushbackMS int64         // gRPC's own retry-after, milliseconds; 0 for none, -1 for never
	violated   []byte        // names of the policies, as members of a JSON list
	details    string
	limited    bool // it is a limit's rejection
}

// send answers the request in its own protocol. The proxy drops the body for
// HEAD, and turns the whole into gRPC's form, message included, for gRPC.
func (a *answers) send(r *request, x refusal) {
	reject := &a.policy.Reject
	if x.limit != nil {
		reject = &x.limit.Reject
	}
	p := a.pairs[:0]
	add := func(name, value string) { p = append(p, [2]string{name, value}) }
	a.values = a.values[:0]
	var f fields
	if x.limited {
		f = a.fields(&r.decision)
	}
	if x.retryAfter >= 0 {
		add("retry-after", a.int(x.retryAfter))
	}
	if x.limited {
		if f.policy != "" {
			add("ratelimit-policy", f.policy)
		}
		if f.limit != "" {
			add("ratelimit", f.limit)
		}
		if f.quota != "" {
			add("x-ratelimit-limit", f.quota)
			add("x-ratelimit-remaining", f.remaining)
			add("x-ratelimit-reset", f.reset)
		}
		add("x-envoy-ratelimited", "true")
	}
	if r.debug {
		a.debug(r, add)
	}
	var body string
	grpc := int32(-1)
	if r.grpc {
		grpc = x.grpc
		body = x.message
		if x.pushbackMS != 0 {
			add("grpc-retry-pushback-ms", a.int(x.pushbackMS))
		}
	} else {
		var contentType string
		body, contentType = x.body(reject)
		add("content-type", contentType)
		for _, h := range reject.Headers {
			add(h[0], h[1])
		}
	}
	a.pairs = p
	a.text = host.AppendPairs(a.text[:0], p)
	r.w.host.Answer(x.status, x.details, []byte(body), a.text, grpc)
}

// body writes the refusal in the form that its limit asks for. Names and
// messages hold nothing that JSON would escape.
func (x *refusal) body(rj *config.Reject) (text, contentType string) {
	switch rj.Body {
	case config.BodyText:
		text, contentType = x.message+"\n", "text/plain; charset=utf-8"
	case config.BodyTemplate:
		text, contentType = x.fill(rj.Template), templateType(rj.Template)
	case config.BodyProblem:
		text, contentType = x.problem(), "application/problem+json"
	default:
		text, contentType = x.json(), "application/json"
	}
	if rj.ContentType != "" {
		contentType = rj.ContentType
	}
	return text, contentType
}

func (x *refusal) json() string {
	s := `{"error":{"code":"` + x.code + `","message":"` + x.message + `"`
	if x.retryAfter >= 0 {
		s += `,"retry_after_seconds":` + strconv.FormatInt(x.retryAfter, 10)
	}
	return s + "}}\n"
}

// problem is RFC 9457's form, with the type that the IETF's rate-limit draft
// registers for an exceeded quota.
func (x *refusal) problem() string {
	s := `{"type":`
	if x.limited {
		s += `"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded"`
	} else {
		s += `"about:blank","title":"` + x.code + `"`
	}
	s += `,"status":` + strconv.FormatUint(uint64(x.status), 10) + `,"detail":"` + x.message + `"`
	if x.limited {
		s += `,"violated-policies":[` + string(x.violated) + `]`
	}
	return s + "}\n"
}

// fill writes a template with the refusal's values.
func (x *refusal) fill(t []config.Piece) string {
	var b []byte
	for _, p := range t {
		switch p.Var {
		case config.VarLimit:
			if x.limit != nil {
				b = append(b, x.limit.Name...)
			}
		case config.VarRetryAfter:
			b = strconv.AppendInt(b, max(x.retryAfter, 0), 10)
		case config.VarMessage:
			b = append(b, x.message...)
		case config.VarCode:
			b = append(b, x.code...)
		case config.VarStatus:
			b = strconv.AppendUint(b, uint64(x.status), 10)
		default:
			b = append(b, p.Text...)
		}
	}
	return string(b)
}

// templateType guesses a template's type by how it begins; content_type says
// otherwise.
func templateType(t []config.Piece) string {
	if len(t) > 0 && len(t[0].Text) > 0 {
		switch t[0].Text[0] {
		case '{', '[':
			return "application/json"
		case '<':
			return "text/html; charset=utf-8"
		}
	}
	return "text/plain; charset=utf-8"
}
