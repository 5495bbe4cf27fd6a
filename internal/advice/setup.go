package advice

import (
	"sluice/internal/config"
	"sluice/internal/ipaddr"
	"sluice/internal/match"
	"sluice/internal/source"
)

func init() {
	register("password-inline", passwordInline)
	register("trusts-everyone", trustsEveryone)
	register("unnamed-routes", unnamedRoutes)
	register("debug-open", debugOpen)
	register("timeout-short", timeoutShort)
}

// passwordInline finds a password in the configuration's text.
func passwordInline(s *Subject, warn func(path, message, remedy string)) {
	if s.Policy.Redis.Password != "" {
		warn("redis.password", "the password stands in the configuration, where Envoy's config_dump and whoever may read manifests can see it",
			"set it in Envoy's environment and name the variable with password_env")
	}
}

// strangers are addresses that are nobody's proxy.
var strangers = []ipaddr.Addr{
	ipaddr.From4([4]byte{8, 8, 8, 8}),
	ipaddr.From16([16]byte{0: 0x20, 1: 0x01, 2: 0x48, 3: 0x60, 4: 0x48, 5: 0x60, 14: 0x88, 15: 0x88}),
}

// trustsEveryone finds ways to a client's address that anyone may take.
func trustsEveryone(s *Subject, warn func(path, message, remedy string)) {
	c := &s.Policy.Source.Client
	for field, ranges := range map[string]*source.CIDRs{"client_ip.trusted": c.Trusted, "client_ip.from": c.From} {
		for _, a := range strangers {
			if ranges != nil && ranges.Contains(a) {
				warn(field, "everyone is believed: a caller can choose its own address",
					"list only the addresses of your own proxies")
				break
			}
		}
	}
}

// unnamedRoutes finds limits by route where Envoy's routes have no names.
func unnamedRoutes(s *Subject, warn func(path, message, remedy string)) {
	if s.RoutesUnnamed == 0 {
		return
	}
	what := number(int64(s.RoutesUnnamed)) + " of the " + number(int64(s.Routes)) + " routes in this file have no name, and without one `route` is missing"
	const remedy = "give each route a name"
	for _, l := range s.Policy.Limits {
		if field := usesRoute(l); field != "" {
			warn(at(l, field), what, remedy)
		}
	}
}

// usesRoute is the field of a limit that asks for the route, "" for none.
func usesRoute(l *config.Limit) string {
	for _, part := range l.Key.Parts() {
		for _, s := range part {
			if s.String() == "route" {
				return "key"
			}
		}
	}
	for _, c := range l.Match.Conditions() {
		if c.Source().String() == "route" {
			return "match"
		}
	}
	return ""
}

// debugOpen finds debug headers that need no secret.
func debugOpen(s *Subject, warn func(path, message, remedy string)) {
	if s.Policy.Debug == nil {
		return
	}
	for _, c := range s.Policy.Debug.Conditions() {
		for _, t := range match.Texts(c) {
			if t != "present" || !isChosen(c.Source().String()) {
				return // it needs a value, or something that a caller can't write
			}
		}
	}
	warn("debug.when", "anyone can ask for the debug headers", "ask for a secret value, as in {header:x-debug: SECRET}")
}

// tick is how often the plugin looks for calls that took too long, ms.
const tick = 4

// timeoutShort finds timeouts that are shorter than Envoy's timers can tell.
func timeoutShort(s *Subject, warn func(path, message, remedy string)) {
	if ms := s.Policy.Redis.TimeoutUS / 1000; ms < tick {
		warn("redis.timeout", number(ms)+"ms is less than a timer's step: calls are given up after "+number(tick)+" ms or more anyway, and a busy Redis looks like a dead one",
			"5ms is the least that makes sense, 20ms a good start")
	}
}
