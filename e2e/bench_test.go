package e2e

import (
	"net/http"
	"testing"
	"time"

	backoff "sluice/clients/go"
	"sluice/internal/openload"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// What the tool's bench counts is what the gateway decided; a client that waits as
// it is told gets in.
func TestBenchCounts(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	gw := gateways(t, 1, stacktest.Gateway{
		Plugin: policy(t, nil,
			m{"name": "each", "match": m{"path": "/each"}, "key": "header:" + key, "rate": "30/hour"},
			m{"name": "short", "match": m{"path": "/short"}, "rate": "20/s"}),
		Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	})[0]
	load := openload.Options{
		Method: http.MethodGet, URL: gw.URL() + "/each", Header: http.Header{key: {"u{key}"}},
		Rate: 100, Length: 2 * time.Second, Keys: 4,
	}
	r, err := openload.Run(t.Context(), load)
	if err != nil {
		t.Fatal(err)
	}
	if r.Due != 200 || r.Statuses[200] != 4*30 || r.Limited != 200-4*30 || r.Elsewhere != 0 || r.Failed+r.Skipped != 0 {
		t.Errorf("%+v, want 30 admitted of each of 4 callers", r)
	}
	// A hit of an hour's window leaves up to a tick of 3.6 s late.
	if r.RetryAfterMin < 3590 || r.RetryAfterMax > 3605 || r.P50 <= 0 || r.P99 < r.P50 || r.Max < r.P999 {
		t.Errorf("waits and latencies: %+v", r)
	}

	load.URL, load.Rate, load.Length = gw.URL()+"/short", 30, time.Second
	load.Via = func(base http.RoundTripper) http.RoundTripper { return &backoff.Transport{Base: base} }
	if r, err = openload.Run(t.Context(), load); err != nil {
		t.Fatal(err)
	}
	if r.Due != 30 || r.Statuses[200] != 30 {
		t.Errorf("%+v, want all 30 admitted in the end", r)
	}
}
