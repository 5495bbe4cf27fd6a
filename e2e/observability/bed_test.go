package observability

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/goccy/go-yaml"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

type m = map[string]any

// where the project keeps what operators load into their tools.
const deploy = "deploy/observability"

// policy is a configuration as the plugin reads it. Its timeout never passes: a
// busy machine makes no errors.
func policy(t *testing.T, limits ...m) string {
	t.Helper()
	text, err := json.Marshal(m{"redis": m{"timeout": "10s"}, "limits": limits})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// on is a limit of its own path that counts by the header x-key.
func on(name, rate string, more m) m {
	l := m{"name": name, "match": m{"path": "/" + name}, "key": "header:x-key", "rate": rate}
	maps.Copy(l, more)
	return l
}

// bed is a gateway that takes its configuration by discovery, and a Prometheus
// that scrapes it, set up as the project's own files say.
type bed struct {
	t          *testing.T
	envoy      *stack.Envoy
	redis      *stack.Redis
	upstream   *stack.Upstream
	prometheus *stack.Prometheus
	file       string // that Envoy reads the plugin's filter from
	gateway    stacktest.Gateway
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, redis: stacktest.Redis(t, stack.RedisOptions{}), upstream: stacktest.Upstream(t)}
	b.file = filepath.Join(t.ArtifactDir(), "filter.yaml")
	b.gateway = stacktest.Gateway{
		Plugin: policy(t,
			on("strict", "5/hour", nil),
			on("shadow", "1/hour", m{"shadow": true}),
			on("tagged", "1/hour", m{"tag": m{"header": "x-over"}}),
			on("open", "100/hour", m{"on_error": "allow"}),
			on("closed", "100/hour", m{"on_error": "deny"}),
			on("local", "100/hour", m{"on_error": "local"}),
			on("missing", "100/hour", m{"key": "header:x-none", "missing": "deny"}),
			on("cost", "100/hour", m{"cost": "header:x-key"}),
		),
		Redis: b.redis.Addr, Upstream: b.upstream.Addr,
	}
	b.configure("")
	none := filepath.Join(t.ArtifactDir(), "listeners.yaml")
	if err := os.WriteFile(none, []byte("resources: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	discovered := b.gateway
	discovered.Edit = func(c *envoyconfig.Config) {
		c.AlsoListenersFrom(none) // names the node, which discovery wants
		c.PluginFrom(b.file)
	}
	b.envoy = discovered.Start(t)
	// Discovery is not done yet when Envoy says that it is ready.
	eventually(t, func() error {
		stats, err := b.envoy.Admin.Stats(t.Context())
		if _, has := stats["sluice_panics_total"]; err == nil && !has {
			err = fmt.Errorf("the plugin isn't loaded")
		}
		return err
	})
	b.prometheus = stacktest.Prometheus(t, stack.PrometheusOptions{Config: scrape(t, string(b.envoy.Admin))})
	return b
}

// configure hands the gateway another configuration; "" stands for the first.
func (b *bed) configure(plugin string) {
	b.t.Helper()
	g := b.gateway
	if plugin != "" {
		g.Plugin = plugin
	}
	text, err := g.Config(b.t).PluginDiscovery()
	if err != nil {
		b.t.Fatal(err)
	}
	// Envoy notices a file only when it is moved to its place.
	if err := os.WriteFile(b.file+".new", text, 0o644); err != nil {
		b.t.Fatal(err)
	}
	if err := os.Rename(b.file+".new", b.file); err != nil {
		b.t.Fatal(err)
	}
}

// scrape is the project's own prometheus.yaml with other addresses, read every
// half second.
func scrape(t *testing.T, target string) string {
	t.Helper()
	var config m
	read(t, "prometheus.yaml", &config)
	config["global"] = m{"scrape_interval": "500ms", "evaluation_interval": "1s"}
	config["rule_files"] = []string{filepath.Join(stacktest.Root(t), deploy, "alerts.yaml")}
	job := config["scrape_configs"].([]any)[0].(m)
	job["static_configs"] = []m{{"targets": []string{target}}}
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.ArtifactDir(), "prometheus.yaml")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// read decodes a YAML or JSON file of the deploy folder.
func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(stacktest.Root(t), deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// value is a query's only sample.
func (b *bed) value(expr string) (float64, error) {
	samples, err := b.prometheus.Query(expr)
	if err != nil {
		return 0, err
	}
	if len(samples) != 1 {
		return 0, fmt.Errorf("%s gives %d samples", expr, len(samples))
	}
	return samples[0].Value, nil
}

// reaches waits until a query's only sample has the value.
func (b *bed) reaches(expr string, want float64) {
	b.t.Helper()
	eventually(b.t, func() error {
		got, err := b.value(expr)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %v, expected %v", expr, got, want)
		}
		return err
	})
}

// fires waits until an alert's expression gives something.
func (b *bed) fires(name, expr string) {
	b.t.Helper()
	eventually(b.t, func() error {
		samples, err := b.prometheus.Query(expr)
		if err == nil && len(samples) == 0 {
			err = fmt.Errorf("%s doesn't fire: %s", name, expr)
		}
		return err
	})
}

// ask sends a request of a key to a limit.
func (b *bed) ask(limit, key string, status int) {
	b.t.Helper()
	get(b.t, b.envoy.URL()+"/"+limit, key, status)
}
