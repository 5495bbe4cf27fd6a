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

var defaultOverride Override

var overrideTable = newTable("override", "Other numbers for some requests. Another number keeps the count, another window has its own counter.", &defaultOverride, []*field{
	must(row("when", &defaultOverride.When, conditions(), "", "Which requests; of several overrides the first that matches counts.")),
	row("rate", &defaultOverride.rates, rateList(), "", "Their rate."),
	row("burst", &defaultOverride.burst, pointer(integer(1, MaxLimit)), "", "Their burst."),
	row("cost", &defaultOverride.Cost, pointer(cost()), "", "How many units each of them counts."),
	row("unlimited", &defaultOverride.Unlimited, boolean(), "false", "They are not counted."),
	row("shadow", &defaultOverride.shadow, pointer(boolean()), "", "They are counted and never rejected, or rejected although the limit is a shadow."),
}, func(p *parser, v *jsontext.Value, given givenFields, t *Override) {
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
})

// maxOverrides bounds the overrides of one limit.
const maxOverrides = 20_000

//go:noinline
func overrides() kind[[]Override] {
	list := list(overrideTable.kind(), 1)
	return kind[[]Override]{newKind(func(p *parser, v *jsontext.Value, to *[]Override) bool {
		if !list.read(p, v, to) {
			return false
		}
		if len(*to) > maxOverrides {
			*to = nil
			return p.fail(v, "a limit has at most "+strconv.Itoa(maxOverrides)+" overrides")
		}
		return true
	}).like(list.reader)}
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
