package deploytest

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"sluice/internal/manifest"
)

var update = flag.Bool("update", false, "make the chart's and the bases' generated files anew")

const limitsOnly = "limits:\n- name: per-ip\n  key: ip\n  rate: 100/s\n"

const redisAddr = "redis.data.svc.cluster.local:6379"

// same is one deployment, said to the chart and to the tool.
type same struct {
	name, values, config string
	opts                 manifest.Options
}

var cases = []same{
	{"a gateway", "gateway: web", limitsOnly, manifest.Options{Target: manifest.Istio, Gateway: "web"}},
	{"pods of a gateway", "selector: {istio: ingressgateway}", limitsOnly,
		manifest.Options{Target: manifest.Istio, Selector: []string{"istio=ingressgateway"}}},
	{"sidecars", "{mode: sidecar, selector: {app: shop, tier: front}, config: {client_ip: {envoy: true}}}", "client_ip: {envoy: true}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Mode: manifest.Sidecar, Selector: []string{"app=shop", "tier=front"}}},
	{"a waypoint", "{mode: waypoint, gateway: wp, config: {client_ip: {envoy: true}}}", "client_ip: {envoy: true}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Mode: manifest.Waypoint, Gateway: "wp"}},
	{"a password, a digest and hashed keys",
		"{gateway: web, image: {digest: 'sha256:" + digest + "', pullSecret: registry}, redis: {passwordSecret: {name: redis, key: pass}}, config: {redis: {password_env: PW, db: 3, timeout: 30ms}, hash_keys: true, hash_secret_env: HASH, on_error: deny}}",
		"redis: {password_env: PW, db: 3, timeout: 30ms}\nhash_keys: true\nhash_secret_env: HASH\non_error: deny\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", PasswordSecret: "redis/pass", SHA256: digest, PullSecret: "registry"}},
	{"a password whose variable nobody named", "{gateway: web, redis: {passwordSecret: {name: redis}}}", "redis: {password_env: REDIS_PASSWORD}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", PasswordSecret: "redis"}},
	{"TLS by the system's authorities", "{gateway: web, redis: {tls: {enabled: true, serverName: redis.example}}}", limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", TLS: &manifest.TLS{Name: "redis.example"}}},
	{"TLS to an address, with a client certificate", "{gateway: web, redis: {addresses: ['10.0.0.3:6380'], tls: {enabled: true, caFile: /a, certFile: /c, keyFile: /k}}}", limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", Redis: []string{"10.0.0.3:6380"}, TLS: &manifest.TLS{CA: "/a", Cert: "/c", Key: "/k"}}},
	{"TLS by a secret's authority", "{gateway: web, redis: {tls: {enabled: true, caSecret: ca}}}", limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", TLS: &manifest.TLS{CA: "secret:ca"}}},
	{"a cluster", "{gateway: web, redis: {cluster: true, addresses: ['a:6379', 'b:6379'], passwordSecret: {name: redis}}}", "redis: {password_env: REDIS_PASSWORD}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", RedisCluster: true, Redis: []string{"a:6379", "b:6379"}, PasswordSecret: "redis"}},
	{"a cluster by its topology", "{gateway: web, config: {redis: {topology: cluster, timeout: 1s}, limits: [{name: a, rate: 1/s}, {name: b, rate: [1/s, 9/min]}]}}",
		"redis: {topology: cluster, timeout: 1s}\nlimits: [{name: a, rate: 1/s}, {name: b, rate: [1/s, 9/min]}]\n",
		manifest.Options{Target: manifest.Istio, Gateway: "web"}},
	{"a slow cluster", "{gateway: web, redis: {cluster: true}, config: {redis: {timeout: 1s}}}", "redis: {timeout: 1s}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", RedisCluster: true}},
	{"another name of the pipe", "{gateway: web, config: {redis: {cluster: limits}}}", "redis: {cluster: limits}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web"}},
	{"another name of the pipe to a cluster, with TLS", "{gateway: web, redis: {cluster: true, tls: {enabled: true}}, config: {redis: {cluster: redis_tcp}}}", "redis: {cluster: redis_tcp}\n" + limitsOnly,
		manifest.Options{Target: manifest.Istio, Gateway: "web", RedisCluster: true, TLS: &manifest.TLS{}}},
	{"another name of the pipe of Envoy Gateway, with TLS", "{target: envoy-gateway, gateway: web, redis: {tls: {enabled: true}}, config: {redis: {cluster: limits}}}", "redis: {cluster: limits}\n" + limitsOnly,
		manifest.Options{Target: manifest.EnvoyGateway, Gateway: "web", TLS: &manifest.TLS{}}},
	{"Envoy Gateway", "{target: envoy-gateway, gateway: web}", limitsOnly, manifest.Options{Target: manifest.EnvoyGateway, Gateway: "web"}},
	{"Envoy Gateway with all", "{target: envoy-gateway, gateway: web, image: {digest: 'sha256:" + digest + "', pullSecret: registry}, redis: {cluster: true, passwordSecret: {name: redis}, tls: {enabled: true, caConfigMap: ca}}, config: {on_error: deny, hash_keys: true, hash_secret_env: HASH}}",
		"redis: {password_env: REDIS_PASSWORD}\non_error: deny\nhash_keys: true\nhash_secret_env: HASH\n" + limitsOnly,
		manifest.Options{Target: manifest.EnvoyGateway, Gateway: "web", RedisCluster: true, PasswordSecret: "redis", SHA256: digest, PullSecret: "registry", TLS: &manifest.TLS{CA: "configmap:ca"}}},
	{"Higress", "{target: higress, config: {on_error: deny}}", "on_error: deny\n" + limitsOnly, manifest.Options{Target: manifest.Higress}},
	{"Higress with a variable", "{target: higress, config: {redis: {password_env: PW}}}", "redis: {password_env: PW}\n" + limitsOnly, manifest.Options{Target: manifest.Higress}},
}

const digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

// made is what the tool makes, without what it only advises.
func made(t testing.TB, config string, o manifest.Options) ([]manifest.File, []object) {
	t.Helper()
	if o.Namespace == "" {
		o.Namespace = "ingress"
	}
	if o.Image == "" {
		o.Image = "oci://registry.example/sluice:1.0.0"
	}
	if len(o.Redis) == 0 {
		o.Redis = []string{redisAddr}
	}
	files, err := manifest.Make([]byte(config), o)
	if err != nil {
		t.Fatal(err)
	}
	var objects []object
	for _, f := range files {
		for _, o := range parse(t, string(f.Text)) {
			if o["kind"] != nil {
				objects = append(objects, o)
			}
		}
	}
	return files, objects
}

// The chart installs what the tool makes, but for labels.
func TestChartInstallsWhatTheToolMakes(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := render(t, merge(t, common, c.values), "ingress")
			if err != nil {
				t.Fatal(err)
			}
			_, want := made(t, c.config, c.opts)
			equal(t, got, want)
		})
	}
}

// equal compares objects, whatever their order and how their texts are written.
func equal(t *testing.T, got, want []object) {
	t.Helper()
	if d := cmp.Diff(names(want), names(got)); d != "" {
		t.Fatalf("objects (-tool +deploy):\n%s", d)
	}
	byName := func(a, b object) int { return strings.Compare(a.name(), b.name()) }
	slices.SortFunc(got, byName)
	slices.SortFunc(want, byName)
	for i := range want {
		if d := cmp.Diff(plain(t, want[i]), plain(t, got[i])); d != "" {
			t.Errorf("%s (-tool +deploy):\n%s", want[i].name(), d)
		}
	}
}

// plain reads an object anew, with the YAML inside its texts read too, and without
// labels.
func plain(t testing.TB, o object) map[string]any {
	t.Helper()
	var m map[string]any
	if err := yaml.Unmarshal([]byte(marshal(t, o)), &m); err != nil {
		t.Fatal(err)
	}
	delete(m["metadata"].(map[string]any), "labels")
	spec, _ := m["spec"].(map[string]any)
	boot, _ := spec["bootstrap"].(map[string]any)
	data, _ := m["data"].(map[string]any)
	for _, inner := range []struct {
		in    map[string]any
		field string
	}{{boot, "value"}, {data, "deployment"}} {
		text, ok := inner.in[inner.field].(string)
		if !ok {
			continue
		}
		var v any
		if err := yaml.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		inner.in[inner.field] = ports(v)
	}
	return m
}

