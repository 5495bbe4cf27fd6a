package envoyconfig

import "github.com/goccy/go-yaml"

// The internal listener, and the cluster behind it, that put Envoy's own Redis
// proxy between the pipe and Redis.
const (
	ProxyListener = "redis_rl"
	ProxyNodes    = "redis_nodes"
)

// ThroughRedisProxy sends what the pipe carries through Envoy's Redis proxy, as
// a Redis Cluster needs: nodes are its seeds, each host:port. With cluster
// false there is one node and no slots. opTimeout is how long one command may
// take, for example "0.015s": it has to be below the plugin's own timeout.
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
	var parts struct {
		Listeners, Clusters []any
		Bootstrap           []any `yaml:"bootstrap_extensions"`
	}
	if err := yaml.Unmarshal(redisProxy, &parts); err != nil {
		c.fail("read redisproxy.yaml: %w", err)
		return
	}
	listener, backend := named(parts.Listeners, ProxyListener), named(parts.Clusters, ProxyNodes)
	settings, _ := at(listener, "filter_chains", 0, "filters", 0, "typed_config", "settings").(M)
	if settings == nil || backend == nil {
		c.fail("redisproxy.yaml has no %s or no %s", ProxyListener, ProxyNodes)
		return
	}
	settings["op_timeout"] = opTimeout
	backend["load_assignment"] = assignment(ProxyNodes, addresses...)
	if !cluster {
		delete(backend, "lb_policy")
		delete(backend, "cluster_type")
		backend["type"] = "STATIC"
	}
	c.addListener(listener)
	c.addCluster(backend)
	c.Top("bootstrap_extensions", parts.Bootstrap)
	c.Cluster(Pipe, "type", "STATIC")
	c.setEndpoint(Pipe, internalAddress(ProxyListener))
}
