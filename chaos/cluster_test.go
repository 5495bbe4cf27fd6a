package chaos

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"sluice/chaos/load"
	"sluice/internal/history"
	"sluice/internal/key"
	"sluice/internal/slot"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// pair is the name of two limits in two slots, whose requests need both.
const pair = "pair"

// proxyTimeout is the longest that Envoy's Redis proxy waits for a node. It answers
// in order: with less than the plugin's timeout, what waits behind a node that
// stalls is still in time.
const proxyTimeout = timeout * 3 / 4

// clusterScenarios are the faults of a Redis Cluster.
var clusterScenarios = []scenario{
	{
		name: "one of three cluster nodes stopped", short: true, lostConnections: true, uncounted: true, recovers: reconnects,
		what:    "SIGSTOP of one of three masters for 1 s. Requests whose counters are on the other two are decided all along.",
		why:     whyExact + " Limits of several slots are charged all or not at all. " + whyTimeout,
		streams: []*load.Stream{spared(0), spared(2), paired()},
		fault:   stopNode,
	},
	{
		name: "resharding under load", short: true, lostConnections: true, uncounted: true, recovers: again,
		what:    "The slots of the hot keys move from node to node and back with what they count, while requests go on.",
		why:     whyExact + " A slot that moves has no second life.",
		streams: []*load.Stream{paired()},
		fault:   reshard,
	},
}

// newClusterBed starts gateways before a Redis Cluster of three masters.
func newClusterBed(t *testing.T) *bed {
	b := &bed{t: t, upstream: stacktest.Upstream(t), waits: watchWaits(t), pauses: watchPauses(t), cluster: stacktest.RedisCluster(t, 3)}
	b.upstream.SetAnswer(stack.Answer{Body: "ok"})
	var nodes []string
	for i, node := range b.cluster.Nodes {
		nodes = append(nodes, node.Addr)
		b.waits.follow(ofRedis-i, node.Process().Pid())
	}
	b.startGateways([]string{"", ""}, stacktest.Gateway{
		Plugin: clusterPolicy(t), Redis: nodes[0],
		Edit: func(c *envoyconfig.Config) {
			c.ThroughRedisProxy(nodes, true, fmt.Sprintf("%.3fs", proxyTimeout.Seconds()))
		},
	})
	return b
}

// clusterPolicy is policy for a cluster, and a pair of limits in two slots.
func clusterPolicy(t *testing.T) string {
	t.Helper()
	var p m
	if err := json.Unmarshal([]byte(policy(t, limit)), &p); err != nil {
		t.Fatal(err)
	}
	p["redis"].(m)["topology"] = "cluster"
	match := m{"path": "/" + pair}
	p["limits"] = append(p["limits"].([]any),
		m{"name": pair, "match": match, "key": "header:x-key", "rate": fmt.Sprintf("%d/%dms", limit, window.Milliseconds())},
		m{"name": "and-all", "match": match, "key": "header:x-one", "rate": "100000/s"})
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// counter is the key in Redis of a caller's counter.
func counter(name, caller string) []byte {
	return append(key.AppendValue([]byte("rl:{"+name+"|"), caller), "}:log1"...)
}

// nodeOf is which node has a key's slot at the start.
func nodeOf(counter []byte) int {
	for i := range 2 {
		if int(slot.Of(counter)) < (i+1)*slot.Count/3 {
			return i
		}
	}
	return 2
}

// spared are requests with a key of their own on a node that works.
func spared(node int) *load.Stream {
	return &load.Stream{Name: "spared " + strconv.Itoa(node), Path: "/" + probe, Rate: 40, Header: func(i int, set func(k, v string)) {
		for n := time.Now().UnixNano(); ; n++ {
			if caller := fmt.Sprintf("s%d-%d", i, n); nodeOf(counter(probe, caller)) == node {
				set("X-Key", caller)
				break
			}
		}
		set("X-Debug", debugSecret)
	}}
}

// paired are requests that need two slots: one is hot, the other is anywhere.
func paired() *load.Stream {
	return &load.Stream{Name: pair, Path: "/" + pair, Rate: 130, Header: func(i int, set func(k, v string)) {
		set("X-Key", "hot")
		set("X-One", strconv.Itoa(i%50))
		set("X-Debug", debugSecret)
	}}
}

// stopped is the node that hangs: the one in the middle, which shares pipes with
// both others.
const stopped = 1

// stopNode makes a node hang.
func stopNode(r *run) {
	node := r.bed.cluster.Nodes[stopped]
	if err := node.Pause(); err != nil {
		r.Fatal(err)
	}
	time.Sleep(time.Second)
	if err := node.Resume(); err != nil {
		r.Fatal(err)
	}
	r.check = func(answers []load.Answer, _ []admission) {
		r.checkPair(answers)
		seen := 0
		for i := range answers {
			a := &answers[i]
			if a.Stream.Name != "spared 0" && a.Stream.Name != "spared 2" {
				continue
			}
			seen++
			if !byRedis(a) || a.Status != 200 {
				r.slow("spared", "a request of %s got %d in mode %q %v after the fault began (%s)", a.Stream.Name, a.Status, mode(a), a.Sent.Sub(r.begun), r.circumstances(a))
			}
		}
		if seen == 0 {
			r.Error("no request was to be spared")
		}
	}
}

// reshard moves the slots of the hot keys around.
func reshard(r *run) {
	nodes := r.bed.cluster.Nodes
	for _, c := range [][]byte{counter(open, r.key), counter(shut, r.key), counter(pair, "hot")} {
		s, home := int(slot.Of(c)), nodeOf(c)
		for step := range 3 {
			from, to := nodes[(home+step)%3], nodes[(home+step+1)%3]
			if err := r.bed.cluster.MoveSlot(r.Context(), s, from, to, func() { time.Sleep(10 * time.Millisecond) }); err != nil {
				r.Fatal(err)
			}
			time.Sleep(60 * time.Millisecond)
		}
	}
	r.check = func(answers []load.Answer, _ []admission) { r.checkPair(answers) }
}

// checkPair checks the windows of the hot one of the two limits.
func (r *run) checkPair(answers []load.Answer) {
	var list []history.Admission
	for i := range answers {
		a := &answers[i]
		if a.Stream.Name == pair && a.Status == 200 && byRedis(a) {
			list = append(list, history.Admission{At: a.Int("X-Sluice-At"), Cost: 1})
		}
	}
	if n := most(list, window); n > limit {
		r.Errorf("a window of the pair's hot limit holds %d, and the limit is %d", n, limit)
	}
	if len(list) == 0 {
		r.Error("no request met two slots")
	}
}
