package e2e

import (
	"fmt"
	"testing"

	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// Redis Cluster behind Envoy's Redis proxy: each key's counter is exact,
// wherever its slot is, and the counters spread over the nodes.
func TestRedisCluster(t *testing.T) {
	cluster := stacktest.RedisCluster(t, 3)
	var nodes []string
	for _, node := range cluster.Nodes {
		nodes = append(nodes, node.Addr)
	}
	gws := gateways(t, 2, stacktest.Gateway{
		Plugin: policy(t, nil, byKey("20/hour")), Redis: nodes[0], Upstream: stacktest.Upstream(t).Addr,
		Edit: func(c *envoyconfig.Config) { c.ThroughRedisProxy(nodes, true, "9s") },
	})
	backToRedis(t, gws[0])
	const keys = 20
	answers := times(keys*23, 20, func(i int) answer {
		return get(gws[i%2].URL()+"/", fmt.Sprintf("key-%d", i/23))
	})
	mustBeAnswered(t, answers, hang, 200, 429)
	for k := range keys {
		if got := statuses(answers[k*23 : (k+1)*23]); got[200] != 20 {
			t.Errorf("key %d: answers by status %v", k, got)
		}
	}
	for _, node := range cluster.Nodes {
		c := node.Client()
		n, err := c.DBSize(t.Context()).Result()
		c.Close()
		if err != nil || n == 0 {
			t.Errorf("node %s holds %d counters (%v)", node.Addr, n, err)
		}
	}
}
