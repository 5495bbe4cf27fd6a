package config

import (
	"slices"

	"sluice/internal/jsontext"
	"sluice/internal/limit"
	"sluice/internal/limit/zone"
)

// setter puts an option's value into the numbers of one rate.
type setter func(p *limit.Params)

// option is a field of a limit that only some algorithms take; they list it in
// their Options.
type option struct {
	name string
	kind kind[setter]
	doc  string
	// absent sets what holds without the field; nil leaves the zero value.
	absent setter
}

// Names of options that mean more than a number.
const (
	optionMax      = "max"      // takes the rate's place
	optionBurst    = "burst"    // overrides can change it
	optionTimezone = "timezone" // periods are a calendar's
)

// optionKind is a kind whose value f puts into the numbers.
//
//go:noinline
func optionKind[V any](k kind[V], f func(p *limit.Params, v V)) kind[setter] {
	return mapped(k, func(_ *parser, _ *jsontext.Value, v V) (setter, bool) {
		return func(p *limit.Params) { f(p, v) }, true
	})
}

// options are all such fields.
var options = []option{
	{
		name: optionBurst, kind: optionKind(integer(1, MaxLimit), func(p *limit.Params, n int64) { p.Burst = n }),
		doc: "Token and leaky bucket: the bucket's whole capacity; default the rate's number, and of a queue what `max_wait` says.",
	},
	{
		name: "buckets", kind: optionKind(integer(1, 100), func(p *limit.Params, n int64) { p.Buckets = n }),
		doc: "sliding_counter: how many sub-windows; default 10.",
	},
	{
		name: "max_wait", kind: optionKind(duration(0, 600_000), func(p *limit.Params, n int64) { p.WaitMS = n }),
		doc: "leaky_bucket: requests are delayed so that they pass evenly spaced, at most for this long; default none is.",
	},
	{
		name: optionMax, kind: optionKind(integer(0, MaxLimit), func(p *limit.Params, n int64) { p.Limit = n }),
		doc: "concurrency, instead of a rate: how many requests may be in flight.",
	},
	{
		name: "max_hold", kind: optionKind(duration(1000, maxMS), func(p *limit.Params, n int64) { p.HoldMS = n }),
		doc:    "concurrency: how long a request counts whose end nobody reported; default 5min.",
		absent: func(p *limit.Params) { p.HoldMS = 300_000 },
	},
	{
		name: optionTimezone, kind: optionKind(timezone(), func(p *limit.Params, z *limit.Zone) { p.Calendar.Zone = z }),
		doc: "calendar: the time zone of its periods, by its IANA name; default UTC.",
	},
	{
		name: "day_starts", kind: optionKind(clockTime(), func(p *limit.Params, seconds int64) { p.Calendar.DayStarts = seconds }),
		doc: "calendar: when days, and the longer periods, begin; default 00:00.",
	},
	{
		name: "week_starts", kind: optionKind(enum(weekdays), func(p *limit.Params, day int64) { p.Calendar.WeekStarts = day }),
		doc:    "calendar: the day on which weeks begin; default monday.",
		absent: func(p *limit.Params) { p.Calendar.WeekStarts = 1 },
	},
}

var weekdays = []choice[int64]{
	{"monday", 1}, {"tuesday", 2}, {"wednesday", 3}, {"thursday", 4}, {"friday", 5}, {"saturday", 6}, {"sunday", 0},
}

// timezone is the IANA name of a time zone.
//
//go:noinline
func timezone() kind[*limit.Zone] {
	return mapped(text(Type{Name: "time zone", Doc: "An IANA name: `Europe/Berlin`, `UTC`."}, nil), func(p *parser, v *jsontext.Value, s string) (*limit.Zone, bool) {
		z, err := zone.Load(s)
		if err != nil {
			return nil, p.fail(v, err.Error())
		}
		return z, true
	})
}

// clockTime is a time of day to the minute, as seconds after midnight.
//
//go:noinline
func clockTime() kind[int64] {
	return mapped(text(Type{Pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$"}, nil), func(p *parser, v *jsontext.Value, s string) (int64, bool) {
		if !isClockTime(s) {
			return 0, p.fail(v, quote(s)+" is not a time of day from 00:00 to 23:59")
		}
		digit := func(i int) int64 { return int64(s[i] - '0') }
		return (digit(0)*10+digit(1))*3600 + (digit(3)*10+digit(4))*60, true
	})
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

// givenOptions are the options that a limit has, by name.
type givenOptions map[string]setter

// optionRows are the options as fields of a limit. One that no algorithm takes
// is not there yet.
func optionRows() []field[draft] {
	var rows []field[draft]
	for i := range options {
		o := &options[i]
		r := row(o.name, o.kind, "", o.doc, func(t *draft, s setter) {
			if t.options == nil {
				t.options = givenOptions{}
			}
			t.options[o.name] = s
		})
		r.row.soon = !taken(o.name)
		rows = append(rows, r)
	}
	return rows
}

// checkOptions reports options that a limit has and its algorithm doesn't take.
func checkOptions(p *parser, given func(string) *jsontext.Value, a *limit.Algorithm) {
	for i := range options {
		o := &options[i]
		if v := given(o.name); v.Exists() && !takes(a, o.name) {
			p.failField(v, o.name, a.Name+" doesn't take this field", "")
		}
	}
}

// apply sets the numbers of p that a takes: as given, else as they are without.
func (g givenOptions) apply(a *limit.Algorithm, p *limit.Params) {
	for i := range options {
		o := &options[i]
		if !takes(a, o.name) {
			continue
		}
		if set := g[o.name]; set != nil {
			set(p)
		} else if o.absent != nil {
			o.absent(p)
		}
	}
}

// taken reports whether any algorithm takes an option.
func taken(option string) bool {
	return slices.ContainsFunc(limit.Algorithms(), func(a *limit.Algorithm) bool { return takes(a, option) })
}

// takes reports whether an algorithm takes an option.
func takes(a *limit.Algorithm, option string) bool { return slices.Contains(a.Options, option) }
