package envoyconfig

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func load(t *testing.T) *Config {
	t.Helper()
	c, err := Load("../../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// again writes a configuration and reads it back.
func again(t *testing.T, c *Config) *Config {
	t.Helper()
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Parse(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return back
}

func endpoint(c *Config, cluster string) any {
	return at(c.cluster(cluster), "load_assignment", "endpoints", 0, "lb_endpoints", 0, "endpoint", "address")
}

func TestWritingLosesNothing(t *testing.T) {
	c := load(t)
	if diff := cmp.Diff(c.root, again(t, c).root); diff != "" {
		t.Error(diff)
	}
}

func TestEdits(t *testing.T) {
	c := load(t)
	c.AdminPort(0)
	c.Listen(Gateway, 1234)
	c.Endpoint(Pipe, "127.0.0.1:7777")
	c.Module("/some/where.wasm")
	c.Configure(`{"limits":[]}`)
	c.PassEnv("A", "B")
	c.InsertFilter(Plugin, "first", M{"@type": "some/type"})
	c.RemoveListener(Sample)
	c.Manager(Gateway, "stream_idle_timeout", nil)
	c = again(t, c)

	for name, pair := range map[string][2]any{
		"admin":    {at(c.root, "admin", "address", "socket_address", "port_value"), uint64(0)},
		"listener": {at(c.listener(Gateway), "address", "socket_address", "port_value"), uint64(1234)},
		"endpoint": {endpoint(c, Pipe), M{"socket_address": M{"address": "127.0.0.1", "port_value": uint64(7777)}}},
		"module":   {at(c.vm(), "code", "local", "filename"), "/some/where.wasm"},
		"plugin":   {at(c.plugin(), "configuration"), M{"@type": stringValue, "value": `{"limits":[]}`}},
		"env":      {at(c.vm(), "environment_variables", "host_env_keys"), []any{"A", "B"}},
		"filter":   {at(c.manager(Gateway), "http_filters", 0), M{"name": "first", "typed_config": M{"@type": "some/type"}}},
		"second":   {at(c.manager(Gateway), "http_filters", 1, "name"), Plugin},
		"idle":     {at(c.manager(Gateway), "stream_idle_timeout"), nil},
	} {
		if diff := cmp.Diff(pair[1], pair[0]); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if named(at(c.root, "static_resources", "listeners"), Sample) != nil {
		t.Error("the sample is still there")
	}
	c.RemovePlugin()
	if got := at(c.manager(Gateway), "http_filters", 1, "name"); got != "envoy.filters.http.router" {
		t.Errorf("after the plugin is removed comes %v", got)
	}
}

func TestMovePorts(t *testing.T) {
	c := load(t)
	if diff := cmp.Diff([]int{9901, 10000, 10001}, c.Listens()); diff != "" {
		t.Error(diff)
	}
	c.MovePorts(Ports{10001: 5, 6379: 10001, 9901: 6})
	c = again(t, c)
	if diff := cmp.Diff([]int{6, 10000, 5}, c.Listens()); diff != "" {
		t.Error(diff)
	}
	// Both ends of a connection move, and none moves twice.
	for cluster, want := range map[string]uint64{Upstream: 5, Pipe: 10001} {
		if got := at(endpoint(c, cluster), "socket_address", "port_value"); got != want {
			t.Errorf("%s connects to port %v", cluster, got)
		}
	}
}

func TestThroughRedisProxy(t *testing.T) {
	for _, cluster := range []bool{false, true} {
		c := load(t)
		c.ThroughRedisProxy([]string{"127.0.0.1:1", "127.0.0.1:2"}, cluster, "0.015s")
		c = again(t, c)
		if diff := cmp.Diff(M{"envoy_internal_address": M{"server_listener_name": ProxyListener}}, endpoint(c, Pipe)); diff != "" {
			t.Error(diff)
		}
		nodes, _ := at(c.cluster(ProxyNodes), "load_assignment", "endpoints", 0, "lb_endpoints").([]any)
		if len(nodes) != 2 {
			t.Errorf("%d seeds", len(nodes))
		}
		if got := at(c.cluster(ProxyNodes), "cluster_type") != nil; got != cluster {
			t.Errorf("a Redis Cluster: %v, expected %v", got, cluster)
		}
		if got := at(c.listener(ProxyListener), "filter_chains", 0, "filters", 0, "typed_config", "settings", "op_timeout"); got != "0.015s" {
			t.Errorf("op_timeout %v", got)
		}
	}
}

func TestDiscovery(t *testing.T) {
	c := load(t)
	text, err := c.Discovery(Gateway)
	if err != nil {
		t.Fatal(err)
	}
	var page M
	if err := yaml.Unmarshal(text, &page); err != nil {
		t.Fatal(err)
	}
	if got := at(page, "resources", 0, "name"); got != Gateway {
		t.Errorf("the resource is %v", got)
	}
	if got, _ := at(page, "resources", 0, "@type").(string); !strings.HasSuffix(got, ".Listener") {
		t.Errorf("its type is %v", got)
	}
	if at(c.listener(Gateway), "@type") != nil {
		t.Error("the configuration itself was changed")
	}
	c.ListenersFrom("/some/file.yaml")
	c = again(t, c)
	if named(at(c.root, "static_resources", "listeners"), Gateway) != nil {
		t.Error("the gateway's listener is static too")
	}
	if got := at(c.root, "dynamic_resources", "lds_config", "path_config_source", "path"); got != "/some/file.yaml" {
		t.Errorf("Envoy watches %v", got)
	}
}

// An edit of what isn't there is an error, and not a configuration that differs
// from what was meant.
func TestEditsThatFindNothing(t *testing.T) {
	for name, edit := range map[string]func(*Config){
		"listener": func(c *Config) { c.Listen("ghost", 1) },
		"internal": func(c *Config) { c.Listen(Pipe, 1) },
		"remove":   func(c *Config) { c.RemoveListener("ghost") },
		"cluster":  func(c *Config) { c.Cluster("ghost", "type", "STATIC") },
		"endpoint": func(c *Config) { c.Endpoint("ghost", "127.0.0.1:1") },
		"address":  func(c *Config) { c.Endpoint(Pipe, "nowhere") },
		"port":     func(c *Config) { c.Endpoint(Pipe, "127.0.0.1:http") },
		"filter":   func(c *Config) { c.InsertFilter("ghost", "x", M{}) },
		"gateway":  func(c *Config) { c.RemoveListener(Gateway); c.RemovePlugin() },
		"manager":  func(c *Config) { c.Manager("ghost", "x", 1) },
		"plugin":   func(c *Config) { c.RemovePlugin(); c.Configure("{}") },
		"module":   func(c *Config) { c.RemovePlugin(); c.Module("x") },
		"nodes":    func(c *Config) { c.ThroughRedisProxy([]string{"nowhere"}, true, "1ms") },
	} {
		c := load(t)
		edit(c)
		if _, err := c.YAML(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestParseRefusesNonsense(t *testing.T) {
	for _, text := range []string{"", "just text", "a: [", "- a"} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if _, err := Load("/nonexistent.yaml"); err == nil {
		t.Error("a file that isn't there was read")
	}
}

// The tool makes deployments of the embedded copy: it has to be the example.
func TestEmbeddedExampleIsTheExample(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("..", "..", "..", "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, Example()) {
		t.Error("example.yaml isn't envoy.yaml: run go generate")
	}
}
