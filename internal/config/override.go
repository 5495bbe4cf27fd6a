package config

import (
	"strconv"

	"sluice/internal/jsontext"
	"sluice/internal/match"
	"sluice/internal/source"
)

// Variant is what a limit enforces for some requests.
type Variant struct {
	Rates []Rate
	// Unlimited requests are not counted.
	Unlimited bool
	Shadow    bool
	Cost      *Cost // nil for the limit's own
}

// Override gives the requests that it matches a Variant of their own.
type Override struct {
	When *match.Matcher
	Variant

	rates  []Rate
	burst  *int64
	shadow *bool
}

var overrideTable = &table[Override]{
	name: "override",
	doc:  "Other numbers for some requests. Another number keeps the count, another window has its own counter.",
	fields: []field[Override]{
		must(row("when", conditions(), "", "Which requests; of several overrides the first that matches counts.",
			func(t *Override, v *match.Matcher) { t.When = v })),
		row("rate", rateList(), "", "Their rate.",
			func(t *Override, v []Rate) { t.rates = v }),
		row("burst", integer(1, MaxLimit), "", "Their burst.",
			func(t *Override, v int64) { t.burst = &v }),
		row("cost", cost(), "", "How many units each of them counts.",
			func(t *Override, v Cost) { t.Cost = &v }),
		row("unlimited", boolean(), "false", "They are not counted.",
			func(t *Override, v bool) { t.Unlimited = v }),
		row("shadow", boolean(), "", "They are counted and never rejected, or rejected although the limit is a shadow.",
			func(t *Override, v bool) { t.shadow = &v }),
	},
	finish: func(p *parser, v *jsontext.Value, given func(string) *jsontext.Value, t *Override) {
		changes := 0
		for _, name := range []string{"rate", "burst", "cost", "shadow"} {
			if !given(name).Exists() {
				continue
			}
			changes++
			if t.Unlimited {
				p.failField(given(name), name, "has no meaning together with unlimited", "")
			}
		}
		if changes == 0 && !given("unlimited").Exists() {
			p.fail(v, "needs rate, burst, cost, unlimited or shadow")
		}
	},
}

// maxOverrides bounds the overrides of one limit.
const maxOverrides = 20_000

//go:noinline
func overrides() kind[[]Override] {
	return mapped(list(overrideTable.kind(), 1), func(p *parser, v *jsontext.Value, l []Override) ([]Override, bool) {
		if len(l) > maxOverrides {
			return nil, p.fail(v, "a limit has at most "+strconv.Itoa(maxOverrides)+" overrides")
		}
		return l, true
	})
}

// Variant returns what the limit enforces for a request.
func (l *Limit) Variant(v *source.View) *Variant {
	if l.overrideIndex != nil {
		if i := l.overrideIndex.First(v); i >= 0 {
			return &l.Overrides[i].Variant
		}
	}
	return &l.base
}
