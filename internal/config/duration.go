package config

import (
	"strconv"
	"strings"

	"sluice/internal/jsontext"
)

// units are the fixed lengths of time, each with its spellings, the first of
// which is used when one is written back.
var units = []struct {
	names []string
	ms    int64
}{
	{[]string{"ms", "millisecond", "milliseconds"}, 1},
	{[]string{"s", "sec", "second", "seconds"}, 1000},
	{[]string{"min", "m", "minute", "minutes"}, 60_000},
	{[]string{"h", "hour", "hours"}, 3_600_000},
	{[]string{"d", "day", "days"}, 86_400_000},
	{[]string{"w", "week", "weeks"}, 604_800_000},
}

// unitPattern is the spellings of all units as a regular expression.
const unitPattern = "(ms|millisecond|milliseconds|s|sec|second|seconds|min|m|minute|minutes|h|hour|hours|d|day|days|w|week|weeks)"

// maxMS is the longest duration: 366 days.
const maxMS = 366 * 86_400_000

// ParseDuration reads a whole number and a unit: 250ms, 2s, 15min, 1h, 7d. The
// number may be left out when bare is true. It returns milliseconds, or an
// error's message.
func parseDuration(s string, bare bool) (ms int64, message string) {
	digits := 0
	for digits < len(s) && '0' <= s[digits] && s[digits] <= '9' {
		digits++
	}
	n := int64(1)
	if digits > 0 {
		var err error
		if n, err = strconv.ParseInt(s[:digits], 10, 64); err != nil {
			n = maxMS + 1
		}
	} else if !bare {
		return 0, quote(s) + " is not a duration, such as 250ms, 2s, 15min, 1h or 7d"
	}
	unit := strings.TrimSpace(s[digits:])
	for _, u := range units {
		for _, name := range u.names {
			if name != unit {
				continue
			}
			if n > maxMS/u.ms {
				return 0, quote(s) + " is longer than 366 days"
			}
			return n * u.ms, ""
		}
	}
	if unit == "" {
		return 0, quote(s) + " lacks a unit, such as ms, s, min, h or d"
	}
	return 0, quote(s) + " is not a duration, such as 250ms, 2s, 15min, 1h or 7d"
}

// formatMS writes milliseconds in the largest unit up to days that divides
// them.
func formatMS(ms int64) string {
	for i := len(units) - 2; i > 0; i-- {
		if ms >= units[i].ms && ms%units[i].ms == 0 {
			return strconv.FormatInt(ms/units[i].ms, 10) + units[i].names[0]
		}
	}
	return strconv.FormatInt(ms, 10) + "ms"
}

// durationMS is a length of time from lo to hi, milliseconds.
func durationMS(lo, hi int64) kind[int64] { return duration(lo, hi, 1) }

// durationUS is a length of time from lo to hi, milliseconds, kept as microseconds.
func durationUS(lo, hi int64) kind[int64] { return duration(lo, hi, 1000) }

// duration is a length of time from lo to hi, milliseconds, kept as a multiple of it.
//
//go:noinline
func duration(lo, hi, times int64) kind[int64] {
	return worded("a duration", func(p *parser, v *jsontext.Value, s string, to *int64) bool {
		ms, msg := parseDuration(s, false)
		if msg != "" {
			return p.fail(v, msg)
		}
		if ms < lo || ms > hi {
			return p.fail(v, "expected a duration from "+formatMS(lo)+" to "+formatMS(hi)+", not "+s)
		}
		*to = ms * times
		return true
	}).as(Type{Name: "duration", Doc: "A whole number and a unit: `250ms`, `2s`, `15min`, `1h`, `7d`.", Pattern: "^[0-9]+ *" + unitPattern + "$"})
}
