package main

import (
	"fmt"
	"strconv"
	"strings"

	"sluice/internal/limit"
)

// parseRule reads a TZ string of POSIX: NST3:30NDT,M3.2.0,M11.1.0. It returns
// nil for one without a change.
func parseRule(s string) (*limit.Yearly, error) {
	zones, rules, ok := strings.Cut(s, ",")
	if !ok {
		return nil, nil
	}
	y := new(limit.Yearly)
	wrong := fmt.Errorf("the rule %q has an unknown form", s)
	rest, ok := cutName(zones)
	if !ok {
		return nil, wrong
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-:0123456789", r) })
	if end < 0 {
		return nil, wrong
	}
	west, err := seconds(rest[:end])
	if err != nil {
		return nil, err
	}
	y.Standard = -west
	y.Saving = y.Standard + 3600
	if rest, ok = cutName(rest[end:]); !ok {
		return nil, wrong
	}
	if rest != "" {
		if west, err = seconds(rest); err != nil {
			return nil, err
		}
		y.Saving = -west
	}
	forth, back, ok := strings.Cut(rules, ",")
	if !ok {
		return nil, wrong
	}
	if y.Forth, err = parseDay(forth); err != nil {
		return nil, err
	}
	y.Back, err = parseDay(back)
	return y, err
}

// cutName cuts a zone's abbreviation off: letters, or anything in < and >.
func cutName(s string) (rest string, ok bool) {
	if strings.HasPrefix(s, "<") {
		_, rest, ok = strings.Cut(s, ">")
		return rest, ok
	}
	n := 0
	for n < len(s) && ('a' <= s[n]|0x20 && s[n]|0x20 <= 'z') {
		n++
	}
	return s[n:], n >= 3
}

// parseDay reads M3.2.0/2:30: month, week, weekday, and the time of that day,
// without which it is two o'clock.
func parseDay(s string) (limit.DayRule, error) {
	day, at, timed := strings.Cut(s, "/")
	var d limit.DayRule
	if n, err := fmt.Sscanf(day, "M%d.%d.%d", &d.Month, &d.Nth, &d.Weekday); n != 3 || err != nil {
		return d, fmt.Errorf("the day %q has an unknown form", s)
	}
	d.Seconds = 2 * 3600
	var err error
	if timed {
		d.Seconds, err = seconds(at)
	}
	return d, err
}

// seconds reads [+-]h[:m[:s]].
func seconds(s string) (int64, error) {
	sign := int64(1)
	switch {
	case strings.HasPrefix(s, "-"):
		sign, s = -1, s[1:]
	case strings.HasPrefix(s, "+"):
		s = s[1:]
	}
	var sum int64
	unit := int64(3600)
	for _, part := range strings.Split(s, ":") {
		n, err := strconv.ParseInt(part, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n * unit
		unit /= 60
	}
	return sign * sum, nil
}
