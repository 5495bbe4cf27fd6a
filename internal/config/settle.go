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
	status statusSet
	// NoAnswer: the upstream gave no answer; the proxy answered itself, or the
	// client left before headers.
	NoAnswer bool
}

// HasStatus reports whether an upstream's status is in the set.
func (o *Outcomes) HasStatus(code int) bool {
	i := code - 100
	return i >= 0 && i < 500 && o.status[i/64]>>(i%64)&1 != 0
}

// statusSet has a bit for each of the statuses 100 to 599.
type statusSet [8]uint64

func (s *statusSet) add(from, to int) {
	for code := from; code <= to; code++ {
		i := code - 100
		s[i/64] |= 1 << (i % 64)
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

var defaultSettle Settle

var settleTable = newTable("settle", "How the charge is corrected after the answer.", &defaultSettle, []*field{
	row("charge_on", &defaultSettle.ChargeOn, pointer(outcomesTable.kind()), "", "Only requests that end so are charged; all others are refunded."),
	row("refund_on", &defaultSettle.RefundOn, pointer(outcomesTable.kind()), "", "Requests that end so are refunded."),
	row("cost", &defaultSettle.Cost, pointer(settleCost()), "", "What the request turns out to have cost: `response_header:NAME`, `response_trailer:NAME`, `response_json:PATH`, `response_bytes` or `metadata:NS.KEY`."),
}, func(p *parser, v *jsontext.Value, given givenFields, _ *Settle) {
	if given("charge_on").Exists() && given("refund_on").Exists() {
		p.failField(given("refund_on"), "refund_on", "can't be given together with charge_on", "")
	}
	if !given("charge_on").Exists() && !given("refund_on").Exists() && !given("cost").Exists() {
		p.fail(v, "needs charge_on, refund_on or cost")
	}
})

var defaultOutcomes Outcomes

var outcomesTable = newTable("outcomes", "Ways in which a request ends.", &defaultOutcomes, []*field{
	row("status", &defaultOutcomes.status, statuses(), "", "The upstream's statuses: `401`, `5xx`."),
	row("no_answer", &defaultOutcomes.NoAnswer, boolean(), "false", "The upstream gave no answer: Envoy answered itself, or the client left before headers."),
}, func(p *parser, v *jsontext.Value, given givenFields, t *Outcomes) {
	if !given("status").Exists() && !t.NoAnswer {
		p.fail(v, "needs status or no_answer")
	}
})

// statuses is a status, a class of them, or a list of those.
//
//go:noinline
func statuses() kind[statusSet] {
	list := oneOrList(newKind(parseStatus).as(Type{Kind: AnyOfType, AnyOf: []*Type{
		{Kind: IntegerType, Min: 100, Max: 599}, {Kind: TextType, Pattern: "^[1-5]([0-9][0-9]|xx)$"}}}))
	return kind[statusSet]{newKind(func(p *parser, v *jsontext.Value, to *statusSet) bool {
		var all [][2]int
		ok := list.read(p, v, &all)
		for _, r := range all {
			to.add(r[0], r[1])
		}
		return ok
	}).like(list.reader)}
}

// parseStatus reads a status or a class of them: the first and the last.
func parseStatus(p *parser, v *jsontext.Value, to *[2]int) bool {
	s := v.Text()
	if n, ok := v.Whole(); ok {
		s = strconv.FormatInt(n, 10)
	}
	if len(s) == 3 && s[0] >= '1' && s[0] <= '5' {
		if s[1:] == "xx" {
			n := int(s[0]-'0') * 100
			*to = [2]int{n, n + 99}
			return true
		}
		if n, err := strconv.Atoi(s); err == nil {
			*to = [2]int{n, n}
			return true
		}
	}
	return p.fail(v, "expected a status such as 401 or a class such as 5xx")
}

// settleCost is where a true cost is found.
//
//go:noinline
func settleCost() kind[SettleCost] {
	const form = "expected response_header:NAME, response_trailer:NAME, response_json:PATH, response_bytes or metadata:NS.KEY"
	return worded("a text", func(p *parser, v *jsontext.Value, s string, to *SettleCost) bool {
		name, arg, _ := strings.Cut(s, ":")
		switch name {
		case "response_bytes":
			if s == name {
				to.From = SettleBytes
				return true
			}
		case "response_header", "response_trailer":
			if !source.Token(arg) {
				return p.fail(v, quote(arg)+" is not a header name")
			}
			to.From, to.Name = SettleHeader, strings.ToLower(arg)
			if name == "response_trailer" {
				to.From = SettleTrailer
			}
			return true
		case "response_json":
			if !jsonPath(arg) {
				return p.fail(v, "a path into JSON is names and numbers with dots, such as usage.total_tokens")
			}
			to.From, to.Name = SettleJSON, arg
			return true
		case "metadata":
			var ok bool
			to.From = SettleMetadata
			to.Source, ok = parseSource(p, v)
			return ok
		}
		return p.fail(v, form)
	}).as(Type{Pattern: "^(response_header:.+|response_trailer:.+|response_json:.+|response_bytes|metadata:.+)$"})
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
