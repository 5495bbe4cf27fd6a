package limit

import (
	"errors"
	"sync/atomic"
	"time"
)

// Unit is the length of a calendar's periods.
type Unit int

// A calendar's units.
const (
	Hour Unit = iota
	Day
	Week
	Month
	Year
)

// Calendar says where the periods of a calendar quota begin. A period's start
// that a change of clocks skips is the moment of the change; one that happens
// twice is its first time.
type Calendar struct {
	Unit       Unit
	Zone       *time.Location // nil = UTC
	DayStarts  time.Duration  // after midnight by the wall clock: when days, and the longer periods, begin; 0 ≤ DayStarts < 24 h
	WeekStarts time.Weekday

	last atomic.Pointer[periods]
}

type periods struct{ starts [4]int64 }

// Starts are the starts, in ms, of the period before now's, of now's, and of the
// two after it.
func (c *Calendar) Starts(now Micros) [4]int64 {
	ms := floorDiv(now, 1000)
	if p := c.last.Load(); p != nil && p.starts[1] <= ms && ms < p.starts[2] {
		return p.starts
	}
	current := c.start(time.UnixMilli(ms))
	next := c.next(current)
	starts := [4]int64{
		c.start(current.Add(-time.Millisecond)).UnixMilli(),
		current.UnixMilli(), next.UnixMilli(), c.next(next).UnixMilli(),
	}
	c.last.Store(&periods{starts})
	return starts
}

func (c *Calendar) zone() *time.Location {
	if c.Zone == nil {
		return time.UTC
	}
	return c.Zone
}

// start is when the period of t began.
func (c *Calendar) start(t time.Time) time.Time {
	t = t.In(c.zone())
	if c.Unit == Hour {
		start := t.Add(-sinceHour(t))
		if changed, _ := t.ZoneBounds(); changed.After(start) {
			return changed
		}
		return start
	}
	y, m, d := c.first(t.Date())
	start := c.at(y, m, d)
	if start.After(t) { // the day hasn't started yet
		y, m, d = c.first(c.date(y, m, d-1))
		start = c.at(y, m, d)
	}
	if next := c.following(y, m, d); !next.After(t) {
		return next
	}
	return start
}

// next is when the period that began at start ends.
func (c *Calendar) next(start time.Time) time.Time {
	if c.Unit == Hour {
		next := start.Add(time.Hour - sinceHour(start))
		if _, changes := start.ZoneBounds(); !changes.IsZero() && changes.Before(next) {
			return changes
		}
		return next
	}
	y, m, d := c.first(start.In(c.zone()).Date())
	if next := c.at(y, m, d); next.After(start) {
		return next // start belongs to a date that the change of clocks skipped
	}
	next := c.following(y, m, d)
	for !next.After(start) {
		y, m, d = c.first(c.date(y, m, d+1))
		next = c.following(y, m, d)
	}
	return next
}

func sinceHour(t time.Time) time.Duration {
	return time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
}

// date normalizes a date: the 0th of March is the last of February.
func (c *Calendar) date(y int, m time.Month, d int) (int, time.Month, int) {
	return time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Date()
}

// first is the first date of the period that the date lies in.
func (c *Calendar) first(y int, m time.Month, d int) (int, time.Month, int) {
	switch c.Unit {
	case Week:
		back := (int(time.Date(y, m, d, 12, 0, 0, 0, time.UTC).Weekday()) - int(c.WeekStarts) + 7) % 7
		return c.date(y, m, d-back)
	case Month:
		return y, m, 1
	case Year:
		return y, time.January, 1
	}
	return y, m, d
}

// following is when the period ends whose first date is given.
func (c *Calendar) following(y int, m time.Month, d int) time.Time {
	switch c.Unit {
	case Week:
		d += 7
	case Month:
		m++
	case Year:
		y++
	default:
		d++
	}
	return c.at(c.date(y, m, d))
}

// at is the first moment of a date at which the wall clock shows DayStarts or
// later.
func (c *Calendar) at(y int, m time.Month, d int) time.Time {
	wall := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Add(c.DayStarts)
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, c.zone())
	from, till := t.ZoneBounds()
	switch shown := wallClock(t); {
	case shown.Before(wall): // skipped, and t is too early: the change is next
		return till
	case shown.After(wall): // skipped, and t is past the change
		return from
	}
	// It happens twice where the clock of before the last change shows it, too.
	if !from.IsZero() {
		_, offset := from.Add(-time.Second).Zone()
		earlier := wall.Add(-time.Duration(offset) * time.Second).In(c.zone())
		if earlier.Before(from) && wallClock(earlier).Equal(wall) {
			return earlier
		}
	}
	return t
}

// wallClock is what a clock on the wall shows at t, as if it were UTC.
func wallClock(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.Add(time.Duration(offset) * time.Second).UTC()
}

// CalendarQuota counts in the hours, days, weeks, months or years of a time
// zone. The gateway computes where they begin, and Redis's time picks one.
var CalendarQuota = register(Algorithm{
	Name:    "calendar",
	Script:  "calendar",
	Suffix:  "cal1",
	Code:    5,
	share:   calendarShare,
	Options: []string{"timezone", "day_starts", "week_starts"},
	Args: func(dst []int64, p *Params, now Micros) []int64 {
		s := p.Calendar.Starts(now)
		return append(dst, p.Limit, s[0], s[1], s[2], s[3])
	},
	NArgs: 5,
	New: func(p Params) Model {
		return &period{p: p, bounds: func(p *Params, now Micros) (start, stop int64) {
			s := p.Calendar.Starts(now)
			return s[1], s[2]
		}}
	},
	Check: func(p *Params) error {
		c := p.Calendar
		switch {
		case p.Limit < 0 || p.Limit > maxExact:
			return errors.New("the limit must be from 0 to 2^53")
		case c == nil || c.Unit < Hour || c.Unit > Year:
			return errors.New("a calendar's periods are hours, days, weeks, months or years")
		case c.DayStarts < 0 || c.DayStarts >= 24*time.Hour:
			return errors.New("day_starts must be from 00:00 to 23:59")
		case c.WeekStarts < time.Sunday || c.WeekStarts > time.Saturday:
			return errors.New("week_starts must be a day of the week")
		}
		return nil
	},
	Doc: "never more than N in an hour, day, week, month or year of a time zone, whatever its clocks do",
})
