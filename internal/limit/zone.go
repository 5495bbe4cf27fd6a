package limit

import "sort"

// Zone is a time zone: how far its clocks are from UTC, and when that changes.
// A nil Zone is UTC. It is immutable.
type Zone struct {
	Name string // IANA name
	// Changes are the moments at which its clocks change, Unix seconds,
	// ascending. Offsets has one more: what holds before each, and after the
	// last; seconds east of UTC.
	Changes []int64
	Offsets []int64
	// Yearly is what holds after the last of Changes, each year anew; nil where
	// clocks don't change any more.
	Yearly *Yearly
}

// Yearly is a change of clocks, forth and back, that comes each year.
type Yearly struct {
	Standard, Saving int64 // seconds east of UTC
	Forth, Back      DayRule
}

// DayRule is a moment of each year: the Weekday (0 is Sunday) of a month that is
// its Nth, or its last where Nth is 5; and seconds after that day's midnight by
// the clock that held until then, which can be below 0 or beyond a day.
type DayRule struct {
	Month, Nth, Weekday, Seconds int64
}

// What stands for no change before, and none after.
const (
	always  = -1 << 62
	forever = 1 << 62
)

// At returns what a zone's clocks are from UTC at a moment, and from when until
// when: seconds.
func (z *Zone) At(t int64) (offset, from, till int64) {
	if z == nil {
		return 0, always, forever
	}
	n := len(z.Changes)
	i := sort.Search(n, func(i int) bool { return z.Changes[i] > t })
	from, till = always, forever
	if i > 0 {
		from = z.Changes[i-1]
	}
	if i < n {
		return z.Offsets[i], from, z.Changes[i]
	}
	if z.Yearly == nil {
		return z.Offsets[n], from, till
	}
	offset, lo, hi := z.Yearly.at(t)
	if lo <= from {
		// The rule's own last change lies before the zone keeps it.
		lo = from
	}
	return offset, lo, hi
}

// at is Zone.At for a zone that always had the rule.
func (y *Yearly) at(t int64) (offset, from, till int64) {
	year, _, _ := civil(floorDiv(t, 86400))
	from = always
	for at := year - 1; ; at++ {
		forth := y.Forth.in(at) - y.Standard
		back := y.Back.in(at) - y.Saving
		a, b := y.Saving, y.Standard // what holds after the earlier and the later
		if forth > back {
			forth, back = back, forth
			a, b = b, a
		}
		if t < forth {
			return b, from, forth
		}
		if t < back {
			return a, forth, back
		}
		from = back
	}
}

// in is the moment in a year, as a clock on the wall shows it: seconds.
func (r DayRule) in(year int64) int64 {
	if r.Nth == 5 {
		end := days(year, r.Month+1, 1) - 1
		return (end-floorMod(weekday(end)-r.Weekday, 7))*86400 + r.Seconds
	}
	begin := days(year, r.Month, 1)
	return (begin+floorMod(r.Weekday-weekday(begin), 7)+7*(r.Nth-1))*86400 + r.Seconds
}

func floorMod(a, b int64) int64 { return a - b*floorDiv(a, b) }

// weekday is the day of the week of a day since 1970-01-01, a Thursday; 0 is
// Sunday.
func weekday(day int64) int64 { return floorMod(day+4, 7) }

// days counts the days from 1970-01-01 to a date, which need not be a proper
// one: the 0th is the last of the month before, month 13 the next January.
func days(y, m, d int64) int64 {
	// Years that begin in March have the leap day at their end.
	m -= 3
	y += floorDiv(m, 12)
	m = floorMod(m, 12)
	return y*365 + floorDiv(y, 4) - floorDiv(y, 100) + floorDiv(y, 400) + (153*m+2)/5 + d - 1 - 719468
}

// civil is the date of a day since 1970-01-01.
func civil(day int64) (y, m, d int64) {
	const era = 146097 // days of 400 years
	day += 719468
	e := floorDiv(day, era)
	day -= e * era
	y = (day - day/1460 + day/36524 - day/146096) / 365
	day -= y*365 + y/4 - y/100
	m = (5*day + 2) / 153
	d = day - (153*m+2)/5 + 1
	m += 3
	if m > 12 {
		m -= 12
		y++
	}
	return y + e*400, m, d
}
