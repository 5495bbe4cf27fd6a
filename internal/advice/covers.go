package advice

import (
	"slices"
	"strings"

	"sluice/internal/config"
	"sluice/internal/key"
	"sluice/internal/match"
)

// covers reports whether b is for every request that a is for, as far as their
// texts tell; a false may be wrong, a true isn't.
func covers(a, b *config.Limit) bool {
	if b.Group != "" {
		return false // another limit of the group may come first, a itself even
	}
	if !implied(a.Match, b.Match) {
		return false
	}
	for _, e := range b.Except {
		same := func(o *match.Matcher) bool { return implied(e, o) }
		if !slices.ContainsFunc(a.Except, same) {
			return false
		}
	}
	return true
}

// implied reports whether whatever a holds for, b holds for.
func implied(a, b *match.Matcher) bool {
	for _, c := range b.Conditions() {
		if !slices.ContainsFunc(a.Conditions(), func(d match.Condition) bool { return narrower(d, c) }) {
			return false
		}
	}
	return true
}

// narrower reports whether condition c holds wherever a does.
func narrower(a, c match.Condition) bool {
	if a.Source().String() != c.Source().String() {
		return false
	}
	wide := match.Texts(c)
	for _, t := range match.Texts(a) {
		if !slices.ContainsFunc(wide, func(w string) bool { return within(a.Source().String(), t, w) }) {
			return false
		}
	}
	return len(wide) > 0
}

// within reports whether text w of a condition on a source holds wherever t does.
func within(source, t, w string) bool {
	if t == w || w == "present" && t != "absent" {
		return true
	}
	if source != "path" || strings.HasPrefix(t, "~") {
		return false
	}
	base, below := strings.CutSuffix(w, "/*")
	return below && !strings.ContainsAny(base, "{~") && (t == base || strings.HasPrefix(t, base+"/"))
}

// coarser reports whether requests that share a's counter share b's, too: all
// parts of b's key are among a's.
func coarser(a, b *config.Limit) bool {
	parts := b.Key.Parts()
	if len(parts) > 0 && b.Missing != config.MissingShare {
		return false // some of a's requests may have no counter at b
	}
	for _, p := range parts {
		if !slices.ContainsFunc(a.Key.Parts(), func(q key.Part) bool { return p.String() == q.String() }) {
			return false
		}
	}
	return true
}
