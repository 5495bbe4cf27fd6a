package upgrade

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

const limits = `{"redis":{"cluster":"redis_pipe","timeout":"10s"},"on_error":"deny",
"limits":[{"name":"key","key":"header:x-key","rate":"20/hour"}]}`

// gateway starts one that runs a module.
func gateway(t *testing.T, name, module string, redis *stack.Redis, upstream *stack.Upstream) *stack.Envoy {
	t.Helper()
	return stacktest.Gateway{
		Name: name, Plugin: limits, Redis: redis.Addr, Upstream: upstream.Addr, Workers: 2,
		Edit: func(c *envoyconfig.Config) { c.Module(module) },
	}.Start(t)
}

var client = &http.Client{Timeout: 20 * time.Second}

// admitted sends n requests at once, in turn to each gateway, and counts those that
// were let through. Anything but 200 and 429 fails the test.
func admitted(t *testing.T, n int, gateways ...*stack.Envoy) int {
	t.Helper()
	var mu sync.Mutex
	var wg sync.WaitGroup
	count := 0
	for i := range n {
		wg.Go(func() {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateways[i%len(gateways)].URL()+"/", nil)
			if err != nil {
				t.Error(err)
				return
			}
			req.Header.Set("x-key", "k")
			resp, err := client.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			mu.Lock()
			defer mu.Unlock()
			switch resp.StatusCode {
			case http.StatusOK:
				count++
			case http.StatusTooManyRequests:
			default:
				t.Errorf("answered %d", resp.StatusCode)
			}
		})
	}
	wg.Wait()
	return count
}

// errors are what a gateway counted as wrong with Redis's answers.
func errors(t *testing.T, e *stack.Envoy) float64 {
	t.Helper()
	s, err := e.Admin.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := 0.0
	for series, v := range s {
		if strings.HasPrefix(series, "sluice_redis_errors_total") {
			n += v
		}
	}
	return n
}

// stored is each counter's value, as it is in Redis.
func stored(t *testing.T, redis *stack.Redis) map[string]string {
	t.Helper()
	c := redis.Client()
	defer c.Close()
	values := map[string]string{}
	for it := c.Scan(context.Background(), 0, "rl:*", 100).Iterator(); it.Next(t.Context()); {
		if strings.Contains(it.Val(), "{key|") {
			values[it.Val()] = c.Get(t.Context(), it.Val()).Val()
		}
	}
	return values
}

// Two versions with the same formats count as one, before, while and after.
func TestSameFormatsCountTogether(t *testing.T) {
	redis, upstream := stacktest.Redis(t, stack.RedisOptions{}), stacktest.Upstream(t)
	old := gateway(t, "old", previous(t), redis, upstream)
	if n := admitted(t, 5, old); n != 5 {
		t.Fatalf("the old one alone admitted %d of 5", n)
	}
	next := gateway(t, "new", stacktest.Module(t), redis, upstream)
	if n := admitted(t, 40, old, next); n != 15 {
		t.Errorf("side by side they admitted %d more, expected 15 of 20 in all", n)
	}
	old.Stop()
	if n := admitted(t, 3, next); n != 0 {
		t.Errorf("the new one alone admitted %d more", n)
	}
	// And back again.
	back := gateway(t, "back", previous(t), redis, upstream)
	if n := admitted(t, 3, back); n != 0 {
		t.Errorf("after the way back %d more were admitted", n)
	}
	for name, e := range map[string]*stack.Envoy{"new": next, "back": back} {
		if n := errors(t, e); n != 0 {
			t.Errorf("%s: %v errors", name, n)
		}
	}
	if keys := stored(t, redis); len(keys) != 1 {
		t.Errorf("the counter has %d keys: %q", len(keys), keys)
	}
}

// Two versions with different formats never look at each other's counters: each
// admits the limit by itself, and what one stored stays as it was, bit for bit.
func TestOtherFormatsStandAside(t *testing.T) {
	redis, upstream := stacktest.Redis(t, stack.RedisOptions{}), stacktest.Upstream(t)
	old := gateway(t, "old", stacktest.Module(t), redis, upstream)
	next := gateway(t, "new", nextFormat(t), redis, upstream)
	if n := admitted(t, 15, old); n != 15 {
		t.Fatalf("the old one admitted %d of 15", n)
	}
	before := stored(t, redis)
	if len(before) != 1 {
		t.Fatalf("counters: %q", before)
	}
	if n := admitted(t, 30, next); n != 20 {
		t.Errorf("the new one admitted %d, expected its own 20", n)
	}
	both := stored(t, redis)
	if len(both) != 2 {
		t.Fatalf("counters: %q", both)
	}
	for key, value := range both {
		switch {
		case strings.HasSuffix(key, ":log1"):
			if value != before[key] {
				t.Errorf("the new one changed %s", key)
			}
		case !strings.HasSuffix(key, ":log2"):
			t.Errorf("the key %s has neither version's suffix", key)
		}
	}
	// A way back finds its counters as it left them.
	if n := admitted(t, 10, old); n != 5 {
		t.Errorf("the old one admitted %d more, expected the 5 that it had left", n)
	}
	for name, e := range map[string]*stack.Envoy{"old": old, "new": next} {
		if n := errors(t, e); n != 0 {
			t.Errorf("%s: %v errors", name, n)
		}
	}
}
