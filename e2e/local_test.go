package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// Redis goes away and comes back, and every limit has on_error local: the gateways
// find out how many they are, each then admits its share, whichever of its
// workers is asked, and what they admitted counts in Redis afterwards.
func TestLocalSharesAndReconciliation(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	gws := gateways(t, 2, stacktest.Gateway{
		Plugin: policy(t, m{"on_error": "local", "redis": m{"timeout": "200ms"}}, byKey("40/hour")),
		Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	})
	c := redis.Client()
	defer c.Close()

	// All workers must have the count: they read it twice a second.
	warm := 0
	eventually(t, 20*time.Second, func() error {
		for i := range 16 {
			warm++
			get(gws[i%2].URL()+"/", fmt.Sprintf("warm-%d", warm)).must(t, 200)
		}
		n, err := c.ZCard(context.Background(), "rl:{gateways}:beat1").Result()
		if err == nil && n != 2 {
			err = fmt.Errorf("%d gateways beat", n)
		}
		return err
	})
	time.Sleep(3 * time.Second)

	redis.Kill()
	for i, e := range gws {
		local := times(100, 4, func(int) answer { return get(e.URL()+"/", "k") })
		mustBeAnswered(t, local, soon, 200, 429)
		if got := statuses(local)[200]; got != 20 {
			t.Errorf("gateway %d admits %d of 100 by itself, and its share is 20: %v", i, got, statuses(local))
		}
		if s := stats(t, e); s["sluice_breaker_open"] < 1 {
			t.Errorf("gateway %d: sluice_breaker_open is %v", i, s["sluice_breaker_open"])
		}
	}
	// With the breaker open nobody waits for Redis.
	at := time.Now()
	for range 50 {
		get(gws[0].URL()+"/", "k")
	}
	if took := time.Since(at); took > 5*time.Second {
		t.Errorf("50 requests took %v while Redis was dead", took)
	}

	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	for _, e := range gws {
		backToRedis(t, e)
	}
	asked := 0
	eventually(t, 20*time.Second, func() error {
		total := 0.0
		for _, e := range gws {
			for range 8 { // every worker
				asked++
				get(e.URL()+"/", fmt.Sprintf("again-%d", asked)).must(t, 200)
			}
			total += stats(t, e).Sum("sluice_reconciled_units_total", nil)
		}
		if total < 40 {
			return fmt.Errorf("%v units were charged in Redis", total)
		}
		return nil
	})
	// Redis knows nothing but what the gateways told it: the window is full.
	if a := get(gws[0].URL()+"/", "k"); a.status != 429 || a.header.Get("x-sluice-mode") != "redis" {
		t.Errorf("answered %d in mode %q, expected 429 by Redis", a.status, a.header.Get("x-sluice-mode"))
	}
	for _, e := range gws {
		if n := stats(t, e)["sluice_breaker_open"]; n != 0 {
			t.Errorf("sluice_breaker_open is %v though Redis is back", n)
		}
	}
}
