package edges

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// m is a JSON or YAML object.
type m = map[string]any

// edit changes a door's Envoy configuration; see envoyconfig.
type edit = func(*envoyconfig.Config)

// drainSeconds is how long the shared Envoy serves connections of a listener
// that was replaced.
const drainSeconds = 5

// door is one listener of the shared gateway, made from envoy.yaml, with its own
// plugin configuration. Doors are declared as package variables.
type door struct {
	name   string
	config string // the plugin's configuration, JSON
	edits  []edit
	watch  bool   // Envoy watches a file for the plugin's filter
	late   bool   // comes by the listener file; see discovery_test.go
	addr   string // host:port; free when empty at first
}

var doors []*door

// newDoor declares a door. Its limits answer errors with 503, so that a failing
// Redis can't be taken for a decision.
func newDoor(name, config string, edits ...edit) *door {
	d := &door{name: name, config: config, edits: edits}
	doors = append(doors, d)
	return d
}

// policy is a plugin configuration of these limits; fields adds to the top
// level, or replaces.
func policy(fields m, limits ...m) string {
	p := m{
		"redis":    m{"cluster": envoyconfig.Pipe, "timeout": "5s"},
		"on_error": "deny",
		"limits":   limits,
		// Tests count calls to Redis.
		"runtime_overrides": false,
	}
	maps.Copy(p, fields)
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // a declaration that isn't JSON
	}
	return string(text)
}

// perKey is a limit that counts by the header x-key.
func perKey(name, rate string, more ...m) m {
	l := m{"name": name, "key": "header:x-key", "rate": rate}
	for _, fields := range more {
		maps.Copy(l, fields)
	}
	return l
}

// look makes a probe of a door: another listener whose limits have the same
// counters and charge nothing. What the door decides is read there.
func look(name string, limits ...m) *door {
	var probes []m
	for _, l := range limits {
		p := maps.Clone(l)
		p["cost"] = 0
		delete(p, "settle")
		probes = append(probes, p)
	}
	return newDoor(name, policy(nil, probes...), direct(200))
}

// direct answers every request by Envoy itself.
func direct(status int) edit {
	return routes(m{"match": m{"prefix": "/"}, "direct_response": m{"status": status}})
}

// routes replaces a door's routes.
func routes(list ...any) edit {
	return func(c *envoyconfig.Config) {
		c.Manager(envoyconfig.Gateway, "route_config", m{
			"virtual_hosts": []any{m{"name": "all", "domains": []any{"*"}, "routes": list}},
		})
	}
}

// manager changes a field of a door's HTTP connection manager.
func manager(field string, value any) edit {
	return func(c *envoyconfig.Config) { c.Manager(envoyconfig.Gateway, field, value) }
}

// toUpstream is a route for a prefix with more fields of its action.
func toUpstream(prefix string, more m) m {
	action := m{"cluster": envoyconfig.Upstream}
	maps.Copy(action, more)
	return m{"match": m{"prefix": prefix}, "route": action}
}

// shared is what all tests use.
var shared gateway

type gateway struct {
	root, dir string
	envoy     *stack.Envoy
	redis     *stack.Redis
	client    *redis.Client
	upstream  *upstream

	late  []*door // those that the listener file holds
	lates int     // how many there were
}

func (g *gateway) start(root, dir string) error {
	g.root, g.dir = root, dir
	envoy, err := stack.FindEnvoy(context.Background(), progress)
	if err != nil {
		return err
	}
	server, err := stack.FindRedis(context.Background(), progress)
	if err != nil {
		return err
	}
	if g.redis, err = stack.StartRedis(stack.RedisOptions{Binary: server, Dir: dir}); err != nil {
		return err
	}
	g.client = g.redis.Client()
	if g.upstream, err = startUpstream(); err != nil {
		return err
	}
	config, err := g.bootstrap()
	if err != nil {
		return err
	}
	if err := g.publishListeners(); err != nil {
		return err
	}
	binary, err := g.wrap(envoy)
	if err != nil {
		return err
	}
	g.envoy, err = stack.StartEnvoy(context.Background(), stack.EnvoyOptions{
		Binary: binary, Dir: dir, Config: config, Workers: 1,
	})
	if err != nil {
		return err
	}
	for _, d := range doors {
		if d.addr == "" {
			d.addr = g.envoy.Listener(d.name)
		}
	}
	return nil
}

func (g *gateway) stop() {
	if g.envoy != nil {
		g.envoy.Stop()
	}
	if g.upstream != nil {
		g.upstream.stop()
	}
	if g.redis != nil {
		_ = g.client.Close()
		g.redis.Stop()
	}
}

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// wrap makes a script that starts Envoy with a short drain time.
func (g *gateway) wrap(envoy string) (string, error) {
	path := filepath.Join(g.dir, "envoy.sh")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" --drain-time-s %d\n", envoy, drainSeconds)
	return path, os.WriteFile(path, []byte(script), 0o755)
}

