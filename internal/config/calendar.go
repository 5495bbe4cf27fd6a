package config

import (
	"strings"

	"sluice/internal/limit"
)

// noUnit is the unit of a rate whose window is not a calendar's period.
const noUnit limit.Unit = -1

// calendarUnits are the periods of a calendar by their spellings, with their
// usual length. Months and years have no other.
var calendarUnits = []struct {
	names []string
	unit  limit.Unit
	ms    int64
}{
	{[]string{"h", "hour", "hours"}, limit.Hour, 3_600_000},
	{[]string{"d", "day", "days"}, limit.Day, 86_400_000},
	{[]string{"w", "week", "weeks"}, limit.Week, 604_800_000},
	{[]string{"month", "months"}, limit.Month, 30 * 86_400_000},
	{[]string{"y", "year", "years"}, limit.Year, 365 * 86_400_000},
}

// calendarUnit returns the period that the text after a rate's slash names,
// with its usual length, milliseconds.
func calendarUnit(s string) (limit.Unit, int64) {
	s = strings.TrimPrefix(s, "1")
	for _, u := range calendarUnits {
		for _, name := range u.names {
			if name == strings.TrimSpace(s) {
				return u.unit, u.ms
			}
		}
	}
	return noUnit, 0
}

// windowText writes a rate's window, as in the names of a list's rates.
func windowText(r *Rate) string {
	switch r.unit {
	case limit.Month:
		return "1month"
	case limit.Year:
		return "1year"
	}
	return formatMS(r.Params.WindowMS)
}

// fit makes a rate one of an algorithm, or returns why it can't be.
func (r *Rate) fit(a *limit.Algorithm) string {
	switch {
	case takes(a, optionTimezone):
		if r.unit == noUnit {
			return a.Name + " takes a rate per hour, day, week, month or year, not " + quote(r.Text)
		}
		r.Params.Calendar = &limit.Calendar{Unit: r.unit}
	case r.unit == limit.Month || r.unit == limit.Year:
		return quote(r.Text) + ": months and years differ in length; give a number of days, or algorithm: calendar"
	}
	return ""
}
