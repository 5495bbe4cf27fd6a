package playground_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"sluice/internal/playground"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// rig is what `sluice dev` starts: Redis, Envoy with the plugin, and the page.
type rig struct {
	url      string
	gateway  string
	page     *playground.Server
	settings *playground.Settings
	redis    *stack.Redis
}

// example is the plugin's configuration in envoy.yaml.
func example(t testing.TB) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(stacktest.Root(t), "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _, err := envoyconfig.PluginText(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// start starts everything with a configuration.
func start(t testing.TB, config string) *rig {
	t.Helper()
	r := &rig{redis: stacktest.Redis(t, stack.RedisOptions{})}
	envoy := stacktest.Gateway{Redis: r.redis.Addr, Workers: 2, Edit: func(c *envoyconfig.Config) {
		c.Listen(envoyconfig.Sample, 0)
		c.Endpoint(envoyconfig.Upstream, stacktest.Upstream(t).Addr)
		file, err := stack.NewPluginFile(c, filepath.Join(t.TempDir(), "watched", "sluice.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		c.StatsEvery("1s")
		r.settings = playground.NewSettings("envoy.yaml", file, true)
		if wrong, err := r.settings.Open(config); err != nil || len(wrong) > 0 {
			t.Fatal(wrong, err)
		}
	}}.Start(t)
	r.settings.Running(envoy.Admin)
	r.gateway = envoy.URL()
	l, err := net.Listen("tcp", stack.Addr(0))
	if err != nil {
		t.Fatal(err)
	}
	rdb := r.redis.Client()
	server := playground.NewOwnRedis(r.redis, make(chan *stack.Process, 4))
	r.page, err = playground.Start(l, playground.Options{
		Gateway: r.gateway, Admin: envoy.Admin, Redis: rdb, Settings: r.settings, Server: server,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.page.Stop()
		server.End()
		_ = rdb.Close()
	})
	r.url = "http://" + l.Addr().String() + "/"
	return r
}

func itoa(n int) string { return strconv.Itoa(n) }