// bootstrap is the whole gateway's configuration: envoy.yaml, with each door
// besides.
func (g *gateway) bootstrap() (*envoyconfig.Config, error) {
	c, err := g.example()
	if err != nil {
		return nil, err
	}
	c.AdminPort(0)
	c.RemoveListener(envoyconfig.Sample)
	c.Endpoint(envoyconfig.Upstream, g.upstream.addr)
	c.Cluster(envoyconfig.Upstream, "typed_extension_protocol_options", m{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": m{
			"@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"use_downstream_protocol_config": m{
				"http_protocol_options": m{"enable_trailers": true},
				// Envoy 1.36 otherwise takes the upstream for an attacker now and then:
				// Go's HTTP/2 sends many of these frames for a large body.
				"http2_protocol_options": m{"max_inbound_window_update_frames_per_data_frame_sent": 1000},
			},
		},
	})
	c.Endpoint(envoyconfig.Pipe, g.redis.Addr)
	c.AddCluster(nowhere)
	c.AddCluster(http3Cluster())
	c.AlsoListenersFrom(g.listenerFile())
	for _, d := range doors {
		if d.late {
			continue
		}
		own, err := g.doorConfig(d)
		if err != nil {
			return nil, err
		}
		c.Adopt(d.name, own)
		if d.addr != "" {
			c.Listen(d.name, portOf(d.addr))
		}
	}
	c.RemoveListener(envoyconfig.Gateway)
	return c, nil
}

// nowhere is a cluster of HTTP/2 that nothing answers.
var nowhere = m{
	"name": "nowhere", "type": "STATIC", "connect_timeout": "0.25s",
	"typed_extension_protocol_options": m{
		"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": m{
			"@type":                "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
			"explicit_http_config": m{"http2_protocol_options": m{}},
		},
	},
	"load_assignment": m{"cluster_name": "nowhere", "endpoints": []any{m{"lb_endpoints": []any{
		m{"endpoint": m{"address": m{"socket_address": m{"address": stack.Host, "port_value": 1}}}},
	}}}},
}

// example is envoy.yaml with the compiled plugin.
func (g *gateway) example() (*envoyconfig.Config, error) {
	c, err := envoyconfig.Load(filepath.Join(g.root, "envoy.yaml"))
	if err != nil {
		return nil, err
	}
	c.Module(filepath.Join(g.root, stack.ModulePath))
	return c, nil
}

// doorConfig is envoy.yaml with the gateway changed to what d is.
func (g *gateway) doorConfig(d *door) (*envoyconfig.Config, error) {
	c, err := g.example()
	if err != nil {
		return nil, err
	}
	c.Manager(envoyconfig.Gateway, "stat_prefix", d.name)
	c.Manager(envoyconfig.Gateway, "access_log", nil)
	// How long Envoy waits for its peer before it closes a connection that can't
	// be used on. Tests that make such would wait for it.
	c.Manager(envoyconfig.Gateway, "delayed_close_timeout", "0.1s")
	c.Configure(d.config)
	for _, e := range d.edits {
		e(c)
	}
	if d.watch {
		text, err := c.PluginDiscovery()
		if err != nil {
			return nil, fmt.Errorf("door %s: %w", d.name, err)
		}
		if err := replaceFile(g.filterFile(d), text); err != nil {
			return nil, err
		}
		c.PluginFrom(g.filterFile(d))
	}
	if _, err := c.YAML(); err != nil {
		return nil, fmt.Errorf("door %s: %w", d.name, err)
	}
	return c, nil
}

// url is where the door is. When the test fails, the end of Envoy's log is
// printed.
func (d *door) url(t *testing.T) string {
	t.Helper()
	return "http://" + d.address(t)
}

// address is the door's host:port.
func (d *door) address(t *testing.T) string {
	t.Helper()
	if d.addr == "" {
		t.Fatalf("Envoy has no listener %s", d.name)
	}
	showLog(t)
	return d.addr
}

var showing sync.Map // tests that will show the log

func showLog(t *testing.T) {
	if _, already := showing.LoadOrStore(t, true); already {
		return
	}
	from := len(envoyLog(t))
	t.Cleanup(func() {
		showing.Delete(t)
		if t.Failed() {
			t.Logf("Envoy logged meanwhile:\n%.6000s", envoyLog(t)[from:])
		}
	})
}

// envoyLog is all that the shared Envoy has logged.
func envoyLog(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(shared.envoy.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stats reads the shared Envoy's metrics.
func stats(t *testing.T) stack.Stats {
	t.Helper()
	s, err := shared.envoy.Admin.SettledStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// active is how many requests a door works on.
func (d *door) active(t *testing.T) string {
	t.Helper()
	text, err := shared.envoy.Admin.Get(t.Context(), "/stats?filter=^http."+d.name+".downstream_rq_active$")
	if err != nil {
		t.Fatal(err)
	}
	_, n, _ := strings.Cut(string(text), ": ")
	return strings.TrimSpace(n)
}

// uniqueKey is a value that no other request of this run counts under.
func uniqueKey(t *testing.T) string {
	keys.Lock()
	defer keys.Unlock()
	keys.n++
	return fmt.Sprintf("%s-%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", ".")), keys.n)
}

var keys struct {
	sync.Mutex
	n int
}
