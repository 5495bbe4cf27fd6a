package main

import (
	"encoding/json"
	"strings"
	"testing"

	"sluice/internal/explain"
	"sluice/internal/inspect"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// What set changed, explain and inspect show, with its end.
func TestOverridesAreShown(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	file := write(t, "limits.yaml", orderLimits)
	count(t, rdb, 3, "x-user-id", "u1")
	count(t, rdb, 1, "x-user-id", "u2")
	must := func(args ...string) string {
		t.Helper()
		out, err := sluice(t, append(args, "--redis", server.Addr)...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out
	}
	says := func(out string, all ...string) {
		t.Helper()
		for _, text := range all {
			if !strings.Contains(out, text) {
				t.Errorf("no %q in\n%s", text, out)
			}
		}
	}
	must("set", "per-user", "u1", "--rate", "9/min", "--for", "1h", "--config", file)
	must("set", "per-user", "u2", "--block", "--for", "2h", "--config", file)
	rdb.HSet(t.Context(), "rl:{sluice}:set1", "ghost", "4000000000000 block")

	says(must("explain", file, "/api/order", "-H", "x-user-id: u1"),
		"set at run time for this caller: rate 9/min, until ", "left)", "9/min, sliding_log", "  admitted\n")
	says(must("explain", file, "/api/order", "-H", "x-user-id: u2"),
		"~ per-user: blocked by an override at run time", "set at run time for this caller: block",
		"an override of per-user blocks the request; Redis isn't asked", "rejected by per-user; Retry-After: ")
	var x explain.Explanation
	if err := json.Unmarshal([]byte(must("explain", file, "/api/order", "-H", "x-user-id: u2", "--json")), &x); err != nil {
		t.Fatal(err)
	}
	if x.BlockedBy != "per-user" || x.Live == nil || x.Live.RetryAfter < 7100 || x.Live.RetryAfter > 7200 || len(x.Calls) != 0 {
		t.Errorf("%+v", x)
	}
	// Offline nothing is known of overrides.
	if out, err := sluice(t, "explain", file, "/api/order", "-H", "x-user-id: u2"); err != nil || strings.Contains(out, "run time") {
		t.Errorf("%v\n%s", err, out)
	}

	out := must("inspect", "--config", file, "--share", "1")
	says(out, "2 of 9 (9/min)", "7 left", "blocked for 2h0m0s", "per-user  2/min  2     1", "overrides at run time:", "rate 9/min", "ghost", "skipped: no limit has this name")
	var report inspect.Report
	if err := json.Unmarshal([]byte(must("inspect", "--config", file, "--share", "1", "--json")), &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Overrides) != 3 || report.Overrides[1].Limit != "per-user" || report.Overrides[1].Values[0] != "u1" || report.Overrides[1].LeftMS < 3_500_000 {
		t.Errorf("%+v", report.Overrides)
	}
	for _, l := range report.Limits {
		if l.Counter == "per-user" && (l.Keys != 2 || l.Rejected != 1) {
			t.Errorf("%+v", l)
		}
	}
	// Without a configuration the list is there all the same.
	says(must("inspect", "--share", "1"), "overrides at run time:", "block")

	must("set", "per-user", "u1", "--degraded", "--tokens", "5", "--for", "1h", "--config", file)
	says(must("explain", file, "/api/order", "-H", "x-user-id: u1"), "degraded: a pool of units", "key rl:{per-user|u1}:pool1", "units=5 until_ms=", "  admitted\n")
	rdb.Set(t.Context(), "rl:{per-user|u1}:pool1", "4000000000000 5", 1<<40)
	says(must("inspect", "per-user", "--config", file, "--share", "1"), "not asked: its pool is", "pool")
}
