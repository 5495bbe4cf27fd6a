package config

import (
	"slices"

	"sluice/internal/jsontext"
	"sluice/internal/limit"
	"sluice/internal/limit/zone"
)

// option is a field of a limit that only some algorithms take; they list it in
// their Options.
type option struct {
	name string
	// set puts its value into the numbers of one rate.
	set func(p *limit.Params, v *optionValue)
	// absent is what holds without the field.
	absent int64
	doc    string
}

// optionValue is the value of an option.
type optionValue struct {
	given bool
	n     int64
	zone  *limit.Zone // the time zone's
}

// Positions of options in options, whose order is that of the reference.
const (
	optionBurst = iota // overrides can change it
	optionBuckets
	optionMaxWait
	optionMax // takes the rate's place
	optionMaxHold
	optionTimezone // periods are a calendar's
	optionDayStarts
	optionWeekStarts
	optionCount
)

// options are all such fields.
var options = [optionCount]option{
	{
		name: "burst", set: func(p *limit.Params, v *optionValue) { p.Burst = v.n },
		doc: "Token and leaky bucket: the bucket's whole capacity; default the rate's number, and of a queue what `max_wait` says.",
	},
	{
		name: "buckets", set: func(p *limit.Params, v *optionValue) { p.Buckets = v.n },
		doc: "sliding_counter: how many sub-windows; default 10.",
	},
	{
		name: "max_wait", set: func(p *limit.Params, v *optionValue) { p.WaitMS = v.n },
		doc: "leaky_bucket: requests are delayed so that they pass evenly spaced, at most for this long; default none is.",
	},
	{
		name: "max", set: func(p *limit.Params, v *optionValue) { p.Limit = v.n },
		doc: "concurrency, instead of a rate: how many requests may be in flight.",
	},
	{
		name: "max_hold", set: func(p *limit.Params, v *optionValue) { p.HoldMS = v.n },
		doc:    "concurrency: how long a request counts whose end nobody reported; default 5min.",
		absent: 300_000,
	},
	{
		name: "timezone", set: func(p *limit.Params, v *optionValue) { p.Calendar.Zone = v.zone },
		doc: "calendar: the time zone of its periods, by its IANA name; default UTC.",
	},
	{
		name: "day_starts", set: func(p *limit.Params, v *optionValue) { p.Calendar.DayStarts = v.n },
		doc: "calendar: when days, and the longer periods, begin; default 00:00.",
	},
	{
		name: "week_starts", set: func(p *limit.Params, v *optionValue) { p.Calendar.WeekStarts = v.n },
		doc:    "calendar: the day on which weeks begin; default monday.",
		absent: 1,
	},
}

// givenOptions are the options of a limit.
type givenOptions [optionCount]optionValue

// optionRows are the options as fields of a limit, with their places in its defaults.
// One that no algorithm takes is not there yet.
func optionRows(at *givenOptions) []*field {
	var rows []*field
	for i, k := range [...]kind[optionValue]{
		optionBurst:      number(integer(1, MaxLimit)),
		optionBuckets:    number(integer(1, 100)),
		optionMaxWait:    number(durationMS(0, 600_000)),
		optionMax:        number(integer(0, MaxLimit)),
		optionMaxHold:    number(durationMS(1000, maxMS)),
		optionTimezone:   timezone(),
		optionDayStarts:  number(clockTime()),
		optionWeekStarts: number(weekday()),
	} {
		o := &options[i]
		f := row(o.name, &at[i], k, "", o.doc)
		f.soon = !taken(i)
		rows = append(rows, f)
	}
	return rows
}

// number is the number of an option.
//
//go:noinline
func number(k kind[int64]) kind[optionValue] {
	return kind[optionValue]{newKind(func(p *parser, v *jsontext.Value, to *optionValue) bool {
		to.given = k.read(p, v, &to.n)
		return to.given
	}).like(k.reader)}
}

// timezone is the IANA name of a time zone.
//
//go:noinline
func timezone() kind[optionValue] {
	return worded("a time zone", func(p *parser, v *jsontext.Value, s string, to *optionValue) bool {
		z, err := zone.Load(s)
		if err != nil {
			return p.fail(v, err.Error())
		}
		to.given, to.zone = true, z
		return true
	}).as(Type{Name: "time zone", Doc: "An IANA name: `Europe/Berlin`, `UTC`."})
}

// weekday is the name of a day, as its number after sunday.
//
//go:noinline
func weekday() kind[int64] {
	names := []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"}
	return newKind(func(p *parser, v *jsontext.Value, to *int64) bool {
		i := oneOf(p, v, names)
		*to = int64(i+1) % 7
		return i >= 0
	}).as(Type{Kind: TextType, Enum: names})
}

// clockTime is a time of day to the minute, as seconds after midnight.
//
//go:noinline
func clockTime() kind[int64] {
	return worded("a text", func(p *parser, v *jsontext.Value, s string, to *int64) bool {
		if !isClockTime(s) {
			return p.fail(v, quote(s)+" is not a time of day from 00:00 to 23:59")
		}
		digit := func(i int) int64 { return int64(s[i] - '0') }
		*to = (digit(0)*10+digit(1))*3600 + (digit(3)*10+digit(4))*60
		return true
	}).as(Type{Pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$"})
}

// isClockTime reports whether s is a time of day from 00:00 to 23:59.
func isClockTime(s string) bool {
	if len(s) != 5 || s[2] != ':' {
		return false
	}
	for _, i := range []int{0, 1, 3, 4} {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s[:2] < "24" && s[3:] < "60"
}

// checkOptions reports options that a limit has and its algorithm doesn't take.
func checkOptions(p *parser, given givenFields, a *limit.Algorithm) {
	for i := range options {
		name := options[i].name
		if v := given(name); v.Exists() && !takes(a, i) {
			p.failField(v, name, a.Name+" doesn't take this field", "")
		}
	}
}

// apply sets the numbers of p that a takes: as given, else as they are without.
func (g *givenOptions) apply(a *limit.Algorithm, p *limit.Params) {
	for i := range options {
		if !takes(a, i) {
			continue
		}
		v := g[i]
		if !v.given {
			v.n = options[i].absent
		}
		options[i].set(p, &v)
	}
}

// taken reports whether any algorithm takes an option.
func taken(option int) bool {
	return slices.ContainsFunc(limit.Algorithms(), func(a *limit.Algorithm) bool { return takes(a, option) })
}

// takes reports whether an algorithm takes an option.
//
//go:noinline
func takes(a *limit.Algorithm, option int) bool {
	return slices.Contains(a.Options, options[option].name)
}
