package edges

import (
	"net/http"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

var (
	routingLimits = []m{perKey("all", "6/hour")}
	routingDoor   = newDoor("routing", policy(nil, perKey("all", "6/hour"),
		perKey("target", "1/hour", m{"match": m{"path": "/target"}})),
		routes(
			toUpstream("/retried", m{"retry_policy": m{"retry_on": "5xx", "num_retries": 3}}),
			toUpstream("/redirected", m{"internal_redirect_policy": m{"max_internal_redirects": 3}}),
			toUpstream("/target", nil),
			m{"match": m{"path": "/direct"}, "direct_response": m{"status": 203, "body": m{"inline_string": "direct"}}},
			m{"match": m{"path": "/moved"}, "redirect": m{"path_redirect": "/elsewhere"}},
			m{"match": m{"path": "/nowhere"}, "route": m{"cluster": "nowhere"}},
		))
	routingProbe = look("routing-probe", routingLimits...)
	// Only one host has routes at all.
	hostDoor = newDoor("hosts", policy(nil, perKey("all", "2/hour")), func(c *envoyconfig.Config) {
		c.Manager(envoyconfig.Gateway, "route_config", m{"virtual_hosts": []any{m{
			"name": "shop", "domains": []any{"shop.example"}, "routes": []any{toUpstream("/", nil)},
		}}})
	})
)

// A request that Envoy sends to the upstream again counts once.
func TestRetriesOfEnvoyCountOnce(t *testing.T) {
	key := uniqueKey(t)
	a := routingDoor.send(t, call{path: "/retried", key: key, do: "fail:2"}).must(t, 200).limited(t)
	if got := a.remaining(t); got != 5 {
		t.Errorf("%d remain", got)
	}
	if got := shared.upstream.count(key); got != 3 {
		t.Errorf("the upstream was asked %d times", got)
	}
	// Also when no attempt succeeds.
	routingDoor.send(t, call{path: "/retried", key: key, do: "status:503"}).must(t, 503).limited(t)
	if got := shared.upstream.count(key); got != 7 {
		t.Errorf("the upstream was asked %d times", got)
	}
	routingProbe.remains(t, call{key: key}, 4)
}

// A redirect that Envoy follows itself is a second request: it counts, by its own
// path, and may be refused.
func TestInternalRedirectIsASecondRequest(t *testing.T) {
	key := uniqueKey(t)
	follow := call{path: "/redirected", key: key, do: "redirect:" + routingDoor.url(t) + "/target"}
	a := routingDoor.send(t, follow)
	// The upstream redirects /target too, which isn't followed there.
	a.must(t, http.StatusFound)
	if got := shared.upstream.count(key); got != 2 {
		t.Fatalf("the upstream was asked %d times: the redirect wasn't followed", got)
	}
	if got := a.limited(t).header.Get("ratelimit"); got[:8] != `"target"` {
		t.Errorf("the answer is about %s", got)
	}
	routingProbe.remains(t, call{key: key}, 4)

	routingDoor.send(t, follow).must(t, 429).limited(t)
	if got := shared.upstream.count(key); got != 3 {
		t.Errorf("the upstream was asked %d times", got)
	}
	// The first request was made and counts, the refused one doesn't.
	routingProbe.remains(t, call{key: key}, 3)
}

// Answers that Envoy makes itself count: it answers after the limits.
func TestAnswersOfEnvoyCount(t *testing.T) {
	for path, status := range map[string]int{
		"/direct": 203, "/moved": 301, "/unknown": 404, "/nowhere": 503,
	} {
		key := uniqueKey(t)
		for range 6 {
			routingDoor.get(t, path, key, status).limited(t)
		}
		routingDoor.get(t, path, key, 429).limited(t)
		if got := shared.upstream.count(key); got != 0 {
			t.Errorf("%s: %d requests reached the upstream", path, got)
		}
	}
}

// Requests for a host without routes count, too.
func TestNoVirtualHost(t *testing.T) {
	key := uniqueKey(t)
	for _, status := range []int{404, 404, 429} {
		hostDoor.get(t, "/", key, status).limited(t)
	}
}
