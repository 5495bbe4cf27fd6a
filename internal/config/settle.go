package config

import (
	"strconv"
	"strings"

	"sluice/internal/jsontext"
	"sluice/internal/source"
)

// Settle says how a charge is corrected after the answer.
type Settle struct {
	// ChargeOn charges only requests that end so and refunds all others; nil
	// charges all.
	ChargeOn *Outcomes
	// RefundOn refunds requests that end so; nil refunds none.
	RefundOn *Outcomes
	// Cost is what the request turns out to have cost; nil leaves it.
	Cost *SettleCost
}

// Outcomes is a set of ways in which a request can end.
type Outcomes struct {
	status [8]uint64 // bits of the statuses 100 to 599
	// NoAnswer: the upstream gave no answer; the proxy answered itself, or the
	// client left before headers.
	NoAnswer bool
}

// HasStatus reports whether an upstream's status is in the set.
func (o *Outcomes) HasStatus(code int) bool {
	i := code - 100
	return i >= 0 && i < 500 && o.status[i/64]>>(i%64)&1 != 0
}

func (o *Outcomes) add(from, to int) {
	for code := from; code <= to; code++ {
		i := code - 100
		o.status[i/64] |= 1 << (i % 64)
	}
}

// SettleCost is where a request's true cost is found.
type SettleCost struct {
	From SettleFrom
	// Name is the header's or trailer's name, or the path into the JSON body.
	Name string
	// Source reads dynamic metadata, for SettleMetadata.
	Source source.Source
}

// SettleFrom is a place where a request's true cost is found.
type SettleFrom byte

// Places of a true cost.
const (
	SettleHeader   SettleFrom = iota // a response header
	SettleTrailer                    // a response trailer
	SettleJSON                       // a path into the response's JSON, or its last server-sent event
	SettleBytes                      // the response body's bytes
	SettleMetadata                   // dynamic metadata at the end of the request
)

var settleTable = &table[Settle]{
	name: "settle",
	doc:  "How the charge is corrected after the answer.",
	fields: []field[Settle]{
		row("charge_on", outcomes(), "", "Only requests that end so are charged; all others are refunded.",
			func(t *Settle, v *Outcomes) { t.ChargeOn = v }),
		row("refund_on", outcomes(), "", "Requests that end so are refunded.",
			func(t *Settle, v *Outcomes) { t.RefundOn = v }),
		row("cost", settleCost(), "", "What the request turns out to have cost: `response_header:NAME`, `response_trailer:NAME`, `response_json:PATH`, `response_bytes` or `metadata:NS.KEY`.",
			func(t *Settle, v *SettleCost) { t.Cost = v }),
	},
	finish: func(p *parser, v *jsontext.Value, given func(string) *jsontext.Value, t *Settle) {
		if given("charge_on").Exists() && given("refund_on").Exists() {
			p.failField(given("refund_on"), "refund_on", "can't be given together with charge_on", "")
		}
		if !given("charge_on").Exists() && !given("refund_on").Exists() && !given("cost").Exists() {
			p.fail(v, "needs charge_on, refund_on or cost")
		}
	},
}

var outcomesTable = &table[Outcomes]{
	name: "outcomes",
	doc:  "Ways in which a request ends.",
	fields: []field[Outcomes]{
		row("status", oneOrList(statusRange()), "", "The upstream's statuses: `401`, `5xx`.",
			func(t *Outcomes, v [][2]int) {
				for _, r := range v {
					t.add(r[0], r[1])
				}
			}),
		row("no_answer", boolean(), "false", "The upstream gave no answer: Envoy answered itself, or the client left before headers.",
			func(t *Outcomes, v bool) { t.NoAnswer = v }),
	},
	finish: func(p *parser, v *jsontext.Value, given func(string) *jsontext.Value, t *Outcomes) {
		if !given("status").Exists() && !t.NoAnswer {
			p.fail(v, "needs status or no_answer")
		}
	},
}

//go:noinline
func outcomes() kind[*Outcomes] {
	return mapped(outcomesTable.kind(), func(_ *parser, _ *jsontext.Value, o Outcomes) (*Outcomes, bool) { return &o, true })
}

// statusRange is a status or a class of them.
//
//go:noinline
func statusRange() kind[[2]int] {
	number := &Type{Kind: IntegerType, Min: 100, Max: 599}
	class := &Type{Kind: TextType, Pattern: "^[1-5]([0-9][0-9]|xx)$"}
	return kind[[2]int]{
		typ: &Type{Kind: AnyOfType, AnyOf: []*Type{number, class}},
		parse: func(p *parser, v *jsontext.Value) ([2]int, bool) {
			s := v.Text()
			if n, ok := v.Whole(); ok {
				s = strconv.FormatInt(n, 10)
			}
			if len(s) == 3 && s[0] >= '1' && s[0] <= '5' {
				if s[1:] == "xx" {
					n := int(s[0]-'0') * 100
					return [2]int{n, n + 99}, true
				}
				if n, err := strconv.Atoi(s); err == nil {
					return [2]int{n, n}, true
				}
			}
			return [2]int{}, p.fail(v, "expected a status such as 401 or a class such as 5xx")
		},
	}
}

// settleCost is where a true cost is found.
//
//go:noinline
func settleCost() kind[*SettleCost] {
	const form = "expected response_header:NAME, response_trailer:NAME, response_json:PATH, response_bytes or metadata:NS.KEY"
	t := Type{Pattern: "^(response_header:.+|response_trailer:.+|response_json:.+|response_bytes|metadata:.+)$"}
	return mapped(text(t, nil), func(p *parser, v *jsontext.Value, s string) (*SettleCost, bool) {
		name, arg, _ := strings.Cut(s, ":")
		switch name {
		case "response_bytes":
			if s == name {
				return &SettleCost{From: SettleBytes}, true
			}
		case "response_header", "response_trailer":
			if !source.Token(arg) {
				return nil, p.fail(v, quote(arg)+" is not a header name")
			}
			c := &SettleCost{From: SettleHeader, Name: strings.ToLower(arg)}
			if name == "response_trailer" {
				c.From = SettleTrailer
			}
			return c, true
		case "response_json":
			if !jsonPath(arg) {
				return nil, p.fail(v, "a path into JSON is names and numbers with dots, such as usage.total_tokens")
			}
			return &SettleCost{From: SettleJSON, Name: arg}, true
		case "metadata":
			src, ok := parseSource(p, v)
			return &SettleCost{From: SettleMetadata, Source: src}, ok
		}
		return nil, p.fail(v, form)
	})
}

// jsonPath reports whether s is names and list positions with dots between, which
// is what the reader of the body knows.
func jsonPath(s string) bool {
	if s == "" || len(s) > 256 || s[0] == '.' || s[len(s)-1] == '.' || strings.Contains(s, "..") {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-' || c == '.') {
			return false
		}
	}
	return true
}
