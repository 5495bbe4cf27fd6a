package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/history"
	"sluice/internal/slot"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// clustered is gateways before a Redis Cluster of three masters.
type clustered struct {
	*stack.RedisCluster
	t   *testing.T
	gws []*stack.Envoy
}

// overCluster starts a cluster, and n gateways of two workers that reach it
// through Envoy's Redis proxy. timeout is the plugin's; the proxy's is less.
func overCluster(t *testing.T, timeout time.Duration, replicas bool, n int, limits ...m) *clustered {
	t.Helper()
	c := &clustered{RedisCluster: stacktest.RedisCluster(t, 3), t: t}
	if replicas {
		stacktest.Replicate(t, c.RedisCluster)
	}
	all := m{"redis": m{"cluster": envoyconfig.Pipe, "topology": "cluster", "timeout": timeout.String()}}
	var nodes []string
	for _, node := range c.Nodes {
		nodes = append(nodes, node.Addr)
	}
	c.gws = gateways(t, n, stacktest.Gateway{
		Plugin: policy(t, all, limits...), Redis: nodes[0], Upstream: stacktest.Upstream(t).Addr,
		Edit: func(e *envoyconfig.Config) {
			e.ThroughRedisProxy(nodes, true, fmt.Sprintf("%.3fs", timeout.Seconds()*3/4))
		},
	})
	for _, e := range c.gws {
		eventually(t, 20*time.Second, func() error {
			for i := range 3 {
				a := send(call{url: e.URL() + "/ready", header: map[string]string{key: c.keyOn(i, fmt.Sprintf("ready-%d", time.Now().UnixNano())), "x-debug": debugSecret}})
				if a.err != nil {
					return a.err
				}
				if a.status != 200 || a.header.Get("x-sluice-mode") != "redis" {
					return fmt.Errorf("node %d: answered %d in mode %q", i, a.status, a.header.Get("x-sluice-mode"))
				}
			}
			return nil
		})
	}
	return c
}

// nodeOf is which node has a key's slot at the start.
func nodeOf(key string) int {
	s := int(slot.Of([]byte(key)))
	for i := range 3 {
		if s < (i+1)*slot.Count/3 {
			return i
		}
	}
	panic("no such slot")
}

// keyOn makes a caller whose counter of the limit "key" is on a node.
func (c *clustered) keyOn(node int, name string) string {
	for i := 0; ; i++ {
		k := fmt.Sprintf("%s-%d", name, i)
		if nodeOf("rl:{key|"+k+"}:log1") == node {
			return k
		}
	}
}

// scriptCalls is how many script calls the nodes have carried out.
func (c *clustered) scriptCalls() (calls int) {
	c.t.Helper()
	for _, node := range c.Nodes {
		client := node.Client()
		text := client.Info(context.Background(), "commandstats").Val()
		client.Close()
		for _, found := range regexp.MustCompile(`cmdstat_(?:evalsha|eval):calls=(\d+),.*rejected_calls=(\d+),`).FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(found[1])
			if err != nil {
				c.t.Fatal(err)
			}
			calls += n
		}
	}
	return calls
}

// noCrossSlot fails the test if any node was ever asked for keys of two slots.
func (c *clustered) noCrossSlot() {
	c.t.Helper()
	for _, node := range c.Nodes {
		if node.Process().Ended() {
			continue
		}
		client := node.Client()
		if text := client.Info(context.Background(), "errorstats").Val(); strings.Contains(text, "CROSSSLOT") {
			c.t.Errorf("%s answered CROSSSLOT: %s", node.Addr, text)
		}
		client.Close()
	}
}

// count is what a zset log holds.
func (c *clustered) count(key string) int64 {
	c.t.Helper()
	client := c.Nodes[nodeOf(key)].Client()
	defer client.Close()
	n, err := client.ZCard(c.t.Context(), key).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	return n
}

