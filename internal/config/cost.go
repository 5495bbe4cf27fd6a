package config

import (
	"strconv"

	"sluice/internal/jsontext"
	"sluice/internal/source"
)

// Cost is how many units a request counts.
type Cost struct {
	// Fixed is the cost where neither Source nor BodyBytes is set; 0 looks for
	// room and charges nothing.
	Fixed int64
	// Source gives the cost; nil for a fixed one.
	Source source.Source
	// BodyBytes charges the request body's bytes.
	BodyBytes bool
}

// Of returns what a request costs by its headers. odd is true when the source's
// value isn't a whole number from 0 to MaxLimit; the cost then is 1. Not for
// BodyBytes.
func (c *Cost) Of(v *source.View) (cost int64, odd bool) {
	if c.Source == nil {
		return c.Fixed, false
	}
	text, ok := c.Source.Value(v)
	if !ok {
		return 1, true
	}
	n, ok := ParseUnits(text)
	if !ok {
		return 1, true
	}
	return n, false
}

// ParseUnits reads a whole number from 0 to MaxLimit, as a caller or an
// upstream writes a cost.
func ParseUnits(s string) (int64, bool) {
	if s == "" || len(s) > 20 {
		return 0, false
	}
	var n int64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n = n*10 + int64(s[i]-'0'); n > MaxLimit {
			return 0, false
		}
	}
	return n, true
}

// cost is a number, a source or body_bytes.
//
//go:noinline
func cost() kind[Cost] {
	number := integer(0, MaxLimit)
	k := newKind(func(p *parser, v *jsontext.Value, to *Cost) bool {
		switch v.Kind {
		case jsontext.Number:
			var n int64
			ok := number.read(p, v, &n)
			if ok {
				*to = Cost{Fixed: n}
			}
			return ok
		case jsontext.String:
			text := v.Text()
			if text == "body_bytes" {
				*to = Cost{BodyBytes: true}
				return true
			}
			if n, err := strconv.ParseInt(text, 10, 64); err == nil {
				return p.suggest(v, "a number stands without quotes", strconv.FormatInt(n, 10))
			}
			s, ok := parseSource(p, v)
			if ok {
				*to = Cost{Source: s}
			}
			return ok
		}
		return p.want(v, "a number, a source or body_bytes")
	})
	if described {
		named := &Type{Kind: AnyOfType, AnyOf: []*Type{{Kind: TextType, Enum: []string{"body_bytes"}}, {Kind: TextType, Name: "source"}}}
		k.typ = &Type{Kind: AnyOfType, AnyOf: []*Type{number.typ, named}}
	}
	return k
}
