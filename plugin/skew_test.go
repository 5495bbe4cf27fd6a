package plugin

import (
	"strconv"
	"strings"
	"testing"
)

const gatewayClock = `{"redis":{"timeout":"1s"},"on_error":"allow","clock":"gateway","limits":[{"name":"a","key":"header:x-u","rate":"20/min"}]}`

// clockSent asks for a request and returns the clock of its call.
func (r *rig) clockSent(o *operator, user string) string {
	r.t.Helper()
	x := r.request(get("/", "x-u", user)...)
	asked := r.serve(o, admits)
	if len(asked) != 1 || !x.passed() {
		r.t.Fatalf("asked %q", asked)
	}
	return asked[0][4]
}

func us(n int64) string { return strconv.FormatInt(n, 10) }

// modeOf is the mode that a request is decided in.
func (r *rig) modeOf(o *operator, user string) string {
	x := r.request(get("/", "x-u", user)...)
	r.serve(o, admits)
	return string(x.req.FilterState["sluice.mode"])
}

func TestGatewayClockThatIsRight(t *testing.T) {
	r := newRig(t, gatewayClock).controlled()
	o := newOperator(r.host)
	if got := r.clockSent(o, "u"); got != "" {
		t.Errorf("before the clocks were compared the call has the gateway's time %q", got)
	}
	for _, off := range []int64{0, 900_000, -900_000} {
		o.at = func() int64 { return r.host.Clock + off }
		r.poll(o)
		if got := r.clockSent(o, "u"); got != us(r.host.Clock) {
			t.Errorf("%d us apart: time %q, want the gateway's", off, got)
		}
		if n := r.metric("sluice_clock_skew_ms"); n != max(off, -off)/1000 {
			t.Errorf("%d us apart: sluice_clock_skew_ms is %d", off, n)
		}
	}
	if got := r.modeOf(o, "v"); got != "redis" {
		t.Errorf("mode %q", got)
	}
}

// A gateway too far off never sends its own time, from the moment that its clock
// is set until two polls found it right.
func TestGatewayClockThatIsWrong(t *testing.T) {
	for _, off := range []int64{3_000_000, -3_000_000, 1_001_000} {
		r := newRig(t, gatewayClock).controlled()
		o := newOperator(r.host)
		wall := r.host.Clock // Redis's clock, and the gateway's until it is set
		start := r.host.Uptime
		o.at = func() int64 { return wall + r.host.Uptime - start }
		r.poll(o)
		if got := r.clockSent(o, "u"); got != us(r.host.Clock) {
			t.Fatalf("time %q, want the gateway's", got)
		}
		r.host.Clock += off // between two polls
		if got := r.clockSent(o, "v"); got != us(o.at()) {
			t.Errorf("%d us: time %q, want Redis's %d", off, got, o.at())
		}
		if got := r.modeOf(o, "w"); got != "degraded" {
			t.Errorf("%d us: mode %q", off, got)
		}
		for i := range 3 {
			r.poll(o)
			if got := r.clockSent(o, "x"+us(int64(i))); got != us(o.at()) {
				t.Errorf("%d us: time %q, want Redis's %d", off, got, o.at())
			}
		}
		if n := r.metric("sluice_clock_skew_ms"); n != max(off, -off)/1000 {
			t.Errorf("sluice_clock_skew_ms is %d", n)
		}
		r.host.Clock -= off // it is set right
		r.poll(o)
		if got := r.modeOf(o, "y"); got != "degraded" {
			t.Errorf("%d us: mode %q after one poll", off, got)
		}
		r.poll(o)
		if got := r.modeOf(o, "z"); got != "redis" {
			t.Errorf("%d us: mode %q after two polls", off, got)
		}
		lines := 0
		for _, l := range r.host.Logs {
			if strings.Contains(l.Message, "this gateway's clock") {
				lines++
			}
		}
		if lines != 2 {
			t.Errorf("%d lines, one for each change: %v", lines, r.host.Logs)
		}
	}
}

// With Redis's clock the gateway's own doesn't matter, however wrong.
func TestRedisClockAndAWrongGateway(t *testing.T) {
	r := newRig(t, callerLimit).controlled()
	o := newOperator(r.host)
	at := r.host.Clock
	o.at = func() int64 { return at }
	r.host.Clock += 3_600_000_000
	r.poll(o)
	if got := r.clockSent(o, "u"); got != "" {
		t.Errorf("time %q is sent", got)
	}
	if got := r.modeOf(o, "v"); got != "redis" {
		t.Errorf("mode %q", got)
	}
	if n := r.metric("sluice_clock_skew_ms"); n < 3_590_000 {
		t.Errorf("sluice_clock_skew_ms is %d", n)
	}
}

// A Redis that doesn't tell its time leaves the gateway's as configured.
func TestARedisThatRefusesPolls(t *testing.T) {
	r := newRig(t, gatewayClock).controlled()
	r.tick(500)
	for range r.sent() {
		r.reply([]byte("-NOPERM this user has no permissions to run the 'hscan' command\r\n"))
	}
	x := r.request(get("/", "x-u", "u")...)
	asked := r.sent()
	if len(asked) != 1 || asked[0][4] != us(r.host.Clock) {
		t.Errorf("asked %q", asked)
	}
	r.reply(admits(nil))
	if !x.passed() {
		t.Error("not admitted")
	}
	found := false
	for _, l := range r.host.Logs {
		found = found || strings.Contains(l.Message, "Redis doesn't tell the run-time overrides: NOPERM")
	}
	if !found || r.metric("sluice_override_errors_total") != 1 {
		t.Errorf("logs %v", r.host.Logs)
	}
}
