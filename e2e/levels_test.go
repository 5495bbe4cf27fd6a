package e2e

import (
	"context"
	"regexp"
	"strconv"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// Three levels with an algorithm each: every address in a short fixed window,
// every user in a day's log, the endpoint in a token bucket. A request is one
// call, the first level without room is named, and a rejected request is charged
// at none.
func TestThreeLevelsInOneCall(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	e := stacktest.Gateway{
		Plugin: policy(t, m{"gateways": 1, "runtime_overrides": false},
			m{"name": "per-address", "key": "header:x-address", "rate": "4/hour", "algorithm": "fixed_window"},
			m{"name": "per-user", "key": "header:x-user", "rate": "6/day"},
			m{"name": "endpoint", "rate": "10/hour", "algorithm": "token_bucket", "burst": 8}),
		Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	c := redis.Client()
	defer c.Close()

	requests := 0
	ask := func(address, user string, want int, limit string) {
		t.Helper()
		requests++
		a := send(call{url: e.URL() + "/", header: map[string]string{"x-address": address, "x-user": user, "x-debug": debugSecret}})
		if a.must(t, want).header.Get("x-sluice-limit") != limit {
			t.Errorf("request %d is about %q, expected %q", requests, a.header.Get("x-sluice-limit"), limit)
		}
	}
	for range 4 {
		ask("a1", "u1", 200, "per-address")
	}
	ask("a1", "u1", 429, "per-address")
	ask("a2", "u1", 200, "per-user") // the rejected request left two of six
	ask("a3", "u1", 200, "per-user")
	ask("a4", "u1", 429, "per-user")
	ask("a4", "u2", 200, "endpoint") // and it cost the endpoint nothing
	ask("a5", "u3", 200, "endpoint")
	ask("a6", "u4", 429, "endpoint")

	calls := 0
	for _, found := range regexp.MustCompile(`cmdstat_(?:evalsha|eval):calls=(\d+),`).FindAllStringSubmatch(c.Info(context.Background(), "commandstats").Val(), -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		calls += n
	}
	// One more: a Redis that lacks the script is sent it.
	if calls != requests+1 {
		t.Errorf("%d script calls for %d requests", calls, requests)
	}
}
