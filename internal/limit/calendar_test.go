package limit_test

import (
	"testing"
	"time"

	"sluice/internal/limit"
	"sluice/internal/limit/zone"
)

// load is a zone, and what Go makes of it.
func load(t *testing.T, name string) (*limit.Zone, *time.Location) {
	t.Helper()
	z, err := zone.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z, loc
}

func TestCalendarStarts(t *testing.T) {
	const form = "2006-01-02 15:04:05 -0700"
	for _, x := range []struct {
		name string
		c    *limit.Calendar
		zone string
		now  string
		want [4]string
	}{
		{"a plain day", &limit.Calendar{Unit: limit.Day}, "UTC", "2026-03-10 12:00:00 +0000",
			[4]string{"2026-03-09 00:00:00 +0000", "2026-03-10 00:00:00 +0000", "2026-03-11 00:00:00 +0000", "2026-03-12 00:00:00 +0000"}},
		{"a day of 23 hours", &limit.Calendar{Unit: limit.Day}, "Europe/Berlin", "2026-03-29 01:00:00 +0000",
			[4]string{"2026-03-28 00:00:00 +0100", "2026-03-29 00:00:00 +0100", "2026-03-30 00:00:00 +0200", "2026-03-31 00:00:00 +0200"}},
		{"a day of 25 hours", &limit.Calendar{Unit: limit.Day}, "Europe/Berlin", "2026-10-25 22:30:00 +0000",
			[4]string{"2026-10-24 00:00:00 +0200", "2026-10-25 00:00:00 +0200", "2026-10-26 00:00:00 +0100", "2026-10-27 00:00:00 +0100"}},
		{"a midnight that is skipped", &limit.Calendar{Unit: limit.Day}, "America/Sao_Paulo", "2018-11-04 12:00:00 +0000",
			[4]string{"2018-11-03 00:00:00 -0300", "2018-11-04 01:00:00 -0200", "2018-11-05 00:00:00 -0200", "2018-11-06 00:00:00 -0200"}},
		{"a midnight that comes twice: the first", &limit.Calendar{Unit: limit.Day}, "America/Havana", "2026-11-01 12:00:00 +0000",
			[4]string{"2026-10-31 00:00:00 -0400", "2026-11-01 00:00:00 -0400", "2026-11-02 00:00:00 -0500", "2026-11-03 00:00:00 -0500"}},
		{"a date that was skipped", &limit.Calendar{Unit: limit.Day}, "Pacific/Apia", "2011-12-30 09:00:00 +0000",
			[4]string{"2011-12-28 00:00:00 -1000", "2011-12-29 00:00:00 -1000", "2011-12-31 00:00:00 +1400", "2012-01-01 00:00:00 +1400"}},
		{"before the day starts at 04:00", &limit.Calendar{Unit: limit.Day, DayStarts: 4 * 3600}, "Europe/Berlin", "2026-06-10 01:59:59 +0000",
			[4]string{"2026-06-08 04:00:00 +0200", "2026-06-09 04:00:00 +0200", "2026-06-10 04:00:00 +0200", "2026-06-11 04:00:00 +0200"}},
		{"a day start of 02:30 that is skipped", &limit.Calendar{Unit: limit.Day, DayStarts: 150 * 60}, "Europe/Berlin", "2026-03-29 12:00:00 +0000",
			[4]string{"2026-03-28 02:30:00 +0100", "2026-03-29 03:00:00 +0200", "2026-03-30 02:30:00 +0200", "2026-03-31 02:30:00 +0200"}},
		{"a week from Sunday", &limit.Calendar{Unit: limit.Week}, "America/New_York", "2026-03-08 04:59:59 +0000",
			[4]string{"2026-02-22 00:00:00 -0500", "2026-03-01 00:00:00 -0500", "2026-03-08 00:00:00 -0500", "2026-03-15 00:00:00 -0400"}},
		{"a week from Monday", &limit.Calendar{Unit: limit.Week, WeekStarts: 1}, "America/New_York", "2026-03-08 04:59:59 +0000",
			[4]string{"2026-02-23 00:00:00 -0500", "2026-03-02 00:00:00 -0500", "2026-03-09 00:00:00 -0400", "2026-03-16 00:00:00 -0400"}},
		{"February of a leap year", &limit.Calendar{Unit: limit.Month}, "Asia/Tokyo", "2028-02-29 14:59:59 +0000",
			[4]string{"2028-01-01 00:00:00 +0900", "2028-02-01 00:00:00 +0900", "2028-03-01 00:00:00 +0900", "2028-04-01 00:00:00 +0900"}},
		{"December", &limit.Calendar{Unit: limit.Month}, "UTC", "2026-12-31 23:59:59 +0000",
			[4]string{"2026-11-01 00:00:00 +0000", "2026-12-01 00:00:00 +0000", "2027-01-01 00:00:00 +0000", "2027-02-01 00:00:00 +0000"}},
		{"a year", &limit.Calendar{Unit: limit.Year}, "Australia/Sydney", "2025-12-31 13:00:00 +0000",
			[4]string{"2025-01-01 00:00:00 +1100", "2026-01-01 00:00:00 +1100", "2027-01-01 00:00:00 +1100", "2028-01-01 00:00:00 +1100"}},
		{"an hour at half past", &limit.Calendar{Unit: limit.Hour}, "Asia/Kolkata", "2026-06-10 01:29:59 +0000",
			[4]string{"2026-06-10 05:00:00 +0530", "2026-06-10 06:00:00 +0530", "2026-06-10 07:00:00 +0530", "2026-06-10 08:00:00 +0530"}},
		{"the hour that comes twice is two", &limit.Calendar{Unit: limit.Hour}, "Europe/Berlin", "2026-10-25 01:15:00 +0000",
			[4]string{"2026-10-25 02:00:00 +0200", "2026-10-25 02:00:00 +0100", "2026-10-25 03:00:00 +0100", "2026-10-25 04:00:00 +0100"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			now, err := time.Parse(form, x.now)
			if err != nil {
				t.Fatal(err)
			}
			c := x.c
			var loc *time.Location
			c.Zone, loc = load(t, x.zone)
			for i, ms := range c.Starts(now.UnixMicro()) {
				if got := time.UnixMilli(ms).In(loc).Format(form); got != x.want[i] {
					t.Errorf("start %d is %s, want %s", i, got, x.want[i])
				}
			}
		})
	}
}

