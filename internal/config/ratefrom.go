package config

import (
	"math/bits"

	"sluice/internal/jsontext"
	"sluice/internal/limit"
	"sluice/internal/source"
)

// RateFrom takes the rate from the request.
type RateFrom struct {
	Source  source.Source
	Default Rate
	Max     Rate // Params.WindowMS 0 for none

	algorithm *limit.Algorithm
	named     naming
}

var defaultRateFrom RateFrom

var rateFromTable = newTable("rate from the request", "The request carries its own rate, such as a claim: a rate, or a number per the default's window.", &defaultRateFrom, []*field{
	must(row("from", &defaultRateFrom.Source, sources(), "", "Where the request has its rate.")),
	must(row("default", &defaultRateFrom.Default, rate(), "", "The rate of requests without one, or with something else there.")),
	row("max", &defaultRateFrom.Max, rate(), "", "The highest rate; what is above counts as this."),
}, func(p *parser, _ *jsontext.Value, given givenFields, t *RateFrom) {
	if t.Max.Params.WindowMS > 0 && faster(t.Default.Params, t.Max.Params) {
		p.failField(given("max"), "max", "is below default", "")
	}
}).wholeOnly()

// faster reports whether a admits more per time than b.
func faster(a, b limit.Params) bool {
	ah, al := bits.Mul64(uint64(a.Limit), uint64(b.WindowMS))
	bh, bl := bits.Mul64(uint64(b.Limit), uint64(a.WindowMS))
	return ah > bh || ah == bh && al > bl
}

// Of returns the rate of a request. Its ID is Default's when it is the default,
// and -1 otherwise: its numbers are the request's own.
func (f *RateFrom) Of(v *source.View) Rate {
	const longest = 40 // bytes
	text, ok := f.Source.Value(v)
	if !ok || len(text) > longest {
		return f.Default
	}
	r := f.Default
	if n, ok := ParseUnits(text); ok {
		r.Params.Limit = n
	} else {
		own, msg := parseRate(text)
		if msg != "" || !f.window(&own) {
			return f.Default
		}
		r.Params.Limit, r.Params.WindowMS, r.unit = own.Params.Limit, own.Params.WindowMS, own.unit
	}
	if f.Max.Params.WindowMS > 0 && faster(r.Params, f.Max.Params) {
		r.Params.Limit, r.Params.WindowMS, r.unit = f.Max.Params.Limit, f.Max.Params.WindowMS, f.Max.unit
	}
	if r.Params.Limit == f.Default.Params.Limit && r.Params.WindowMS == f.Default.Params.WindowMS {
		return f.Default
	}
	if f.algorithm.Check(&r.Params) != nil {
		return f.Default
	}
	r.ID = -1
	r.Text = text
	if r.Params.WindowMS != f.Default.Params.WindowMS {
		// Another window is a counter of its own.
		f.named.place(&r)
	}
	return r
}

// window reports whether the window of r can be one of the limit's: any, save
// that a calendar keeps its period.
func (f *RateFrom) window(r *Rate) bool {
	if takes(f.algorithm, optionTimezone) {
		return r.unit == f.Default.unit
	}
	return r.unit != limit.Month && r.unit != limit.Year
}

// finish completes f for its limit, whose rate is f's default. v is the rate.
func (f *RateFrom) finish(p *parser, v *jsontext.Value, d *draft) {
	f.Default = d.Rates[0]
	f.algorithm = d.Algorithm
	f.named = d.naming(p)
	if f.Max.Params.WindowMS == 0 {
		return
	}
	at := v.Get("max")
	p.in("rate")
	defer p.out()
	if !f.window(&f.Max) {
		p.failField(at, "max", "has another kind of window than default", "")
		return
	}
	most := f.Default.Params
	most.Limit, most.WindowMS = f.Max.Params.Limit, f.Max.Params.WindowMS
	if err := f.algorithm.Check(&most); err != nil {
		p.failField(at, "max", err.Error(), "")
	}
}

// sources is a source.
func sources() kind[source.Source] {
	return worded("a source", func(p *parser, v *jsontext.Value, _ string, to *source.Source) bool {
		s, ok := boundSource(p, v)
		if ok {
			*to = s
		}
		return ok
	}).as(Type{Name: "source"})
}

// boundSource reads a source that may refer to the templates of its limit's path.
func boundSource(p *parser, v *jsontext.Value) (source.Source, bool) {
	s, ok := parseSource(p, v)
	if ok {
		s = p.bind(v, s)
	}
	return s, ok
}
