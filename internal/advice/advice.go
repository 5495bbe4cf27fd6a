// Package advice looks at a configuration that is right and says what in it is
// probably not meant: a limit that never rejects, a key that a caller chooses, a
// value that takes much memory. Each rule has a file, or is a row of one. It is
// for the tool only.
package advice

import (
	"cmp"
	"slices"
	"strconv"

	"sluice/internal/config"
	"sluice/internal/limit"
)

// Warning is something that is probably not meant.
type Warning struct {
	Rule string `json:"rule"` // a short name, such as never-binds
	Path string `json:"path"` // limits[1].key
	// Message says what is the matter, Remedy what to do.
	Message string `json:"message"`
	Remedy  string `json:"remedy"`
}

// Subject is what is looked at.
type Subject struct {
	Policy *config.Policy
	// Routes and RoutesUnnamed count the routes of the Envoy configuration around
	// it; 0 where there is none.
	Routes, RoutesUnnamed int
}

// rule finds one kind of mistake.
type rule struct {
	name string
	find func(s *Subject, warn func(path, message, remedy string))
}

var rules []rule

// register adds a rule; each rule's file calls it.
func register(name string, find func(s *Subject, warn func(path, message, remedy string))) {
	rules = append(rules, rule{name, find})
}

// Look returns the warnings about a configuration, in the order of its limits.
func Look(s *Subject) []Warning {
	var out []Warning
	for _, r := range rules {
		r.find(s, func(path, message, remedy string) {
			out = append(out, Warning{r.name, path, message, remedy})
		})
	}
	slices.SortStableFunc(out, func(a, b Warning) int {
		if a, b := place(a.Path), place(b.Path); a != b {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(a.Rule, b.Rule)
	})
	return out
}

// maxCompared bounds how many limits are compared with each other.
const maxCompared = 2000

func init() {
	register("not-compared", func(s *Subject, warn func(path, message, remedy string)) {
		if n := len(s.Policy.Limits); n > maxCompared {
			warn("limits", number(int64(n))+" limits are too many to compare each with each: which of them never reject isn't known",
				"check parts of the configuration by themselves")
		}
	})
}

// compared are the limits that others are compared with, none when there are too
// many.
func compared(p *config.Policy) []*config.Limit {
	if len(p.Limits) > maxCompared {
		return nil
	}
	return p.Limits
}

// place is the number of the limit that a path leads to, -1 for the rest.
func place(path string) int {
	if len(path) < 8 || path[:7] != "limits[" {
		return -1
	}
	i := 0
	for _, c := range path[7:] {
		if c < '0' || c > '9' {
			break
		}
		i = i*10 + int(c-'0')
	}
	return i
}

// at is the path of a limit's field.
func at(l *config.Limit, field string) string {
	return config.FieldPath(config.ItemPath("limits", l.Index), field)
}

// enforced reports whether a limit rejects, and does so for all of its keys.
func enforced(l *config.Limit) bool {
	return !l.Shadow && l.Tag == nil && l.Enforce == 10_000
}

// rateField is where a rate is written: rate, or a list's item, or max.
func rateField(l *config.Limit, i int) string {
	switch {
	case l.Algorithm.Holds:
		return at(l, "max")
	case l.RateFrom != nil:
		return at(l, "rate.default")
	case len(l.Rates) > 1:
		return config.ItemPath(at(l, "rate"), i)
	}
	return at(l, "rate")
}

// windowed reports whether an algorithm counts units in a window, so that no
// more than its limit are in any one.
func windowed(a *limit.Algorithm) bool {
	return a.Name == "sliding_log" || a.Name == "sliding_counter" || a.Name == "fixed_window"
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