// Around every change of clocks in many zones, days begin where a clock on the
// wall, watched minute by minute, first shows a later day than ever before.
func TestCalendarDaysAgainstAClockOnTheWall(t *testing.T) {
	for _, name := range []string{
		"Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Africa/Cairo", "Asia/Beirut",
		"Australia/Lord_Howe", "Pacific/Apia", "Asia/Tehran", "America/Asuncion", "Asia/Gaza", "Antarctica/Troll", "Atlantic/Azores",
	} {
		z, loc := load(t, name)
		for _, starts := range []int64{0, 30 * 60, 150 * 60, 23*3600 + 30*60} {
			at := time.Date(2009, 1, 1, 0, 0, 0, 0, time.UTC).In(loc)
			for {
				_, change := at.ZoneBounds()
				if change.IsZero() || change.Year() > 2027 {
					break
				}
				at = change
				c := &limit.Calendar{Unit: limit.Day, Zone: z, DayStarts: starts}
				watchDays(t, c, loc, change)
			}
		}
	}
}

func watchDays(t *testing.T, c *limit.Calendar, loc *time.Location, change time.Time) {
	t.Helper()
	day := func(x time.Time) int64 { // all times here are after 1970
		_, offset := x.In(loc).Zone()
		return (x.Unix() + int64(offset) - c.DayStarts) / 86400
	}
	x := change.Add(-50 * time.Hour).Truncate(time.Minute)
	latest := day(x)
	var begun []time.Time
	for ; x.Before(change.Add(50 * time.Hour)); x = x.Add(time.Minute) {
		if d := day(x); d > latest {
			latest = d
			begun = append(begun, x)
		}
	}
	for i := 1; i+1 < len(begun); i++ {
		for _, probe := range []time.Time{begun[i], begun[i].Add(29 * time.Minute), begun[i+1].Add(-time.Millisecond)} {
			s := c.Starts(probe.UnixMicro())
			if s[0] != begun[i-1].UnixMilli() || s[1] != begun[i].UnixMilli() || s[2] != begun[i+1].UnixMilli() {
				t.Fatalf("%v, day from %d s, at %v: starts %v %v %v, the wall says %v %v %v", loc, c.DayStarts, probe.In(loc),
					time.UnixMilli(s[0]).In(loc), time.UnixMilli(s[1]).In(loc), time.UnixMilli(s[2]).In(loc),
					begun[i-1].In(loc), begun[i].In(loc), begun[i+1].In(loc))
			}
		}
	}
}

