package config

import (
	"slices"
	"strconv"
	"strings"

	"sluice/internal/jsontext"
	"sluice/internal/source"
)

// Reject is how a rejected request is answered.
type Reject struct {
	Status      uint32
	Body        Body
	Template    []Piece     // of a BodyTemplate
	ContentType string      // "" for the body's own
	Headers     [][2]string // to add; names in lower case
}

// Body is the shape of a rejection's body.
type Body byte

// Shapes of a rejection's body.
const (
	BodyJSON     Body = iota // {"error": {...}}
	BodyProblem              // application/problem+json
	BodyText                 // the message
	BodyTemplate             // Reject.Template
)

// Piece is a part of a template: a text or a value.
type Piece struct {
	Text string // where Var is 0
	Var  Var
}

// Var is a value that a template has a place for.
type Var byte

// Values of a template.
const (
	VarLimit      Var = iota + 1 // %LIMIT%: the limit's name
	VarRetryAfter                // %RETRY_AFTER%: seconds; 0 where waiting doesn't help
	VarMessage                   // %MESSAGE%: what the JSON body says
	VarCode                      // %CODE%: RATE_LIMITED
	VarStatus                    // %STATUS%
)

// vars are their names in templates, in the order of the constants.
var vars = [...]string{"%LIMIT%", "%RETRY_AFTER%", "%MESSAGE%", "%CODE%", "%STATUS%"}

// rejectFields are the fields of reject, whose defaults are in t. Those of a limit have
// no defaults of their own: what it leaves out is as the global one says.
func rejectFields(t *Reject, status, shape string) []*field {
	return []*field{
		row("status", &t.Status, narrow[uint32](integer(400, 599)), status, "The answer's status."),
		row("body", t, body(), shape, "The body: `json`, `problem` (RFC 9457), `text`, or a template with `%LIMIT%`, `%RETRY_AFTER%`, `%MESSAGE%`, `%CODE%` and `%STATUS%`; `%%` is a percent sign."),
		row("content_type", &t.ContentType, printable(), "", "The body's type; default what fits `body`."),
		row("headers", &t.Headers, headers(), "", "Headers to add to the answer."),
	}
}

var defaultReject, limitDefaultReject Reject

var rejectTable = newTable("reject", "How a rejected request is answered.", &defaultReject, rejectFields(&defaultReject, "429", `"json"`), nil)

var limitRejectTable = newTable("reject", "How a request is answered that this limit rejects.", &limitDefaultReject, rejectFields(&limitDefaultReject, "", ""), nil)

// limitReject is a limit's own reject: what it leaves out is as the global one.
//
//go:noinline
func limitReject() kind[Reject] {
	k := limitRejectTable.kind()
	return kind[Reject]{newKind(func(p *parser, v *jsontext.Value, to *Reject) bool {
		r := p.policy.Reject
		var own Reject
		ok := k.read(p, v, &own)
		if own.Status != 0 {
			r.Status = own.Status
		}
		if v.Get("body").Exists() {
			r.Body, r.Template = own.Body, own.Template
			r.ContentType = ""
		}
		if own.ContentType != "" {
			r.ContentType = own.ContentType
		}
		if v.Get("headers").Exists() {
			r.Headers = own.Headers
		}
		*to = r
		return ok
	}).like(k.reader)}
}

// body is a body's shape, with its template.
//
//go:noinline
func body() kind[Reject] {
	return worded("a text", func(p *parser, v *jsontext.Value, s string, to *Reject) bool {
		names := []string{"json", "problem", "text"} // as the constants go
		if i := slices.Index(names, s); i >= 0 {
			to.Body = Body(i)
			return true
		}
		// One short word is more likely a slip than a whole body.
		if !strings.ContainsAny(s, "% \n{<") && len(s) < 12 {
			return p.suggest(v, "expected "+strings.Join(names, ", ")+" or a template, not "+quote(s), nearest(s, names))
		}
		t, ok := template(p, v, s)
		if ok {
			to.Body, to.Template = BodyTemplate, t
		}
		return ok
	}).as(Type{Doc: "`json`, `problem`, `text` or a template."})
}

// maxTemplate bounds a template, bytes.
const maxTemplate = 16 << 10

// template reads a template: a value's name stands between two percent signs,
// and two of them without a name are one.
func template(p *parser, v *jsontext.Value, s string) ([]Piece, bool) {
	if len(s) > maxTemplate {
		return nil, p.fail(v, "a template has at most 16384 bytes")
	}
	var pieces []Piece
	plain := ""
	for {
		before, rest, more := strings.Cut(s, "%")
		plain += before
		if !more {
			break
		}
		name, after, closed := strings.Cut(rest, "%")
		if !closed {
			return nil, p.fail(v, "a % in a template is written %%")
		}
		s = after
		if name == "" {
			plain += "%"
			continue
		}
		names := vars[:]
		found := Var(slices.Index(names, "%"+name+"%") + 1)
		if found == 0 && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
			return nil, p.fail(v, "a % in a template is written %%")
		}
		if found == 0 {
			return nil, p.suggest(v, "a template has no %"+short(name)+"%, only "+listed(names), nearest("%"+name+"%", names))
		}
		if plain != "" {
			pieces = append(pieces, Piece{Text: plain})
			plain = ""
		}
		pieces = append(pieces, Piece{Var: found})
	}
	if plain != "" {
		pieces = append(pieces, Piece{Text: plain})
	}
	return pieces, true
}

// maxHeaders bounds the headers that are added to an answer.
const maxHeaders = 32

// headers is an object of header names and values.
//
//go:noinline
func headers() kind[[][2]string] {
	return newKind(func(p *parser, v *jsontext.Value, to *[][2]string) bool {
		if v.Kind != jsontext.Object {
			return p.want(v, "an object of headers")
		}
		before := p.failures()
		var out [][2]string
		c := v.Items()
		for c.Next() {
			k, val := &c.Key, &c.Item
			if len(out) == maxHeaders {
				p.fail(v, "at most "+strconv.Itoa(maxHeaders)+" headers can be added")
				break
			}
			p.in(k.Text())
			name := strings.ToLower(k.Text())
			switch {
			case !source.Token(name):
				p.fail(k, quote(k.Text())+" is not a header name")
			case slices.Contains(reserved, name):
				p.fail(k, "this header is written by the plugin or the proxy")
			case val.Kind != jsontext.String:
				p.want(val, "a text")
			case headerValue(val.Text()) != "":
				p.fail(val, headerValue(val.Text()))
			}
			for _, h := range out {
				if h[0] == name {
					p.fail(k, "given twice")
				}
			}
			out = append(out, [2]string{name, val.Text()})
			p.out()
		}
		if p.failures() > before {
			return false
		}
		*to = out
		return true
	}).as(Type{Kind: MapType, Keys: "header name", Items: &Type{Kind: TextType}})
}

// reserved are headers of an answer that have their own fields, or none.
var reserved = []string{
	"content-type", "content-length", "transfer-encoding", "connection", "retry-after",
	"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset",
}

// printable is a header's value.
func printable() kind[string] {
	return text(headerValue).as(Type{Pattern: "^[\\x20-\\x7e]+$"})
}

func headerValue(s string) string {
	if s == "" {
		return "a header's value can't be empty"
	}
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return "a header's value has only printable ASCII characters"
		}
	}
	return ""
}
