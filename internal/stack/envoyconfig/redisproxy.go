package envoyconfig

// The internal listener, and the cluster behind it, that put Envoy's own Redis
// proxy between the pipe and Redis.
const (
	proxyListener = "redis_rl"
	proxyNodes    = "redis_nodes"
)

// ThroughRedisProxy sends what the pipe carries through Envoy's Redis proxy, as
// a Redis Cluster needs: nodes are its seeds, each host:port. With cluster
// false there is one node and no slots. opTimeout is how long one command may
// take, for example "15ms": it has to be below the plugin's own timeout.
func (c *Config) ThroughRedisProxy(nodes []string, cluster bool, opTimeout string) {
	var addresses []M
	for _, node := range nodes {
		a, err := socketAddress(node)
		if err != nil {
			c.fail("Redis node: %w", err)
			return
		}
		addresses = append(addresses, a)
	}
	backend := M{
		"name":            proxyNodes,
		"connect_timeout": "1s",
		"load_assignment": assignment(proxyNodes, addresses...),
	}
	if cluster {
		backend["lb_policy"] = "CLUSTER_PROVIDED"
		backend["cluster_type"] = M{
			"name": "envoy.clusters.redis",
			"typed_config": M{
				"@type": "type.googleapis.com/envoy.extensions.clusters.redis.v3.RedisClusterConfig",
				// A master that is gone, or a slot that has moved, is looked for soon.
				"cluster_refresh_rate":       "1s",
				"redirect_refresh_interval":  "0.2s",
				"redirect_refresh_threshold": 1,
				"failure_refresh_threshold":  2,
			},
		}
	} else {
		backend["type"] = "STATIC"
	}
	c.addListener(M{
		"name":              proxyListener,
		"internal_listener": M{},
		"filter_chains": []any{M{"filters": []any{M{
			"name": "envoy.filters.network.redis_proxy",
			"typed_config": M{
				"@type":       "type.googleapis.com/envoy.extensions.filters.network.redis_proxy.v3.RedisProxy",
				"stat_prefix": proxyListener,
				"settings": M{
					"op_timeout":         opTimeout,
					"enable_hashtagging": true,
					"enable_redirection": true,
					"dns_cache_config":   M{"name": proxyListener, "dns_lookup_family": "V4_ONLY"},
				},
				"prefix_routes": M{"catch_all_route": M{"cluster": proxyNodes}},
			},
		}}}},
	})
	c.addCluster(backend)
	c.Cluster(RedisTCP, "type", "STATIC")
	c.setEndpoint(RedisTCP, internalAddress(proxyListener))
}
