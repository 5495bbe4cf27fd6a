// Package stacktest starts servers for a test and ends them with it. When the
// test fails it prints the end of each server's log; `go test -artifacts` keeps
// the logs whole.
package stacktest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"sluice/internal/goabi/capabilities"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// logLines is how much of each log a failed test prints.
const logLines = 25

// Root is the checkout's folder.
func Root(t testing.TB) string {
	t.Helper()
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// Module is the path of the compiled plugin. TestMain, or make, builds it.
func Module(t testing.TB) string {
	t.Helper()
	path := filepath.Join(Root(t), stack.ModulePath)
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("the compiled plugin isn't there (%v): run make build", err)
	}
	return path
}

// background outlives any one test: a download serves all of them.
var background = context.Background()

func progress(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

var (
	findEnvoy = sync.OnceValues(func() (string, error) { return stack.FindEnvoy(background, progress) })
	findRedis = sync.OnceValues(func() (string, error) { return stack.FindRedis(background, progress) })

	findPrometheus = sync.OnceValues(func() (string, error) { return stack.FindPrometheus(background, progress) })
	findPromtool   = sync.OnceValues(func() (string, error) { return stack.FindPromtool(background, progress) })
)

// EnvoyBinary finds or downloads Envoy.
func EnvoyBinary(t testing.TB) string {
	t.Helper()
	path, err := findEnvoy()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// RedisBinary finds or installs Redis.
func RedisBinary(t testing.TB) string {
	t.Helper()
	path, err := findRedis()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Redis starts a Redis as o says; Binary and Dir are filled in.
func Redis(t testing.TB, o stack.RedisOptions) *stack.Redis {
	t.Helper()
	fillRedis(t, &o)
	r, err := stack.StartRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	onEnd(t, func() *stack.Process { return r.Process() })
	return r
}

// RedisCluster starts a Redis Cluster of that many masters.
func RedisCluster(t testing.TB, masters int) *stack.RedisCluster {
	t.Helper()
	o := stack.RedisOptions{}
	fillRedis(t, &o)
	c, err := stack.StartRedisCluster(o, masters)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range c.Nodes {
		onEnd(t, func() *stack.Process { return node.Process() })
	}
	return c
}

// Replicate gives each master of a cluster a replica that takes over when it dies.
func Replicate(t testing.TB, c *stack.RedisCluster) {
	t.Helper()
	o := stack.RedisOptions{}
	fillRedis(t, &o)
	err := c.Replicate(o)
	for _, r := range c.Replicas {
		onEnd(t, func() *stack.Process { return r.Process() })
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Sentinels start three sentinels for a master whose replicas are in sync; Binary
// and Dir are filled in.
func Sentinels(t testing.TB, o stack.SentinelOptions, replicas int) *stack.Sentinels {
	t.Helper()
	o.Binary = RedisBinary(t)
	if o.Dir == "" {
		o.Dir = t.ArtifactDir()
	}
	s, err := stack.StartSentinels(o, replicas)
	if err != nil {
		t.Fatal(err)
	}
	for _, node := range s.Nodes {
		onEnd(t, func() *stack.Process { return node.Process() })
	}
	return s
}

func fillRedis(t testing.TB, o *stack.RedisOptions) {
	t.Helper()
	o.Binary = RedisBinary(t)
	if o.Dir == "" {
		o.Dir = t.ArtifactDir()
	}
}

// Upstream starts an upstream.
func Upstream(t testing.TB) *stack.Upstream {
	t.Helper()
	u, err := stack.StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(u.Stop)
	return u
}

// Gateway says how a gateway differs from envoy.yaml.
type Gateway struct {
	Name     string                    // names its log; "envoy" when empty
	Plugin   string                    // the plugin's configuration, JSON; "" for envoy.yaml's own
	Redis    string                    // host:port of Redis
	Upstream string                    // host:port of the upstream; "" for the sample in envoy.yaml
	Workers  int                       // 1 when 0
	Env      []string                  // added to Envoy's environment
	Edit     func(*envoyconfig.Config) // further changes
}

// Config is envoy.yaml as the gateway changes it.
func (g Gateway) Config(t testing.TB) *envoyconfig.Config {
	t.Helper()
	c, err := envoyconfig.Load(filepath.Join(Root(t), "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.AdminPort(0)
	c.Listen(envoyconfig.Gateway, 0)
	c.Module(Module(t))
	// Least privilege, as the tool's manifests have it: whatever a test does, the
	// plugin makes do with what is listed.
	c.Restrict(capabilities.Names())
	if g.Plugin != "" {
		c.Configure(g.Plugin)
	}
	c.Endpoint(envoyconfig.Pipe, g.Redis)
	if g.Upstream != "" {
		c.Endpoint(envoyconfig.Upstream, g.Upstream)
		c.RemoveListener(envoyconfig.Sample)
	}
	if g.Edit != nil {
		g.Edit(c)
	}
	return c
}

// Start starts the gateway; the test fails when Envoy refuses it.
func (g Gateway) Start(t testing.TB) *stack.Envoy {
	t.Helper()
	e, err := g.TryStart(t)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TryStart starts the gateway, or returns why Envoy refused it.
func (g Gateway) TryStart(t testing.TB) (*stack.Envoy, error) {
	t.Helper()
	return Envoy(t, stack.EnvoyOptions{
		Name: g.Name, Config: g.Config(t), Workers: max(1, g.Workers), Env: g.Env,
	})
}

// Envoy starts an Envoy as o says; Binary and Dir are filled in.
func Envoy(t testing.TB, o stack.EnvoyOptions) (*stack.Envoy, error) {
	t.Helper()
	o.Binary = EnvoyBinary(t)
	if o.Dir == "" {
		o.Dir = t.ArtifactDir()
	}
	e, err := stack.StartEnvoy(t.Context(), o)
	if err != nil {
		return nil, err
	}
	onEnd(t, e.Process)
	return e, nil
}

// onEnd stops a process with the test, and prints its log if the test failed.
func onEnd(t testing.TB, process func() *stack.Process) {
	t.Cleanup(func() {
		p := process()
		p.Stop()
		if t.Failed() {
			t.Logf("the end of %s's log:\n%s", p.Name, stack.Tail(p.Log, logLines))
		}
	})
}
