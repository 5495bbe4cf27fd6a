package edges

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

var (
	firstPolicy  = policy(nil, perKey("first", "3/hour"), perKey("costly", "10/hour", m{"cost": "header:x-cost", "match": m{"header:x-cost": "present"}}))
	secondPolicy = policy(nil, perKey("second", "5/hour", m{"match": m{"path": "/second"}}), perKey("tight", "1/hour", m{"match": m{"path": "/tight"}}))
	settledTwice = perKey("logins", "3/hour", m{"settle": m{"charge_on": m{"status": 401}}})
	same         = newDoor("twice-same", firstPolicy, again(firstPolicy), keepIDs)
	other        = newDoor("twice-other", firstPolicy, again(secondPolicy), keepIDs)
	sameSettled  = newDoor("twice-settled", policy(nil, settledTwice), again(policy(nil, settledTwice)))
	settledProbe = look("twice-settled-probe", settledTwice)
	sameDelayed  = newDoor("twice-delayed", policy(nil, perKey("queue", "1/300ms", m{"algorithm": "leaky_bucket", "burst": 10, "max_wait": "10s"})),
		func(c *envoyconfig.Config) { c.InsertFilter(envoyconfig.Plugin, "first copy", c.PluginFilter()) })
)

// again puts a copy of the plugin with this configuration behind the door's own.
func again(config string) edit {
	return func(c *envoyconfig.Config) {
		behind := c.PluginFilter()
		c.InsertFilter("envoy.filters.http.router", "second copy", withConfiguration(behind, config))
	}
}

func withConfiguration(filter m, config string) m {
	filter["config"].(m)["configuration"] = m{"@type": "type.googleapis.com/google.protobuf.StringValue", "value": config}
	return filter
}

// A second copy with the same configuration does nothing: requests count once,
// and are described once.
func TestSameCopyTwice(t *testing.T) {
	key := uniqueKey(t)
	before := stats(t)
	for i, status := range []int{200, 200, 200, 429, 429} {
		a := same.get(t, "/", key, status).limited(t)
		if got, want := a.remaining(t), max(2-i, 0); got != want {
			t.Errorf("request %d: %d remain, expected %d", i, got, want)
		}
		if policies := a.header.Get("ratelimit-policy"); policies != `"first";q=3;w=3600` {
			t.Errorf("ratelimit-policy: %s", policies)
		}
	}
	after := stats(t)
	for outcome, want := range map[string]float64{"admitted": 3, "rejected": 2} {
		labels := map[string]string{"limit": "first", "outcome": outcome}
		if got := after.Sum("sluice_decisions_total", labels) - before.Sum("sluice_decisions_total", labels); got != want {
			t.Errorf("%v decisions counted as %s", got, outcome)
		}
	}
}

// What the first copy refunds, the second doesn't refund again.
func TestSameCopySettlesOnce(t *testing.T) {
	key := uniqueKey(t)
	for range 4 {
		sameSettled.send(t, call{key: key, do: "status:200"}).must(t, 200)
		settledProbe.remains(t, call{key: key}, 3)
	}
	for i, status := range []int{401, 401, 401, 429} {
		sameSettled.send(t, call{key: key, do: "status:401"}).must(t, status)
		settledProbe.remains(t, call{key: key}, max(2-i, 0))
	}
}

// A queue delays once.
func TestSameCopyDelaysOnce(t *testing.T) {
	key := uniqueKey(t)
	for _, want := range []int{9, 8, 7} {
		if got := sameDelayed.get(t, "/", key, 200).remaining(t); got < want {
			t.Errorf("%d remain, expected %d or, as it drains, more", got, want)
		}
	}
}

// An internal redirect is a second request, for the first copy as well as for
// one that skips what was decided.
var sameRedirected = newDoor("twice-redirected", firstPolicy, again(firstPolicy),
	routes(toUpstream("/", m{"internal_redirect_policy": m{"max_internal_redirects": 1}})))

