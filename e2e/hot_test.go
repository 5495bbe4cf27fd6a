package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/chaos/faultproxy"
	"sluice/internal/history"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// byMode counts the answers of a status by how they were decided.
func byMode(answers []answer, status int) map[string]int {
	count := map[string]int{}
	for _, a := range answers {
		if a.status == status {
			count[a.header.Get("x-sluice-mode")]++
		}
	}
	return count
}

// scripts is how many script calls a Redis has carried out.
func scripts(t *testing.T, r *stack.Redis) (calls int) {
	t.Helper()
	c := r.Client()
	defer c.Close()
	text, err := c.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`cmdstat_(?:evalsha|eval):calls=(\d+),`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(found[1])
		if err != nil {
			t.Fatal(err)
		}
		calls += n
	}
	return calls
}

// While Redis is slow, each gateway decides by its share of the limit, and no
// request waits for Redis; when it is quick again, Redis decides, and what was
// admitted meanwhile is charged there.
func TestSlowRedisMakesAHotLimitLocal(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	proxy, err := faultproxy.Start(redis.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	const rate = 400
	gws := gateways(t, 2, stacktest.Gateway{
		Plugin: policy(t, m{"gateways": 2}, with(byKey(fmt.Sprint(rate, "/hour")), "hot", m{"local": m{"trip": "40ms for 100ms", "recover": "20ms for 500ms"}})),
		Redis:  proxy.Addr, Upstream: stacktest.Upstream(t).Addr,
	})
	in := func(mode string) func() error {
		return func() error {
			for range 16 { // of both workers
				for i, e := range gws {
					a := get(e.URL()+"/", fmt.Sprint("other-", time.Now().UnixNano()))
					if a.err != nil {
						return a.err
					}
					if got := a.header.Get("x-sluice-mode"); got != mode {
						return fmt.Errorf("gateway %d: mode %q", i, got)
					}
				}
			}
			return nil
		}
	}
	eventually(t, 30*time.Second, in("redis"))
	proxy.Set(faultproxy.Faults{Latency: 40 * time.Millisecond})
	eventually(t, 30*time.Second, in("local"))
	// Each gateway offered twice its share.
	all := times(4*rate/2, 8, func(i int) answer { return get(gws[i%2].URL()+"/", "hot") })
	mustBeAnswered(t, all, soon, 200, 429)
	// A worker that had no request since may still ask Redis, until it finds it slow.
	if n := byMode(all, 200); n["local"] < rate*875/1000 || n["local"]+n["redis"] > rate*1125/1000 {
		t.Errorf("admitted by %v, and the limit is %d", n, rate)
	}
	for i, e := range gws {
		if v := stats(t, e).Sum("sluice_hot_local", nil); v < 1 || v > 2 {
			t.Errorf("gateway %d: sluice_hot_local is %v", i, v)
		}
	}
	proxy.Set(faultproxy.Faults{})
	eventually(t, 30*time.Second, in("redis"))
	eventually(t, 10*time.Second, func() error {
		for i, e := range gws {
			if v := stats(t, e).Sum("sluice_hot_local", nil); v != 0 {
				return fmt.Errorf("gateway %d: sluice_hot_local is %v", i, v)
			}
		}
		// All that was admitted is charged, so there is no room left.
		if a := get(gws[0].URL()+"/", "hot"); a.status != 429 || a.header.Get("x-sluice-mode") == "local" {
			return fmt.Errorf("answered %d in mode %s", a.status, a.header.Get("x-sluice-mode"))
		}
		return nil
	})
}

// A lease's 100 ms' worth of tokens need a tenth of the calls at most.
func TestLeasesNeedATenthOfTheCalls(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	e := stacktest.Gateway{
		Plugin: policy(t, m{"runtime_overrides": false}, with(byKey("10000000/min"), "hot", m{"lease": m{"for": "100ms"}})),
		Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	before := scripts(t, redis)
	all := during(after(4*time.Second), 12, 0, func(int) answer { return get(e.URL()+"/", "hot") })
	mustBeAnswered(t, all, soon, 200)
	calls := scripts(t, redis) - before
	t.Logf("%d calls for %d requests, %v", calls, len(all), byMode(all, 200))
	if calls*10 > len(all) || calls == 0 {
		t.Errorf("%d calls for %d requests", calls, len(all))
	}
	// What wasn't used is returned.
	eventually(t, 10*time.Second, func() error {
		a := get(e.URL()+"/", "hot")
		if used := 10_000_000 - a.int(t, "x-ratelimit-remaining"); used > int64(len(all))+100 {
			return fmt.Errorf("%d units are charged for %d requests", used, len(all))
		}
		return nil
	})
}

// Several gateways with leases on one key: never more than the limit in any
// window, and at most a tenth less than it.
func TestLeasesAreAccurate(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	const rate = 300
	window := 2 * time.Second
	gws := gateways(t, 3, stacktest.Gateway{
		Plugin: policy(t, m{"runtime_overrides": false}, with(byKey(fmt.Sprint(rate, "/2s")), "hot", m{"lease": m{"for": "100ms"}})),
		Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	})
	before := scripts(t, redis)
	start := time.Now()
	all := during(after(9*time.Second), 16, time.Millisecond, func(i int) answer { return get(gws[i%3].URL()+"/", "hot") })
	took := time.Since(start)
	calls := scripts(t, redis) - before
	mustBeAnswered(t, all, soon, 200, 429)
	var list []history.Admission
	for _, a := range all {
		if a.status == 200 {
			list = append(list, history.Admission{At: a.int(t, "x-sluice-at"), Cost: 1})
		}
	}
	for _, w := range history.Violations(list, window.Microseconds(), rate) {
		t.Errorf("%d were admitted from %d to %d us; the limit is %d", w.Units, w.From, w.To, rate)
	}
	// Windows that begin with the load.
	want := rate * (int(took/window) + 1)
	t.Logf("%d admitted of %d asked, at most %d; %d calls", len(list), len(all), want, calls)
	if len(list)*10 < want*9 {
		t.Errorf("%d admitted, less than nine tenths of %d", len(list), want)
	}
	if calls*10 > len(all) {
		t.Errorf("%d calls for %d requests", calls, len(all))
	}
}

// In a cluster a hot key's shards land on several nodes; together they admit
// exactly the limit, whichever a worker's turn is at.
func TestShardsInACluster(t *testing.T) {
	const rate = 200
	c := overCluster(t, 10*time.Second, false, 2,
		with(byKey(fmt.Sprint(rate, "/hour")), "hot", m{"shards": 8}),
		m{"name": "other", "match": m{"path": "/two"}, "key": "header:x-user", "rate": "1000/hour"})
	for _, path := range []string{"/one", "/two"} {
		k := "hot" + strings.TrimPrefix(path, "/")
		all := times(2*rate, 12, func(i int) answer {
			return send(call{url: c.gws[i%2].URL() + path, header: map[string]string{key: k, "x-user": "u", "x-debug": debugSecret}})
		})
		mustBeAnswered(t, all, soon, 200, 429)
		if n := statuses(all); n[200] != rate {
			t.Errorf("%s: %d admitted, and the limit is %d: %v", path, n[200], rate, byMode(all, 200))
		}
		nodes, keys := 0, 0
		for _, node := range c.Nodes {
			client := node.Client()
			found, err := client.Keys(context.Background(), "rl:{key|"+k+"|%s*").Result()
			client.Close()
			if err != nil {
				t.Fatal(err)
			}
			keys += len(found)
			if len(found) > 0 {
				nodes++
			}
		}
		if keys != 8 || nodes < 2 {
			t.Errorf("%s: %d shards on %d nodes", path, keys, nodes)
		}
	}
	c.noCrossSlot()
}
