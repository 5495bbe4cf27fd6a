package e2e

import (
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// A limit of the gateway's own is exact over all workers of an Envoy, needs no
// Redis and never asks one; beside limits in Redis both hold.
func TestGatewayScope(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	gws := gateways(t, 2, stacktest.Gateway{
		// A poll for overrides would be a connection too.
		Plugin: policy(t, m{"runtime_overrides": false},
			m{"name": "own", "match": m{"path": "/own"}, "key": "header:" + key, "rate": "50/hour", "scope": "gateway"},
			m{"name": "mine", "match": m{"path": "/both"}, "rate": "40/hour", "scope": "gateway", "algorithm": "token_bucket"},
			m{"name": "ours", "match": m{"path": "/both"}, "rate": "60/hour"}),
		Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	})
	answers := times(2*120, 24, func(i int) answer { return get(gws[i%2].URL()+"/own", "k") })
	mustBeAnswered(t, answers, hang, 200, 429)
	for g := range gws {
		admitted := 0
		for i, a := range answers {
			if i%2 != g {
				continue
			}
			if a.status == 200 {
				admitted++
			}
			if mode := a.header.Get("x-sluice-mode"); mode != "local" {
				t.Fatalf("answered %d in mode %q", a.status, mode)
			}
		}
		if admitted != 50 {
			t.Errorf("gateway %d admitted %d of 120, want 50", g, admitted)
		}
		// No worker opened a connection to Redis.
		if n := stats(t, gws[g]).Sum("envoy_cluster_upstream_cx_total", map[string]string{"envoy_cluster_name": "redis_pipe"}); n != 0 {
			t.Errorf("gateway %d opened %v connections to Redis", g, n)
		}
	}
	// What Redis rejects is charged to no gateway: in the end both are used up.
	both := times(200, 24, func(i int) answer { return get(gws[i%2].URL()+"/both", "k") })
	mustBeAnswered(t, both, hang, 200, 429)
	if got := statuses(both)[200]; got != 60 {
		t.Errorf("%d admitted by both, want the 60 of all", got)
	}
}