// Hours tile time: each starts where the one before ends, none is longer than an
// hour, and each that is shorter ends or begins with a change of clocks.
func TestCalendarHoursTile(t *testing.T) {
	for _, name := range []string{"Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu", "Antarctica/Troll", "America/St_Johns"} {
		z, loc := load(t, name)
		c := &limit.Calendar{Unit: limit.Hour, Zone: z}
		s := c.Starts(time.Date(2026, 1, 1, 0, 10, 0, 0, time.UTC).UnixMicro())
		for range 366 * 24 {
			next := c.Starts(s[2] * 1000)
			if next[0] != s[1] || next[1] != s[2] || next[2] != s[3] {
				t.Fatalf("%s: %v, then %v", name, s, next)
			}
			from, till := time.UnixMilli(s[1]).In(loc), time.UnixMilli(s[2]).In(loc)
			if d := till.Sub(from); d > time.Hour || d <= 0 {
				t.Fatalf("%s: an hour of %v from %v", name, d, from)
			} else if d < time.Hour && zoneOf(from) == zoneOf(till) && from.Minute() == 0 && till.Minute() == 0 {
				t.Fatalf("%s: an hour of %v from %v without a change", name, d, from)
			}
			s = next
		}
	}
}

func zoneOf(t time.Time) int {
	_, offset := t.Zone()
	return offset
}

// A quota counts through a day of 23 hours and one of 25, and begins anew with
// the next.
func TestCalendarQuotaOverClockChanges(t *testing.T) {
	z, loc := load(t, "Europe/Berlin")
	for _, day := range []time.Time{time.Date(2026, 3, 29, 0, 0, 0, 0, loc), time.Date(2026, 10, 25, 0, 0, 0, 0, loc)} {
		m := limit.CalendarQuota.New(limit.Params{Limit: 10, Calendar: &limit.Calendar{Unit: limit.Day, Zone: z}})
		admitted := 0
		end := time.Date(2026, day.Month(), day.Day()+1, 0, 0, 0, 0, loc)
		for x := day; x.Before(end); x = x.Add(30 * time.Minute) {
			d := limit.Decide(m, x.UnixMicro(), 1)
			if d.Admitted {
				admitted++
			} else if want := end.Sub(x).Milliseconds(); d.RetryAfterMS != want {
				t.Fatalf("at %v: retry after %d ms, want %d", x, d.RetryAfterMS, want)
			}
		}
		if admitted != 10 {
			t.Errorf("%d admitted on %v, want 10", admitted, day)
		}
		if d := limit.Decide(m, end.UnixMicro(), 1); !d.Admitted || d.Current != 1 {
			t.Errorf("first of the next day: %+v", d)
		}
	}
}

// The last day of a leap year is one like others, also where clocks change each
// year.
func TestCalendarEndOfALeapYear(t *testing.T) {
	z, loc := load(t, "Europe/Berlin")
	c := &limit.Calendar{Unit: limit.Hour, Zone: z}
	now := time.Date(2028, 12, 31, 18, 20, 0, 0, loc)
	for i, ms := range c.Starts(now.UnixMicro()) {
		if want := time.Date(2028, 12, 31, 17+i, 0, 0, 0, loc); ms != want.UnixMilli() {
			t.Errorf("start %d is %v, want %v", i, time.UnixMilli(ms).In(loc), want)
		}
	}
}