// ports makes numbers of ports that are written as texts, which Envoy reads too.
func ports(v any) any {
	switch x := v.(type) {
	case []any:
		for i := range x {
			x[i] = ports(x[i])
		}
	case map[string]any:
		for k, e := range x {
			if s, ok := e.(string); ok && k == "port_value" {
				var n any
				if yaml.Unmarshal([]byte(s), &n) == nil {
					e = n
				}
			}
			x[k] = ports(e)
		}
	}
	return v
}

// bases are the kustomize bases: the tool's files, as they are.
var bases = []struct {
	folder, config string
	opts           manifest.Options
}{
	{"istio-gateway", limitsOnly, manifest.Options{Target: manifest.Istio, Gateway: "web"}},
	{"istio-sidecar", "client_ip: {envoy: true}\n" + limitsOnly, manifest.Options{Target: manifest.Istio, Mode: manifest.Sidecar, Namespace: "shop", Selector: []string{"app=shop"}}},
	{"envoy-gateway", limitsOnly, manifest.Options{Target: manifest.EnvoyGateway, Gateway: "web"}},
}

// baseImage is what overlays replace.
const baseImage = "oci://registry.example/sluice:0.1.0"

// quoted marks an address in a text for kustomize's replacements.
var quoted = strings.NewReplacer(
	"{address: redis.data.svc.cluster.local, port_value: 6379}", "{address: 'redis.data.svc.cluster.local', port_value: '6379'}")

func TestBasesAreTheToolsFiles(t *testing.T) {
	for _, b := range bases {
		b.opts.Image, b.opts.Source = baseImage, "limits.yaml"
		files, _ := made(t, b.config, b.opts)
		for _, f := range files {
			text := string(f.Text)
			if f.Name == "envoyproxy.yaml" {
				text = quoted.Replace(text)
			}
			generated(t, filepath.Join(kustomizeFolder, "base", b.folder, f.Name), []byte(text))
		}
	}
}

const chartHead = "# Made by `sluice manifest envoy-gateway`: the way to Redis, as Envoy's bootstrap has\n# it. A test makes it anew and compares; the templates fill in addresses, TLS and\n# the password.\n"

func TestChartsPipeIsTheTools(t *testing.T) {
	for name, clustered := range map[string]bool{"pipe": false, "pipe-cluster": true} {
		_, objects := made(t, limitsOnly, manifest.Options{Target: manifest.EnvoyGateway, Gateway: "web", RedisCluster: clustered})
		for _, o := range objects {
			if o["kind"] != "EnvoyProxy" {
				continue
			}
			boot := o["spec"].(map[string]any)["bootstrap"].(map[string]any)["value"].(string)
			generated(t, filepath.Join(chartFolder, "files", name+".yaml"), []byte(chartHead+boot))
		}
	}
}

// generated compares a file with what it should be, or writes that.
func generated(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date; go test . -update in deploy/test:\n%s", file, cmp.Diff(string(got), string(want)))
	}
}

const overlayLimits = `limits:
- name: per-ip
  key: ip
  rate: 50/s
- name: orders
  match: {method: POST, path: /api/orders/*}
  key: header:x-user-id
  rate: 20/min
`

// An overlay, as it stands there to be copied, gives what the tool makes for the
// same gateway, Redis and limits.
func TestOverlaysGiveWhatTheToolMakes(t *testing.T) {
	for folder, c := range map[string]struct {
		config string
		opts   manifest.Options
	}{
		"istio-gateway": {overlayLimits, manifest.Options{Target: manifest.Istio, Gateway: "public", Namespace: "edge", Redis: []string{"limits-redis.edge.svc.cluster.local:6380"}}},
		"istio-sidecar": {"client_ip: {envoy: true}\n" + overlayLimits, manifest.Options{Target: manifest.Istio, Mode: manifest.Sidecar, Selector: []string{"app=checkout"}, Namespace: "checkout", Redis: []string{"limits-redis.checkout.svc.cluster.local:6380"}}},
		"envoy-gateway": {overlayLimits, manifest.Options{Target: manifest.EnvoyGateway, Gateway: "public", Namespace: "edge", Redis: []string{"limits-redis.edge.svc.cluster.local:6380"}}},
	} {
		t.Run(folder, func(t *testing.T) {
			_, want := made(t, c.config, c.opts)
			equal(t, kustomize(t, "overlays/"+folder), want)
		})
	}
}
