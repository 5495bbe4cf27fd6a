package advice

import (
	"sluice/internal/config"
	"sluice/internal/stored"
)

func init() {
	register("rate-zero", rateZero)
	register("cost-above-limit", costAbove)
	register("large-value", largeValue)
}

// rateZero finds limits that reject everything.
func rateZero(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range s.Policy.Limits {
		for i := range l.Rates {
			if l.Rates[i].Params.Limit == 0 && enforced(l) {
				warn(rateField(l, i), "limit "+l.Rates[i].Name+" rejects every request that it matches",
					"that is right for switching something off; else give a number above 0")
			}
		}
	}
}

// costAbove finds requests that cost more than their limit ever has.
func costAbove(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range s.Policy.Limits {
		if l.Cost.Source != nil || l.Cost.BodyBytes {
			continue
		}
		for i := range l.Rates {
			most := l.Rates[i].Params.Limit
			if l.Algorithm.Quota != nil {
				most, _ = l.Algorithm.Quota(&l.Rates[i].Params)
			}
			if most > 0 && l.Cost.Fixed > most {
				warn(at(l, "cost"), "a request costs "+number(l.Cost.Fixed)+", more than limit "+l.Rates[i].Name+" ever has: all are rejected",
					"lower the cost, or raise the rate or burst to at least "+number(l.Cost.Fixed))
			}
		}
	}
}

// large is the size of a value from which on Redis feels it: reading and
// evicting it hold up everybody else.
const large = 1 << 20 // bytes

// largeValue finds counters whose storage grows with what they count.
func largeValue(s *Subject, warn func(path, message, remedy string)) {
	for _, l := range s.Policy.Limits {
		f := stored.Of(l.Algorithm)
		for i := range l.Rates {
			if n := f.Bytes(&l.Rates[i].Params); n >= large {
				warn(rateField(l, i), "a full counter of "+l.Rates[i].Name+" takes about "+Bytes(n)+" in Redis, and each key has one",
					remedyLarge(l))
			}
		}
	}
}

func remedyLarge(l *config.Limit) string {
	if l.Algorithm.Storage == "zset" {
		return "use storage: compact, which never takes more than about 8 kB; zset is for reading each hit"
	}
	return "use a smaller number"
}

// Bytes writes a size as people do.
func Bytes(n int64) string {
	switch {
	case n >= 10<<30:
		return number(n>>30) + " GB"
	case n >= 10<<20:
		return number(n>>20) + " MB"
	case n >= 10<<10:
		return number(n>>10) + " kB"
	case n >= 1<<10:
		return number(n>>10) + "." + number(n&1023*10>>10) + " kB"
	}
	return number(n) + " B"
}