// Each key's counter is exact, wherever its slot is; limits of several slots are
// charged all or not at all; and those with one hash tag are one call.
func TestRedisCluster(t *testing.T) {
	c := overCluster(t, 10*time.Second, false, 2,
		with(byKey("20/hour"), "match", m{"path": []string{"/", "/ready"}}),
		m{"name": "address", "match": m{"path": "/levels"}, "key": "header:x-address", "rate": "30/hour", "storage": "zset"},
		m{"name": "user", "match": m{"path": "/levels"}, "key": "header:x-user", "rate": "12/hour", "storage": "zset"},
		m{"name": "endpoint", "match": m{"path": "/levels"}, "key": "path", "rate": "50/hour", "storage": "zset"},
		m{"name": "tenant", "match": m{"path": "/tagged"}, "key": "header:x-tenant", "hash_tag": "header:x-tenant", "rate": "50/hour"},
		m{"name": "member", "match": m{"path": "/tagged"}, "key": "header:x-user", "hash_tag": "header:x-tenant", "rate": "5/hour", "penalty": "1min"},
	)
	t.Run("exactly N", func(t *testing.T) {
		const keys = 20
		answers := times(keys*23, 20, func(i int) answer {
			return get(c.gws[i%2].URL()+"/", fmt.Sprintf("key-%d", i/23))
		})
		mustBeAnswered(t, answers, hang, 200, 429)
		for k := range keys {
			if got := statuses(answers[k*23 : (k+1)*23]); got[200] != 20 {
				t.Errorf("key %d: answers by status %v", k, got)
			}
		}
		for _, node := range c.Nodes {
			client := node.Client()
			n, err := client.DBSize(t.Context()).Result()
			client.Close()
			if err != nil || n == 0 {
				t.Errorf("node %s holds %d counters (%v)", node.Addr, n, err)
			}
		}
	})
	t.Run("all or nothing", func(t *testing.T) {
		const endpoint = "rl:{endpoint|/levels}:zlog1"
		var address string
		for i := 0; ; i++ { // on another node than the endpoint's
			if address = fmt.Sprintf("a%d", i); nodeOf("rl:{address|"+address+"}:zlog1") != nodeOf(endpoint) {
				break
			}
		}
		users := []string{"u1", "u2", "u3", "u4", "u5"}
		answers := times(200, 24, func(i int) answer {
			return send(call{url: c.gws[i%2].URL() + "/levels", header: map[string]string{"x-address": address, "x-user": users[i%5], "x-debug": debugSecret}})
		})
		mustBeAnswered(t, answers, hang, 200, 429)
		byUser := map[string]int64{}
		admitted := int64(0)
		for i, a := range answers {
			if a.status == 200 {
				admitted++
				byUser[users[i%5]]++
			}
		}
		if admitted > 30 || admitted < 20 {
			t.Errorf("%d of 30 admitted", admitted) // early refusals while others are undone
		}
		// What a rejected request was charged is returned a moment after its answer.
		eventually(t, 10*time.Second, func() error {
			if n, e := c.count("rl:{address|"+address+"}:zlog1"), c.count(endpoint); n != admitted || e != admitted {
				return fmt.Errorf("%d were admitted, the address counts %d and the endpoint %d", admitted, n, e)
			}
			for _, u := range users {
				if n := c.count("rl:{user|" + u + "}:zlog1"); n != byUser[u] {
					return fmt.Errorf("%d were admitted for %s, and %d are counted", byUser[u], u, n)
				}
			}
			return nil
		})
		// One after the other all of what is left is found.
		for range 30 - admitted {
			send(call{url: c.gws[0].URL() + "/levels", header: map[string]string{"x-address": address, "x-user": "last", "x-debug": debugSecret}}).must(t, map[bool]int{true: 200, false: 429}[admitted >= 18])
		}
	})
	t.Run("one hash tag is one call", func(t *testing.T) {
		before := c.scriptCalls()
		admitted := 0
		for range 8 {
			a := send(call{url: c.gws[0].URL() + "/tagged", header: map[string]string{"x-tenant": "acme", "x-user": "u1", "x-debug": debugSecret}})
			if a.status == 200 {
				admitted++
			} else if a.status != 429 || a.header.Get("x-sluice-limit") != "member" {
				t.Errorf("answered %d about %s", a.status, a.header.Get("x-sluice-limit"))
			}
		}
		if admitted != 5 {
			t.Errorf("%d of 5 admitted", admitted)
		}
		// Each of the node's first two may have lacked the script once a worker's first.
		if calls := c.scriptCalls() - before; calls > 8+1 {
			t.Errorf("%d script calls for 8 requests", calls)
		}
	})
	c.noCrossSlot()
	for _, e := range c.gws {
		if n := stats(t, e).Sum("sluice_redis_errors_total", nil); n != 0 {
			t.Errorf("%v errors were counted", n)
		}
	}
}

