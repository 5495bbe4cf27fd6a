package manifest

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/framer"
)

// What the pipe's cluster is made of; of an http link it lacks the options.
const (
	optionsType = "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
	wasmType    = "type.googleapis.com/envoy.extensions.filters.http.wasm.v3.Wasm"
	codecType   = "type.googleapis.com/envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"
	tcpType     = "type.googleapis.com/envoy.extensions.upstreams.http.tcp.v3.TcpConnectionPoolProto"
	optionsName = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
)

// behindListener is the listener inside Envoy that a golden's pipe leads to, or "".
func behindListener(t *testing.T, c goldenCase) string {
	t.Helper()
	switch {
	case c.opts.RedisCluster:
		return redisProxy
	case c.opts.InMesh:
		return redisMesh
	}
	return ""
}

// Every golden has the one cluster that its plugin calls, which leads to Redis
// itself or, where that is the point, to a listener; and no other has its filters.
func TestEveryGoldenLeadsToRedis(t *testing.T) {
	seen := map[string]int{}
	for _, c := range goldenCases {
		parts := envoyParts(t, c)
		if parts == nil {
			continue
		}
		static := at(parts["envoy.yaml"], "static_resources")
		name := pluginClusters(t, c)[0]
		clusters := at(static, "clusters")
		pipes := 0
		for _, x := range clusters.Content {
			if at(x, "name").Value == name {
				pipes++
			} else if filters := at(x, "typed_extension_protocol_options", optionsName); filters != nil || at(x, "upstream_config") != nil {
				t.Errorf("%s: %s has parts of the pipe", c.name, at(x, "name").Value)
			}
		}
		cluster := named(clusters, name)
		if pipes != 1 {
			t.Fatalf("%s: %d clusters %s", c.name, pipes, name)
		}
		if at(cluster, "upstream_config", "typed_config", "@type").Value != tcpType || at(cluster, "load_assignment", "cluster_name").Value != name {
			t.Errorf("%s: what %s sends isn't bytes on a connection, or another one's endpoints", c.name, name)
		}
		if c.config == "http.yaml" {
			seen["http"]++
			if at(cluster, "typed_extension_protocol_options") != nil {
				t.Errorf("%s: %s has a filter for gRPC, which http doesn't speak", c.name, name)
			}
		} else {
			framed(t, c.name, cluster)
		}
		// Where it leads, and where TLS is.
		secured := cluster
		want := c.opts.Redis
		listener := behindListener(t, c)
		if listener != "" {
			seen[listener]++
			address := at(cluster, "load_assignment", "endpoints", 0, "lb_endpoints", 0, "endpoint", "address", "envoy_internal_address", "server_listener_name")
			if address == nil || address.Value != listener || named(at(static, "listeners"), listener) == nil {
				t.Errorf("%s: %s doesn't lead to %s", c.name, name, listener)
			}
			if at(cluster, "type").Value != "STATIC" || at(cluster, "transport_socket") != nil || at(cluster, "upstream_connection_options") != nil {
				t.Errorf("%s: %s leads to a listener as if to a server", c.name, name)
			}
			secured = named(clusters, redisNodes)
		} else {
			seen["direct"]++
		}
		if c.opts.InMesh {
			continue
		}
		if d := cmp.Diff(want, addresses(secured)); d != "" {
			t.Errorf("%s: servers (-given +made):\n%s", c.name, d)
		}
		if (at(secured, "transport_socket") != nil) != (c.opts.TLS != nil) {
			t.Errorf("%s: TLS is not what it should be", c.name)
		}
	}
	for _, kind := range []string{"direct", "http", redisProxy, redisMesh} {
		if seen[kind] == 0 {
			t.Errorf("no golden of %q, only of %v", kind, slices.Collect(maps.Keys(seen)))
		}
	}
}

// framed says that a cluster takes gRPC and has the filter, the tested module, and
// nothing else before its codec.
func framed(t *testing.T, golden string, cluster node) {
	t.Helper()
	o := at(cluster, "typed_extension_protocol_options", optionsName)
	if o == nil || at(o, "@type").Value != optionsType || at(o, "explicit_http_config", "http2_protocol_options") == nil {
		t.Errorf("%s: the pipe isn't HTTP/2, and Envoy makes no gRPC call", golden)
		return
	}
	filters := at(o, "http_filters")
	if filters == nil || len(filters.Content) != 2 {
		t.Errorf("%s: filters of the pipe: %v", golden, filters)
		return
	}
	first, last := at(filters, 0, "typed_config"), at(filters, 1, "typed_config")
	if at(first, "@type").Value != wasmType || at(last, "@type").Value != codecType {
		t.Errorf("%s: filters of the pipe: %s, %s", golden, at(first, "@type").Value, at(last, "@type").Value)
	}
	module, err := base64.StdEncoding.DecodeString(at(first, "config", "vm_config", "code", "local", "inline_bytes").Value)
	if err != nil || string(module) != string(framer.Module()) {
		t.Errorf("%s: the module isn't internal/framer's (%v)", golden, err)
	}
}

// addresses are the servers of a cluster, host:port each.
func addresses(cluster node) []string {
	var list []string
	for _, e := range at(cluster, "load_assignment", "endpoints", 0, "lb_endpoints").Content {
		if a := at(e, "endpoint", "address", "socket_address"); a != nil {
			list = append(list, at(a, "address").Value+":"+at(a, "port_value").Value)
		}
	}
	return list
}

// A name of the user's own is the name of the whole pipe.
func TestThePipesNameIsTheConfigurations(t *testing.T) {
	for _, target := range []Target{Envoy, Istio, EnvoyGateway} {
		files, err := Make([]byte("redis: {cluster: redis_tcp}\n"+simple), good(target))
		if err != nil {
			t.Fatal(err)
		}
		all := string(Join(files))
		if strings.Contains(all, redisPipe) || !strings.Contains(all, "name: redis_tcp\n") || !strings.Contains(all, "cluster_name: redis_tcp\n") {
			t.Errorf("%s: not redis_tcp all over:\n%s", target, all)
		}
	}
}
