package config

import (
	"strings"
	"testing"
)

func TestUnitPatternHasAllUnits(t *testing.T) {
	var all []string
	for _, u := range units {
		all = append(all, u.names...)
	}
	if want := "(" + strings.Join(all, "|") + ")"; unitPattern != want {
		t.Errorf("it is %s, want %s", unitPattern, want)
	}
}

// A quota's options are set in its calendar, which a limit that is only asked about
// doesn't have yet.
func TestLeasedQuota(t *testing.T) {
	p, errs := Parse([]byte(`{"limits":[{"name":"a","rate":"5/day","algorithm":"calendar","timezone":"Europe/Berlin","hot":{"lease":{"for":"100ms"}}}]}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if c := p.Limits[0].Rates[0].Params.Calendar; c == nil || c.Zone == nil || c.WeekStarts != 1 || c.DayStarts != 0 {
		t.Errorf("its calendar is %+v", c)
	}
}
