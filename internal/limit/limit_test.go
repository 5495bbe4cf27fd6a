package limit

import (
	"strings"
	"testing"
)

func TestLookup(t *testing.T) {
	for _, want := range Algorithms() {
		if got, err := Lookup(want.Name, want.Storage); err != nil || got != want {
			t.Errorf("Lookup(%q, %q) = %v, %v", want.Name, want.Storage, got, err)
		}
	}
	for _, x := range []struct{ name, storage, says string }{
		{"sliding_logs", "", `unknown algorithm "sliding_logs"`},
		{"sliding_log", "list", `has no storage "list"`},
		{"fixed_window", "zset", `has no storage "zset"`},
	} {
		if _, err := Lookup(x.name, x.storage); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("Lookup(%q, %q): %v", x.name, x.storage, err)
		}
	}
}

func TestEveryAlgorithmIsComplete(t *testing.T) {
	suffixes := map[string]bool{}
	p := Params{Limit: 5, WindowMS: 1000, HoldMS: 1000, UntilMS: epoch / 1000, Calendar: &Calendar{}}
	for _, a := range append(Algorithms(), Penalty, Pool) {
		if a.Name == "" || a.Script == "" || a.Suffix == "" || a.Doc == "" || suffixes[a.Suffix] {
			t.Errorf("%+v", a)
		}
		suffixes[a.Suffix] = true
		if err := a.Check(&p); err != nil {
			t.Errorf("%s: %v", a.Name, err)
		}
		args := a.Args([]int64{-7}, &p, epoch)
		if len(args) != 1+a.NArgs || args[0] != -7 {
			t.Errorf("%s appends %v, says %d", a.Name, args, a.NArgs)
		}
		for _, n := range args[1:] {
			if n < 0 || n > maxExact {
				t.Errorf("%s sends %d", a.Name, n)
			}
		}
	}
}

func TestArgsAllocateNothing(t *testing.T) {
	p := Params{Limit: 999_983, WindowMS: 86_400_000, Burst: 7, HoldMS: 1000, Calendar: &Calendar{Unit: Month}}
	dst := make([]int64, 0, 16)
	for _, a := range Algorithms() {
		a.Args(dst, &p, epoch)
		if n := testing.AllocsPerRun(100, func() { a.Args(dst, &p, epoch) }); n != 0 {
			t.Errorf("%s %s: %v allocations", a.Name, a.Storage, n)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	good := Params{Limit: 100, WindowMS: 60_000, HoldMS: 1000}
	for _, x := range []struct {
		alg    *Algorithm
		change func(p *Params)
		says   string
	}{
		{SlidingLog, func(p *Params) { p.Limit = -1 }, "from 0 to 2^53"},
		{SlidingLog, func(p *Params) { p.Limit = 1 << 48 }, "2^48 - 1"},
		{SlidingLog, func(p *Params) { p.WindowMS = 0 }, "from 1 ms"},
		{SlidingLog, func(p *Params) { p.WindowMS = 1<<41 + 1 }, "69 years"},
		{SlidingLogZset, func(p *Params) { p.Limit = 1<<52 + 1 }, "2^52"},
		{SlidingCounter, func(p *Params) { p.Limit = 1<<40 + 1 }, "2^40"},
		{SlidingCounter, func(p *Params) { p.Buckets = 101 }, "from 1 to 100"},
		{SlidingCounter, func(p *Params) { p.Buckets = -1 }, "from 1 to 100"},
		{FixedWindow, func(p *Params) { p.Limit = 1<<53 + 1 }, "from 0 to 2^53"},
		{TokenBucket, func(p *Params) { p.Burst = -1 }, "burst must be"},
		{TokenBucket, func(p *Params) { p.Limit, p.WindowMS, p.Burst = 999_983, 86_400_000, 1<<40 }, "rounder number"},
		{LeakyBucket, func(p *Params) { p.WaitMS = -1 }, "max_wait must be"},
		{LeakyBucket, func(p *Params) { p.Limit, p.WindowMS, p.WaitMS = 1_000_000_007, 1001, 1<<40 }, "rounder number"},
		{Concurrency, func(p *Params) { p.HoldMS = 0 }, "max_hold"},
		{Concurrency, func(p *Params) { p.Limit = 1 << 53 }, "max must be"},
		{CalendarQuota, func(p *Params) {}, "hours, days"},
		{CalendarQuota, func(p *Params) { p.Calendar = &Calendar{Unit: 5} }, "hours, days"},
		{CalendarQuota, func(p *Params) { p.Calendar = &Calendar{DayStarts: 86400} }, "day_starts"},
		{CalendarQuota, func(p *Params) { p.Calendar = &Calendar{WeekStarts: 7} }, "week_starts"},
		{Penalty, func(p *Params) { p.WindowMS = 0 }, "from 1 ms"},
		{Pool, func(p *Params) {}, "time of its end"},
		{Pool, func(p *Params) { p.UntilMS = MaxUntilMS + 1 }, "time of its end"},
		{Pool, func(p *Params) { p.Limit, p.UntilMS = 1<<53, epoch }, "2^53 - 1"},
	} {
		p := good
		x.change(&p)
		if err := x.alg.Check(&p); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s with %+v: %v, want …%s…", x.alg.Name, p, err, x.says)
		}
	}
	// Large but round numbers are exact.
	for _, p := range []Params{
		{Limit: 10_000_000, WindowMS: 30 * 86_400_000},
		{Limit: 1_000_000_000, WindowMS: 1000},
		{Limit: 1_000_000, WindowMS: 86_400_000, Burst: 5_000_000},
	} {
		if err := TokenBucket.Check(&p); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	}
}
