package main

import (
	"path/filepath"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// config is envoy.yaml as a row changes it.
func (b *bed) config(r row) (*envoyconfig.Config, error) {
	c, err := envoyconfig.Load(filepath.Join(b.root, "envoy.yaml"))
	if err != nil {
		return nil, err
	}
	c.AdminPort(0)
	c.Listen(envoyconfig.Gateway, 0)
	module := r.plugin
	if module == "" {
		module = filepath.Join(b.root, stack.ModulePath)
	}
	c.Module(module)
	c.Endpoint(envoyconfig.Pipe, b.redis.Addr)
	c.Endpoint(envoyconfig.Upstream, b.application.Listener(envoyconfig.Gateway))
	c.RemoveListener(envoyconfig.Sample)
	// Writing a line a request costs more than some of the rows.
	c.Manager(envoyconfig.Gateway, "access_log", nil)
	if r.other != nil {
		r.other(c, b)
	}
	if r.cluster {
		var nodes []string
		for _, node := range b.cluster.Nodes {
			nodes = append(nodes, node.Addr)
		}
		c.ThroughRedisProxy(nodes, true, "1.9s")
	}
	switch {
	case r.module != "":
		c.Module(b.modules[r.module])
		c.Configure("")
		return c, nil
	case r.policy == "":
		c.RemovePlugin()
		return c, nil
	}
	// A decision that times out on a busy machine would look cheap: refuse, and
	// the row fails.
	c.Configure(r.configuration())
	return c, nil
}

// debugSecret is what a caller of a row with debug says.
const debugSecret = "bench"

// configuration is the plugin's.
func (r row) configuration() string {
	topology := "single"
	if r.cluster {
		topology = "cluster"
	}
	debug := ""
	if r.debug {
		debug = `"debug":{"when":{"header:x-debug":"` + debugSecret + `"}},`
	}
	return `{` + debug + `"redis":{"cluster":"` + envoyconfig.Pipe + `","topology":"` + topology + `","timeout":"2s"},"on_error":"deny","limits":[` + r.policy + `]}`
}

// m is a YAML mapping.
type m = envoyconfig.M

// Buckets for Envoy's own filter.
var (
	endlessTokens = m{"max_tokens": 1_000_000_000, "tokens_per_fill": 1_000_000_000, "fill_interval": "1s"}
	oneToken      = m{"max_tokens": 1, "tokens_per_fill": 1, "fill_interval": "86400s"}
)

func localRateLimit(bucket m) func(*envoyconfig.Config, *bed) {
	all := m{"default_value": m{"numerator": 100, "denominator": "HUNDRED"}}
	return func(c *envoyconfig.Config, _ *bed) {
		c.InsertFilter(envoyconfig.Plugin, "local_ratelimit", m{
			"@type":           "type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit",
			"stat_prefix":     "local",
			"token_bucket":    bucket,
			"filter_enabled":  all,
			"filter_enforced": all,
		})
	}
}

// What the route sends to the rate-limit service; ratelimit.yaml has the limits.
var (
	byCaller   = m{"request_headers": m{"header_name": "x-user-id", "descriptor_key": "user"}}
	byRejected = m{"request_headers": m{"header_name": "x-user-id", "descriptor_key": "rejected"}}
	byAddress  = m{"remote_address": m{}}
	byEndpoint = m{"generic_key": m{"descriptor_key": "endpoint", "descriptor_value": "all"}}
)

// serviceCluster is the rate-limit service's cluster.
const serviceCluster = "ratelimit"

func rateLimitService(actions ...m) func(*envoyconfig.Config, *bed) {
	var limits []any
	for _, a := range actions {
		limits = append(limits, m{"actions": []any{a}})
	}
	return func(c *envoyconfig.Config, b *bed) {
		c.AddCluster(m{
			"name": serviceCluster, "type": "STATIC", "connect_timeout": "1s",
			"typed_extension_protocol_options": m{"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": m{
				"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"explicit_http_config": m{"http2_protocol_options": m{}},
			}},
		})
		c.Endpoint(serviceCluster, b.service.grpc)
		c.InsertFilter(envoyconfig.Plugin, "ratelimit", m{
			"@type":             "type.googleapis.com/envoy.extensions.filters.http.ratelimit.v3.RateLimit",
			"domain":            "bench",
			"timeout":           "2s",
			"failure_mode_deny": true,
			"rate_limit_service": m{
				"transport_api_version": "V3",
				"grpc_service":          m{"envoy_grpc": m{"cluster_name": serviceCluster}},
			},
		})
		c.Manager(envoyconfig.Gateway, "route_config", m{"virtual_hosts": []any{m{
			"name": "all", "domains": []any{"*"},
			"routes": []any{m{
				"match": m{"prefix": "/"},
				"route": m{"cluster": envoyconfig.Upstream, "rate_limits": limits},
			}},
		}}})
	}
}
