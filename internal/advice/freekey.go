package advice

import (
	"slices"
	"strings"

	"sluice/internal/config"
	"sluice/internal/key"
)

func init() {
	register("free-key", freeKey)
	register("missing-skip", missingSkip)
}

// chosen are the kinds of sources that hold whatever the caller writes there,
// unless a filter in front of sluice overwrites it.
var chosen = []string{"header:", "cookie:", "query:"}

func isChosen(name string) bool {
	return slices.ContainsFunc(chosen, func(kind string) bool { return strings.HasPrefix(name, kind) })
}

// free is the first source of a key that a caller chooses, "" for none.
func free(k *key.Key) string {
	for _, part := range k.Parts() {
		for _, s := range part {
			if isChosen(s.String()) {
				return s.String()
			}
		}
	}
	return ""
}

// freeKey finds limits that a caller walks around with a new value for each
// request, where no other limit stops that.
func freeKey(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range compared(s.Policy) {
		name := free(l.Key)
		if name == "" || bounded(s.Policy, l) {
			continue
		}
		warn(at(l, "key"),
			"a caller can choose "+name+" freely, and has a new counter with each value",
			"have a filter in front of sluice check or overwrite it, use jwt:CLAIM of a verified token, or add a limit with key: ip that matches as much")
	}
}

// bounded reports whether another limit stops a caller that changes its key: one
// for at least the same requests whose key nobody chooses.
func bounded(p *config.Policy, l *config.Limit) bool {
	return slices.ContainsFunc(p.Limits, func(o *config.Limit) bool {
		return o != l && enforced(o) && covers(l, o) && free(o.Key) == "" && (o.Missing == config.MissingShare || o.Key == nil)
	})
}

// missingSkip finds limits that a caller walks around by leaving its key out.
func missingSkip(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range compared(s.Policy) {
		if l.Missing != config.MissingSkip || free(l.Key) == "" || bounded(s.Policy, l) || requires(l) {
			continue
		}
		warn(at(l, "missing"),
			"a request without "+free(l.Key)+" is not limited at all",
			"leave missing at share, use deny, or add a limit for such requests")
	}
}

// requires reports whether the limit is only for requests that have the key.
func requires(l *config.Limit) bool {
	name := free(l.Key)
	for _, c := range l.Match.Conditions() {
		if c.Source().String() == name {
			return true
		}
	}
	return false
}
