package limit

import (
	"errors"
	"sync/atomic"
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
	Zone       *Zone // nil = UTC
	DayStarts  int64 // seconds after midnight by the wall clock: when days, and the longer periods, begin; below 24 h
	WeekStarts int64 // day on which weeks begin, 0 is Sunday

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
	// Clocks change, and periods begin, at whole seconds.
	current := c.start(floorDiv(ms, 1000))
	next := c.next(current)
	starts := [4]int64{c.start(current - 1), current, next, c.next(next)}
	for i := range starts {
		starts[i] *= 1000
	}
	c.last.Store(&periods{starts})
	return starts
}

// wall is what a clock on the wall shows at a moment, as if it were UTC: seconds.
func (c *Calendar) wall(t int64) int64 {
	offset, _, _ := c.Zone.At(t)
	return t + offset
}

// start is when the period of t began, Unix seconds.
func (c *Calendar) start(t int64) int64 {
	if c.Unit == Hour {
		offset, changed, _ := c.Zone.At(t)
		return max(t-floorMod(t+offset, 3600), changed)
	}
	day := c.first(floorDiv(c.wall(t), 86400))
	start := c.at(day)
	if start > t { // the day hasn't started yet
		day = c.first(day - 1)
		start = c.at(day)
	}
	if next := c.at(c.following(day)); next <= t {
		return next
	}
	return start
}

// next is when the period that began at start ends.
func (c *Calendar) next(start int64) int64 {
	if c.Unit == Hour {
		offset, _, changes := c.Zone.At(start)
		return min(start+3600-floorMod(start+offset, 3600), changes)
	}
	day := c.first(floorDiv(c.wall(start), 86400))
	if next := c.at(day); next > start {
		return next // start belongs to a date that the change of clocks skipped
	}
	next := c.at(c.following(day))
	for next <= start {
		day = c.first(day + 1)
		next = c.at(c.following(day))
	}
	return next
}

// first is the first day of the period that a day lies in; days count from
// 1970-01-01.
func (c *Calendar) first(day int64) int64 {
	y, m, _ := civil(day)
	switch c.Unit {
	case Week:
		return day - floorMod(weekday(day)-c.WeekStarts, 7)
	case Month:
		return days(y, m, 1)
	case Year:
		return days(y, 1, 1)
	}
	return day
}

// following is the first day of the period after the one with this first day.
func (c *Calendar) following(day int64) int64 {
	y, m, d := civil(day)
	switch c.Unit {
	case Week:
		return day + 7
	case Month:
		return days(y, m+1, d)
	case Year:
		return days(y+1, m, d)
	}
	return day + 1
}

// at is the first moment of a day at which the wall clock shows DayStarts or
// later.
func (c *Calendar) at(day int64) int64 {
	const most = 16 * 3600 // no clock is further from UTC, seconds
	wall := day*86400 + c.DayStarts
	for t := wall - most; ; {
		offset, _, till := c.Zone.At(t)
		// At t itself where a change of clocks skipped the moment.
		if at := max(t, wall-offset); at < till {
			return at
		}
		t = till
	}
}

// CalendarQuota counts in the hours, days, weeks, months or years of a time
// zone. The gateway computes where they begin, and Redis's time picks one.
var CalendarQuota = &Algorithm{
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
		case c.DayStarts < 0 || c.DayStarts >= 86400:
			return errors.New("day_starts must be from 00:00 to 23:59")
		case c.WeekStarts < 0 || c.WeekStarts > 6:
			return errors.New("week_starts must be a day of the week")
		}
		return nil
	},
	Doc: "never more than N in an hour, day, week, month or year of a time zone, whatever its clocks do",
}
