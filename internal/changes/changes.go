// Package changes says what becomes of the counts when one configuration takes
// another's place: which limits go on with theirs, and which start empty. It is
// for the tool only.
package changes

import (
	"slices"
	"strconv"
	"strings"

	"sluice/internal/config"
	counting "sluice/internal/limit"
)

// Kind is what happens to a limit's counts.
type Kind string

// Kinds of changes.
const (
	Added   Kind = "added"   // a new limit, empty
	Removed Kind = "removed" // its counters expire by themselves
	Empty   Kind = "empty"   // goes on under another name in Redis: starts empty
	Number  Kind = "number"  // another number, burst or window: the counts stay
	Other   Kind = "other"   // something that has nothing to do with counts
)

// Change is what happens to one limit, or with Limit "" to all.
type Change struct {
	Limit string `json:"limit"`
	Kind  Kind   `json:"kind"`
	Text  string `json:"text"`
}

// Between lists the changes from one configuration to another, in the order of
// the new one, removed limits last. Limits that stay as they are aren't listed.
func Between(old, now *config.Policy) []Change {
	var out []Change
	if why := allEmpty(old, now); why != "" {
		out = append(out, Change{Kind: Empty, Text: why + ": every limit starts empty"})
	}
	before := map[string]*config.Limit{}
	for _, l := range old.Limits {
		before[l.Name] = l
	}
	for _, l := range now.Limits {
		was := before[l.Name]
		delete(before, l.Name)
		if was == nil {
			out = append(out, Change{l.Name, Added, "new: starts empty"})
			continue
		}
		out = append(out, limit(old, now, was, l)...)
	}
	for _, l := range old.Limits {
		if before[l.Name] != nil {
			out = append(out, Change{l.Name, Removed, "no longer there; its counters expire by themselves"})
		}
	}
	return out
}

// allEmpty is why every limit starts empty, "" when not all do.
func allEmpty(old, now *config.Policy) string {
	a, b := &old.Redis, &now.Redis
	switch {
	case a.Prefix != b.Prefix:
		return "redis.prefix " + a.Prefix + " → " + b.Prefix
	case a.DB != b.DB:
		return "redis.db " + strconv.FormatInt(a.DB, 10) + " → " + strconv.FormatInt(b.DB, 10)
	}
	return ""
}

// limit compares a limit with what it was.
func limit(oldPolicy, nowPolicy *config.Policy, old, now *config.Limit) []Change {
	if why := empties(oldPolicy, nowPolicy, old, now); why != "" {
		return []Change{{now.Name, Empty, why + ": starts empty"}}
	}
	var out []Change
	say := func(k Kind, text string) { out = append(out, Change{now.Name, k, text}) }
	rates(old, now, say)
	for _, f := range []struct{ name, old, now string }{
		{"match", old.Match.String(), now.Match.String()},
		{"shadow", strconv.FormatBool(old.Shadow), strconv.FormatBool(now.Shadow)},
		{"on_error", old.OnError.String(), now.OnError.String()},
		{"group", old.Group, now.Group},
		{"enforce", percent(old.Enforce), percent(now.Enforce)},
	} {
		if f.old != f.now {
			say(Other, f.name+" "+orNone(f.old)+" → "+orNone(f.now)+"; the counts stay")
		}
	}
	return out
}

func percent(n int64) string {
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/100, 'f', 2, 64), ".00") + "%"
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// empties is what changed so that the limit's counters have other names or
// another meaning; "" for nothing.
func empties(oldPolicy, nowPolicy *config.Policy, old, now *config.Limit) string {
	var why []string
	say := func(field, a, b string) {
		if a != b {
			why = append(why, field+" "+orNone(a)+" → "+orNone(b))
		}
	}
	say("algorithm", old.Algorithm.Name, now.Algorithm.Name)
	if old.Algorithm.Name == now.Algorithm.Name {
		say("storage", old.Algorithm.Storage, now.Algorithm.Storage)
		say("format", old.Algorithm.Suffix, now.Algorithm.Suffix)
	}
	say("key", old.Key.String(), now.Key.String())
	say("hash_tag", old.HashTag.String(), now.HashTag.String())
	if now.Key != nil {
		say("hash_keys", strconv.FormatBool(oldPolicy.HashKeys), strconv.FormatBool(nowPolicy.HashKeys))
		say("hash_secret_env", oldPolicy.HashSecretEnv, nowPolicy.HashSecretEnv)
	}
	return strings.Join(why, ", ")
}

// rates compares the windows of a limit by the counters that they have.
func rates(old, now *config.Limit, say func(Kind, string)) {
	was := map[string]*config.Rate{} // by the counter's name
	for i := range old.Rates {
		was[old.Rates[i].Counter()] = &old.Rates[i]
	}
	for i := range now.Rates {
		r := &now.Rates[i]
		b := was[r.Counter()]
		delete(was, r.Counter())
		switch {
		case b == nil:
			say(Empty, "rate "+r.Text+" has a counter of its own: starts empty")
		case b.Params.WindowMS != r.Params.WindowMS:
			say(Number, "rate "+b.Text+" → "+r.Text+": what lies within both windows stays")
		case b.Params.Limit != r.Params.Limit:
			say(Number, "rate "+b.Text+" → "+r.Text+": the counts stay")
		case !same(b, r):
			say(Number, "another burst, wait, hold or time zone: the counts stay")
		}
	}
	for i := range old.Rates {
		if was[old.Rates[i].Counter()] != nil {
			say(Removed, "rate "+old.Rates[i].Text+" is no longer there; its counters expire by themselves")
		}
	}
	if len(old.Overrides) != len(now.Overrides) || !slices.EqualFunc(old.Overrides, now.Overrides, sameOverride) {
		say(Number, "the overrides changed: counts stay where the window does, another window has a counter of its own")
	}
}

func sameOverride(a, b config.Override) bool {
	return a.When.String() == b.When.String() && a.Unlimited == b.Unlimited &&
		slices.EqualFunc(a.Rates, b.Rates, func(x, y config.Rate) bool { return same(&x, &y) })
}

// same reports whether two rates have the same numbers.
func same(a, b *config.Rate) bool {
	x, y := a.Params, b.Params
	if (x.Calendar == nil) != (y.Calendar == nil) {
		return false
	}
	if x.Calendar != nil {
		p, q := x.Calendar, y.Calendar
		if p.Unit != q.Unit || p.DayStarts != q.DayStarts || p.WeekStarts != q.WeekStarts || zone(p.Zone) != zone(q.Zone) {
			return false
		}
	}
	x.Calendar, y.Calendar = nil, nil
	return x == y
}

// zone is a time zone's name; nil is UTC.
func zone(z *counting.Zone) string {
	if z == nil {
		return "UTC"
	}
	return z.Name
}