func TestSameCopyAndInternalRedirect(t *testing.T) {
	key := uniqueKey(t)
	a := sameRedirected.send(t, call{key: key, do: "redirect:" + sameRedirected.url(t) + "/target"}).must(t, 302)
	if shared.upstream.count(key) != 2 {
		t.Fatal("the redirect wasn't followed")
	}
	if got := a.limited(t).remaining(t); got != 1 {
		t.Errorf("%d of 3 remain after two requests", got)
	}
}

// With another configuration the second copy decides its own limits; the lists
// describe both, and the rest the closest of both.
func TestOtherCopy(t *testing.T) {
	key := uniqueKey(t)
	a := other.get(t, "/second", key, 200)
	for name, want := range map[string][]string{
		"ratelimit-policy": {`"first";q=3;w=3600`, `"second";q=5;w=3600`},
		"ratelimit":        {`"first";r=2;t=36`, `"second";r=4;t=36`},
	} {
		got := strings.Join(a.header.Values(name), ", ")
		for _, item := range want {
			if strings.Count(got, item) != 1 {
				t.Errorf("%s: %s lacks %s", name, got, item)
			}
		}
	}
	closest := func(a answer, limit, remaining string) {
		t.Helper()
		if got := a.header.Values("x-ratelimit-limit"); len(got) != 1 || got[0] != limit {
			t.Errorf("x-ratelimit-limit %q, expected %s", got, limit)
		}
		if got := a.header.Values("x-ratelimit-remaining"); len(got) != 1 || got[0] != remaining {
			t.Errorf("x-ratelimit-remaining %q, expected %s", got, remaining)
		}
	}
	closest(a, "3", "2")
	// The second one's is closer now.
	for range 4 {
		other.get(t, "/second", uniqueKey(t), 200)
	}
	closest(other.get(t, "/tight", uniqueKey(t), 200), "1", "0")

	// The first one admits, and the second rejects: one answer, of the second.
	k := uniqueKey(t)
	other.get(t, "/tight", k, 200)
	r := other.get(t, "/tight", k, 429)
	closest(r, "1", "0")
	if got := r.header.Values("retry-after"); len(got) != 1 {
		t.Errorf("retry-after %q", got)
	}
	if !strings.Contains(r.body, "Rate limit tight exceeded") {
		t.Errorf("body %s", r.body)
	}
	// The first one rejects: the second is not asked.
	k = uniqueKey(t)
	for _, status := range []int{200, 200, 200, 429, 429} {
		other.get(t, "/second", k, status)
	}
	if got := other.get(t, "/second", k, 429); strings.Contains(strings.Join(got.header.Values("ratelimit"), ","), "second") {
		t.Errorf("%v", got.header)
	}
}

// Streams of one request id don't take each other's copies for their own: else
// whoever forges the id of an open one would meet only the first copy's limits.
func TestForgedRequestID(t *testing.T) {
	id := map[string]string{"x-request-id": "11111111-2222-4333-8444-555555555555"}
	gate := uniqueKey(t)
	done := make(chan answer)
	url := other.url(t)
	go func() {
		req, err := call{path: "/tight", key: gate, do: "wait:" + gate, header: id}.request(url)
		if err != nil {
			done <- answer{err: err}
			return
		}
		done <- roundTrip(h1, req)
	}()
	eventually(t, func() error {
		if shared.upstream.count(gate) != 1 {
			return fmt.Errorf("the first request isn't at the upstream")
		}
		return nil
	})
	for _, d := range []*door{other, same} {
		key := uniqueKey(t)
		path, limit := "/tight", 1
		if d == same {
			path, limit = "/", 3
		}
		for i := range limit + 2 {
			want := 429
			if i < limit {
				want = 200
			}
			a := d.send(t, call{path: path, key: key, header: id})
			if a.err != nil || a.status != want {
				t.Errorf("%s: request %d with the id of an open one was answered %d (%v), expected %d", d.name, i, a.status, a.err, want)
			}
		}
	}
	shared.upstream.release(gate)
	if a := <-done; a.err != nil || a.status != 500 {
		t.Errorf("the first request was answered %d (%v)", a.status, a.err)
	}
}

// keepIDs has Envoy believe its callers' request ids, as it does by itself where
// use_remote_address is off.
var keepIDs = manager("preserve_external_request_id", true)
