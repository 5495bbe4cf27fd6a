package config

import (
	"strings"
	"testing"
)

// A row whose place is in another table's defaults would write anywhere.
func TestPlacesOfOthers(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a table takes another's row")
		}
	}()
	var own Tag
	newTable("tag", "", &own, []*field{row("value", &defaultHot.Shards, integer(1, 2), "", "")}, nil)
}

// An enum's value is the position of its word.
func TestWordsStandForConstants(t *testing.T) {
	p, errs := Parse([]byte(`{"redis":{"link":"host","cluster":"a|b|c|d"},"preflight":"limit","clock":"gateway","on_error":"allow","x_ratelimit_reset":"seconds",
		"headers":["x-ratelimit"],"reject":{"body":"problem"},"limits":[
		{"name":"a","rate":"1/s","scope":"gateway","missing":"deny","reject":{"body":"text"}},
		{"name":"b","rate":"1/s","on_error":"deny","missing":"skip","headers":false,"reject":{"body":"json"}},
		{"name":"c","rate":"1/day","algorithm":"calendar","week_starts":"saturday","missing":"share","scope":"global"}]}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if p.Redis.Link != HostLink || !p.CountPreflights || p.Clock != ClockGateway || p.OnError != OnErrorAllow || !p.XRateLimitResetSeconds ||
		p.Headers != (Headers{XRateLimit: true}) || p.Reject.Body != BodyProblem {
		t.Errorf("got %+v", p)
	}
	a, b, c := p.Limits[0], p.Limits[1], p.Limits[2]
	if a.Scope != ScopeGateway || a.Missing != MissingDeny || a.Reject.Body != BodyText || a.OnError != OnErrorAllow || a.HideHeaders {
		t.Errorf("a is %+v", a)
	}
	if b.OnError != OnErrorDeny || b.Missing != MissingSkip || b.Reject.Body != BodyJSON || !b.HideHeaders {
		t.Errorf("b is %+v", b)
	}
	if c.Scope != ScopeGlobal || c.Missing != MissingShare || c.Rates[0].Params.Calendar.WeekStarts != 6 {
		t.Errorf("c is %+v", c)
	}
	if p, errs = Parse([]byte(`{"redis":{"topology":"cluster"},"on_error":"deny","limits":[]}`)); len(errs) > 0 || p.Redis.Topology != RedisCluster || p.OnError != OnErrorDeny {
		t.Errorf("got %+v, %v", p, errs)
	}
}

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