// A node that hangs takes down its own keys, and only those: all others are
// decided, in time.
func TestClusterNodeStalled(t *testing.T) {
	const timeout = 400 * time.Millisecond
	c := overCluster(t, timeout, false, 1, byKey("50/s"))
	stop := make(chan struct{})
	answers := make(chan []answer)
	one := func(i int) answer {
		return ask(c.gws[0].URL()+"/", c.keyOn(i%3, fmt.Sprintf("k%d", i/3%10)))
	}
	go func() { answers <- during(stop, 12, 5*time.Millisecond, one) }()
	time.Sleep(700 * time.Millisecond)
	const stalled = 1
	if err := c.Nodes[stalled].Pause(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := c.Nodes[stalled].Resume(); err != nil {
		t.Fatal(err)
	}
	eventually(t, 15*time.Second, func() error {
		a := get(c.gws[0].URL()+"/", c.keyOn(stalled, fmt.Sprintf("again-%d", time.Now().UnixNano())))
		if a.status != 200 || a.header.Get("x-sluice-mode") != "redis" {
			return fmt.Errorf("answered %d", a.status)
		}
		return nil
	})
	close(stop)
	all := <-answers
	mustBeAnswered(t, all, soon, 200, 429, 503)
	failed := 0
	for _, a := range all {
		if a.status != 503 {
			continue
		}
		failed++
		if k := a.asked(); nodeOf("rl:{key|"+k+"}:log1") != stalled {
			t.Errorf("%s is on a node that works, and got %d after %v", k, a.status, a.took)
		}
	}
	if failed == 0 {
		t.Error("the stalled node failed nobody")
	}
	for _, a := range all {
		if nodeOf("rl:{key|"+a.asked()+"}:log1") != stalled && a.header.Get("x-sluice-redis-us") != "" && a.int(t, "x-sluice-redis-us") > timeout.Microseconds() {
			t.Errorf("%s on a node that works was held for %s us", a.asked(), a.header.Get("x-sluice-redis-us"))
		}
	}
	var list []history.Admission
	for _, a := range all {
		if a.status == 200 {
			list = append(list, history.Admission{At: a.int(t, "x-sluice-at"), Cost: 1, Key: a.asked()})
		}
	}
	for _, w := range history.Violations(list, time.Second.Microseconds(), 50) {
		t.Errorf("%d were admitted from %d to %d us, and the limit is 50/s", w.Units, w.From, w.To)
	}
	c.noCrossSlot()
}

// A node dies and its replica takes over: nobody waits, the others' keys are
// decided all along, and the dead one's are again soon.
func TestClusterNodeKilled(t *testing.T) {
	c := overCluster(t, 400*time.Millisecond, true, 1, byKey("50/s"))
	stop := make(chan struct{})
	answers := make(chan []answer)
	one := func(i int) answer {
		return ask(c.gws[0].URL()+"/", c.keyOn(i%3, fmt.Sprintf("k%d", i/3%10)))
	}
	go func() { answers <- during(stop, 8, 5*time.Millisecond, one) }()
	time.Sleep(700 * time.Millisecond)
	const dead = 0
	c.Nodes[dead].Kill()
	for _, e := range c.gws {
		eventually(t, 30*time.Second, func() error {
			a := get(e.URL()+"/", c.keyOn(dead, fmt.Sprintf("again-%d", time.Now().UnixNano())))
			if a.status != 200 || a.header.Get("x-sluice-mode") != "redis" {
				return fmt.Errorf("answered %d", a.status)
			}
			return nil
		})
	}
	close(stop)
	all := <-answers
	mustBeAnswered(t, all, soon, 200, 429, 503)
	failed := 0
	for _, a := range all {
		if a.status == 503 {
			failed++
			if nodeOf("rl:{key|"+a.asked()+"}:log1") != dead {
				t.Errorf("%s is on a node that lives, and got 503 after %v", a.asked(), a.took)
			}
		}
	}
	if failed == 0 {
		t.Error("the dead node failed nobody")
	}
	c.noCrossSlot()
}

// Slots move from node to node under load: every request is decided or answered,
// and no counter admits more than its limit, nor loses what it counted.
func TestClusterReshardedUnderLoad(t *testing.T) {
	c := overCluster(t, 2*time.Second, false, 2,
		with(byKey("200/hour"), "match", m{"path": []string{"/", "/ready"}}),
		m{"name": "tenant", "match": m{"path": "/tagged"}, "key": "header:x-tenant", "hash_tag": "header:x-tenant", "rate": "300/hour"},
		m{"name": "member", "match": m{"path": "/tagged"}, "key": "header:x-user", "hash_tag": "header:x-tenant", "rate": "120/hour"},
		m{"name": "other", "match": m{"path": "/tagged"}, "key": "header:x-user", "rate": "400/hour"})
	k := c.keyOn(0, "moved")
	moved := []int{int(slot.Of([]byte("{key|" + k + "}"))), int(slot.Of([]byte("acme")))}
	stop := make(chan struct{})
	answers := make(chan []answer)
	go func() {
		answers <- during(stop, 8, 3*time.Millisecond, func(i int) answer {
			if i%2 == 0 {
				return ask(c.gws[i/2%2].URL()+"/", k)
			}
			a := send(call{url: c.gws[i/2%2].URL() + "/tagged", header: map[string]string{"x-tenant": "acme", "x-user": fmt.Sprintf("u%d", i/2%5), "x-debug": debugSecret}})
			return a.about("tagged")
		})
	}()
	time.Sleep(200 * time.Millisecond)
	at := []int{nodeOf("{key|" + k + "}"), nodeOf("{acme}")}
	for range 3 {
		for i, s := range moved {
			to := (at[i] + 1) % 3
			if err := c.MoveSlot(t.Context(), s, c.Nodes[at[i]], c.Nodes[to], func() { time.Sleep(20 * time.Millisecond) }); err != nil {
				t.Fatal(err)
			}
			at[i] = to
		}
		time.Sleep(200 * time.Millisecond)
	}
	admitted := func(all []answer) map[string]int {
		n := map[string]int{}
		for _, a := range all {
			if a.status == 200 {
				n[a.asked()]++
			}
		}
		return n
	}
	// Until both limits are used up.
	eventually(t, 30*time.Second, func() error {
		a, b := get(c.gws[0].URL()+"/", k), send(call{url: c.gws[0].URL() + "/tagged", header: map[string]string{"x-tenant": "acme", "x-user": "late", "x-debug": debugSecret}})
		if a.status != 429 || b.status != 429 {
			return fmt.Errorf("answered %d and %d", a.status, b.status)
		}
		return nil
	})
	close(stop)
	all := <-answers
	mustBeAnswered(t, all, soon, 200, 429, 503)
	n := admitted(all)
	lost := statuses(all)[503]
	t.Logf("%d and %d admitted, %d of %d requests failed", n[k], n["tagged"], lost, len(all))
	if n[k] > 200 || n["tagged"] > 300 {
		t.Errorf("%d of 200 and %d of 300 admitted", n[k], n["tagged"])
	}
	if n[k] < 190 || n["tagged"] < 250 {
		t.Errorf("only %d of 200 and %d of 300 admitted: counts were made for nobody", n[k], n["tagged"])
	}
	if lost > len(all)/10 {
		t.Errorf("%d of %d requests weren't decided", lost, len(all))
	}
	c.noCrossSlot()
}

// ask is get, and remembers which caller asked.
func ask(url, k string) answer { return get(url, k).about(k) }

// about notes what an answer is about.
func (a answer) about(what string) answer {
	if a.header == nil {
		a.header = http.Header{}
	}
	a.header.Set("x-asked", what)
	return a
}

func (a answer) asked() string { return a.header.Get("x-asked") }
