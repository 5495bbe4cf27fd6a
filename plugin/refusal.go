package plugin

import (
	"sluice/internal/config"
	"sluice/internal/host"
	"sluice/redisproto"
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
	body := a.body[:0]
	grpc := int32(-1)
	if isGRPC(r.headers) {
		grpc = x.grpc
		body = append(body, x.message...)
		if x.pushbackMS != 0 {
			add("grpc-retry-pushback-ms", a.int(x.pushbackMS))
		}
	} else {
		var contentType string
		body, contentType = x.appendBody(body, reject)
		add("content-type", contentType)
		for _, h := range reject.Headers {
			add(h[0], h[1])
		}
	}
	a.pairs, a.body = p, body
	a.text = host.AppendPairs(a.text[:0], p)
	r.w.host.Answer(x.status, x.details, body, a.text, grpc)
}

// appendBody writes the refusal in the form that its limit asks for. Names and
// messages hold nothing that JSON would escape.
func (x *refusal) appendBody(dst []byte, rj *config.Reject) (body []byte, contentType string) {
	switch rj.Body {
	case config.BodyText:
		body, contentType = append(append(dst, x.message...), '\n'), "text/plain; charset=utf-8"
	case config.BodyTemplate:
		body, contentType = x.fill(dst, rj.Template), templateType(rj.Template)
	case config.BodyProblem:
		body, contentType = x.problem(dst), "application/problem+json"
	default:
		body, contentType = x.json(dst), "application/json"
	}
	if rj.ContentType != "" {
		contentType = rj.ContentType
	}
	return body, contentType
}

func (x *refusal) json(b []byte) []byte {
	b = append(append(b, `{"error":{"code":"`...), x.code...)
	b = append(append(b, `","message":"`...), x.message...)
	b = append(b, '"')
	if x.retryAfter >= 0 {
		b = redisproto.AppendDecimal(append(b, `,"retry_after_seconds":`...), x.retryAfter)
	}
	return append(b, "}}\n"...)
}

// problem is RFC 9457's form, with the type that the IETF's rate-limit draft
// registers for an exceeded quota.
func (x *refusal) problem(b []byte) []byte {
	b = append(b, `{"type":`...)
	if x.limited {
		b = append(b, `"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded"`...)
	} else {
		b = append(append(append(b, `"about:blank","title":"`...), x.code...), '"')
	}
	b = redisproto.AppendDecimal(append(b, `,"status":`...), int64(x.status))
	b = append(append(append(b, `,"detail":"`...), x.message...), '"')
	if x.limited {
		b = append(append(append(b, `,"violated-policies":[`...), x.violated...), ']')
	}
	return append(b, "}\n"...)
}

// fill writes a template with the refusal's values.
func (x *refusal) fill(b []byte, t []config.Piece) []byte {
	for _, p := range t {
		switch p.Var {
		case config.VarLimit:
			if x.limit != nil {
				b = append(b, x.limit.Name...)
			}
		case config.VarRetryAfter:
			b = redisproto.AppendDecimal(b, max(x.retryAfter, 0))
		case config.VarMessage:
			b = append(b, x.message...)
		case config.VarCode:
			b = append(b, x.code...)
		case config.VarStatus:
			b = redisproto.AppendDecimal(b, int64(x.status))
		default:
			b = append(b, p.Text...)
		}
	}
	return b
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
