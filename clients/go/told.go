package backoff

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Told is how long an answer's headers say to wait, 0 if they don't: Retry-After,
// in seconds or as a date, else the seconds t of RateLimit (the IETF's draft 10)
// among those limits that have nothing left. hopeless reports that some limit is
// told and each has something left: the request was refused because it is too
// large, and waiting doesn't help.
func Told(h http.Header, now time.Time) (wait time.Duration, hopeless bool) {
	if v := strings.TrimSpace(h.Get("Retry-After")); v != "" {
		// A number too large is the largest.
		if n, err := strconv.ParseUint(v, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) {
			return time.Duration(n) * time.Second, false
		}
		if at, err := http.ParseTime(v); err == nil {
			// Both dates are the server's: how its clock differs from ours is no matter.
			if date, err := http.ParseTime(h.Get("Date")); err == nil {
				now = date
			}
			return max(at.Sub(now), 0), false
		}
	}
	some, spent := false, false
	for _, line := range h.Values("RateLimit") {
		for _, member := range split(line, ',') {
			remaining, reset, ok := limit(member)
			some = some || ok
			if ok && remaining == 0 {
				spent = true
				wait = max(wait, time.Duration(reset)*time.Second)
			}
		}
	}
	return wait, some && !spent
}

// limit reads a member of RateLimit, such as "per-ip";r=0;t=2.
func limit(member string) (remaining, reset uint64, ok bool) {
	for i, part := range split(member, ';') {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if i == 0 {
			continue // the limit's name
		}
		n, err := strconv.ParseUint(value, 10, 31)
		switch {
		case name == "r" && err == nil:
			remaining, ok = n, true
		case name == "t" && err == nil:
			reset = n
		}
	}
	return remaining, reset, ok
}

// split cuts s at a separator that doesn't stand in quotes.
func split(s string, at byte) []string {
	var parts []string
	quoted, from := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == at && !quoted:
			parts = append(parts, s[from:i])
			from = i + 1
		}
	}
	return append(parts, s[from:])
}
