package manifest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what the goldens should be")

const goldens = "../../testdata/manifest"

const redisService = "redis.data.svc.cluster.local:6379"

// goldenCase is a command line and the name of its files.
type goldenCase struct {
	name, config string
	opts         Options
}

const checksum = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

var image = "oci://registry.example/sluice:1.0.0"

var goldenCases = []goldenCase{
	{"envoy", "limits.yaml", Options{Target: Envoy, Redis: []string{"redis:6379"}}},
	{"envoy-watch", "password.yaml", Options{Target: Envoy, Redis: []string{"redis:6379"}, Watch: "/etc/sluice/limits.yaml"}},
	{"envoy-tls", "password.yaml", Options{Target: Envoy, Redis: []string{"redis.example:6380"},
		TLS: &TLS{CA: "/etc/redis/ca.crt", Cert: "/etc/redis/tls.crt", Key: "/etc/redis/tls.key"}}},
	{"envoy-cluster", "cluster.yaml", Options{Target: Envoy, RedisCluster: true, Redis: []string{"redis-0:6379", "redis-1:6379", "10.0.0.3:6379"}}},
	{"envoy-http", "http.yaml", Options{Target: Envoy, Redis: []string{"redis:6379"}}},
	{"istio-http", "http.yaml", Options{Target: Istio, Gateway: "web", Namespace: "ingress", Image: image, Redis: []string{redisService}, PasswordSecret: "redis"}},
	{"envoy-gateway-http", "http.yaml", Options{Target: EnvoyGateway, Gateway: "web", Namespace: "ingress", Image: image, Redis: []string{redisService}, PasswordSecret: "redis"}},
	{"istio-gateway", "password.yaml", Options{Target: Istio, Gateway: "web", Namespace: "ingress", Image: image, Redis: []string{redisService}, PasswordSecret: "redis"}},
	{"istio-selector", "limits.yaml", Options{Target: Istio, Selector: []string{"istio=ingressgateway"}, Namespace: "istio-system", Image: image, SHA256: checksum, PullSecret: "registry",
		Redis: []string{"10.0.0.3:6380"}, TLS: &TLS{Name: "redis.example"}}},
	{"istio-tls", "cluster.yaml", Options{Target: Istio, Gateway: "web", Namespace: "ingress", Image: image, Redis: []string{redisService},
		TLS: &TLS{CA: "secret:redis-ca"}, PasswordSecret: "redis/pass"}},
	{"istio-cluster", "cluster.yaml", Options{Target: Istio, Gateway: "web", Namespace: "ingress", Image: image, RedisCluster: true, Redis: []string{redisService}, PasswordSecret: "redis"}},
	{"istio-in-mesh", "limits.yaml", Options{Target: Istio, Gateway: "web", Namespace: "ingress", Image: image, InMesh: true, Redis: []string{redisService}}},
	{"istio-sidecar", "sidecar.yaml", Options{Target: Istio, Mode: Sidecar, Selector: []string{"app=shop", "tier=front"}, Namespace: "shop", Image: image, Redis: []string{redisService}}},
	{"istio-waypoint", "sidecar.yaml", Options{Target: Istio, Mode: Waypoint, Gateway: "waypoint", Namespace: "shop", Image: image, Redis: []string{redisService}}},
	{"envoy-gateway", "password.yaml", Options{Target: EnvoyGateway, Gateway: "web", Namespace: "ingress", Image: image, Redis: []string{redisService}, PasswordSecret: "redis"}},
	{"envoy-gateway-tls", "cluster.yaml", Options{Target: EnvoyGateway, Gateway: "web", Namespace: "ingress", Image: "https://files.example/sluice.wasm", SHA256: checksum,
		RedisCluster: true, Redis: []string{redisService}, TLS: &TLS{CA: "configmap:redis-ca"}, PasswordSecret: "redis"}},
	{"higress", "password.yaml", Options{Target: Higress, Namespace: "higress-system", Image: "oci://registry.example/sluice-higress:1.0.0", Redis: []string{redisService}}},
}

// options fills in what the flags' defaults are.
func (c goldenCase) options() Options {
	o := c.opts
	o.Source = c.config
	if o.Target == Envoy {
		o.Upstream, o.Listen, o.Module = "app:8080", "0.0.0.0:10000", "/etc/envoy/sluice.wasm"
	}
	return o
}

func (c goldenCase) make(t *testing.T) []File {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(goldens, c.config))
	if err != nil {
		t.Fatal(err)
	}
	files, err := Make(text, c.options())
	if err != nil {
		t.Fatalf("%s: %v", c.name, err)
	}
	return files
}

func TestGoldens(t *testing.T) {
	var names []string
	for _, c := range goldenCases {
		names = append(names, c.name)
		files := c.make(t)
		if again := c.make(t); !bytes.Equal(Join(files), Join(again)) {
			t.Errorf("%s: twice made, twice different", c.name)
		}
		dir := filepath.Join(goldens, c.name)
		if *update {
			store(t, dir, files)
		}
		want, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if len(want) != len(files) {
			t.Errorf("%s: %d files, expected %d", c.name, len(files), len(want))
		}
		for _, f := range files {
			golden, err := os.ReadFile(filepath.Join(dir, f.Name))
			if err != nil {
				t.Error(err)
				continue
			}
			if d := cmp.Diff(string(golden), string(f.Text)); d != "" {
				t.Errorf("%s/%s differs; if on purpose, go test ./internal/manifest -update:\n%s", c.name, f.Name, d)
			}
		}
	}
	entries, err := os.ReadDir(goldens)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() && !slices.Contains(names, e.Name()) {
			t.Errorf("nothing makes %s any more", e.Name())
		}
	}
}

func store(t *testing.T, dir string, files []File) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
