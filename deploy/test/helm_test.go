package deploytest

import (
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const chartFolder = "../helm/sluice"

func loadChart(t testing.TB) *chart.Chart {
	t.Helper()
	c, err := loader.Load(chartFolder)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// render is helm template: the chart's objects, and its notes.
func render(t testing.TB, values, namespace string) (objects []object, notes string, err error) {
	t.Helper()
	v, err := chartutil.ReadValues([]byte(values))
	if err != nil {
		t.Fatalf("the test's values: %v", err)
	}
	c := loadChart(t)
	all, err := chartutil.ToRenderValues(c, v, chartutil.ReleaseOptions{Name: "limits", Namespace: namespace}, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, "", err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, "", err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasSuffix(name, "NOTES.txt") {
			notes = files[name]
			continue
		}
		objects = append(objects, parse(t, files[name])...)
	}
	return objects, notes, nil
}

// object is a Kubernetes object.
type object map[string]any

func (o object) name() string {
	meta, _ := o["metadata"].(map[string]any)
	kind, _ := o["kind"].(string)
	name, _ := meta["name"].(string)
	return kind + "/" + name
}

// parse reads a file of objects.
func parse(t testing.TB, text string) []object {
	t.Helper()
	var list []object
	for _, doc := range strings.Split("\n"+text, "\n---") {
		var o object
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatalf("%v in\n%s", err, doc)
		}
		if len(o) > 0 {
			list = append(list, o)
		}
	}
	return list
}

func names(objects []object) []string {
	var list []string
	for _, o := range objects {
		list = append(list, o.name())
	}
	slices.Sort(list)
	return list
}

// common are values that all cases have.
const common = `
image: {repository: registry.example/sluice, tag: 1.0.0}
redis: {addresses: ["redis.data.svc.cluster.local:6379"]}
config: {limits: [{name: per-ip, key: ip, rate: 100/s}]}
`

func TestWhatIsInstalled(t *testing.T) {
	for values, want := range map[string]string{
		"gateway: web":                                  "ConfigMap/sluice-web EnvoyFilter/sluice-redis WasmPlugin/sluice",
		"selector: {istio: ingressgateway}":             "EnvoyFilter/sluice-redis WasmPlugin/sluice",
		"{mode: sidecar, selector: {app: shop}}":        "EnvoyFilter/sluice-redis WasmPlugin/sluice",
		"{mode: waypoint, gateway: waypoint}":           "ConfigMap/sluice-waypoint EnvoyFilter/sluice-redis WasmPlugin/sluice",
		"{target: envoy-gateway, gateway: web}":         "EnvoyExtensionPolicy/sluice EnvoyProxy/sluice",
		"{target: higress}":                             "WasmPlugin/sluice",
		"{gateway: web, global: {anything: of Helm's}}": "ConfigMap/sluice-web EnvoyFilter/sluice-redis WasmPlugin/sluice",
	} {
		objects, notes, err := render(t, merge(t, common, values), "ingress")
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		if got := strings.Join(names(objects), " "); got != want {
			t.Errorf("%s: %s, expected %s", values, got, want)
		}
		if !strings.Contains(notes, "sluice check") {
			t.Errorf("%s: the notes are %q", values, notes)
		}
		for _, o := range objects {
			meta := o["metadata"].(map[string]any)
			labels, _ := meta["labels"].(map[string]any)
			if meta["namespace"] != "ingress" || labels["app.kubernetes.io/instance"] != "limits" {
				t.Errorf("%s: %s has metadata %v", values, o.name(), meta)
			}
		}
	}
}

// merge lays values over others, as Helm does with two files.
func merge(t testing.TB, under, over string) string {
	t.Helper()
	a, err := chartutil.ReadValues([]byte(under))
	if err != nil {
		t.Fatal(err)
	}
	b, err := chartutil.ReadValues([]byte(over))
	if err != nil {
		t.Fatal(err)
	}
	out, err := yaml.Marshal(chartutil.CoalesceTables(b, a))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func TestWhatIsRefused(t *testing.T) {
	for values, says := range map[string]string{
		"{}":                                 "gateway",
		"{gateway: web, selector: {a: b}}":   "gateway: is the name",
		"{mode: sidecar, gateway: web}":      "selector: picks",
		"{mode: waypoint, selector: {a: b}}": "waypoint's name",
		"{target: envoy-gateway}":            "Envoy Gateway attaches",
		"{target: envoy-gateway, mode: sidecar, gateway: web}":                                      "sidecar is Istio's",
		"{target: traefik, gateway: web}":                                                           "target",
		"{gateway: web, gatewy: web}":                                                               "gatewy",
		"{gateway: web, redis: {addresses: [redis]}}":                                               "addresses",
		"{gateway: web, redis: {addresses: []}}":                                                    "addresses",
		"{gateway: web, redis: {addresses: ['a:1', 'b:1']}}":                                        "redis.cluster: true",
		"{gateway: web, config: {redis: {password: x}}}":                                            "hold no password",
		"{gateway: web, config: {redis: {link: host}}}":                                             "link",
		"{gateway: web, config: {redis: {link: http}}}":                                             "link",
		"{gateway: web, config: {redis: {cluster: 'outbound|6379||redis'}}}":                        "cluster",
		"{gateway: web, config: {redis: {cluster: redis_nodes}}}":                                   "something else",
		"{target: envoy-gateway, gateway: web, config: {redis: {cluster: redis_rl}}}":               "something else",
		"{gateway: web, config: {limits: [{name: a, rat: 1/s}]}}":                                   "rat",
		"{gateway: web, redis: {cluster: true}, config: {redis: {username: u}}}":                    "username",
		"{gateway: web, redis: {cluster: true}, config: {redis: {db: 2}}}":                          "database 0",
		"{gateway: web, redis: {cluster: true}, config: {redis: {timeout: 5ms}}}":                   "more than 5 ms",
		"{gateway: web, redis: {cluster: true}, config: {limits: [{name: a, rate: [1/s, 9/min]}]}}": "several counters",
		"{target: higress, redis: {cluster: true}}":                                                 "no Redis Cluster",
		"{target: higress, redis: {passwordSecret: {name: x}}}":                                     "gateway's environment",
		"{gateway: web, redis: {tls: {enabled: true, certFile: /c}}}":                               "belong together",
		"{gateway: web, image: {repository: 'oci://registry.example/sluice'}}":                      "repository",
		"{gateway: web, image: {repository: 'registry.example/sluice', digest: 'c0ffee'}}":          "digest",
	} {
		_, _, err := render(t, merge(t, common, values), "ingress")
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: expected %q, got %v", values, says, err)
		}
	}
}

// helm lint, with the values that every chart needs.
func TestLint(t *testing.T) {
	for _, values := range []string{"gateway: web", "{target: envoy-gateway, gateway: web}", "{target: higress}", "{mode: sidecar, selector: {app: shop}}"} {
		v, err := chartutil.ReadValues([]byte(merge(t, common, values)))
		if err != nil {
			t.Fatal(err)
		}
		l := lint.AllWithKubeVersion(chartFolder, v, "ingress", nil)
		for _, m := range l.Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", values, m)
			}
		}
	}
}

// Secrets are named, never held, and the values of a release show in the cluster.
func TestNoOtherFilesInTheChart(t *testing.T) {
	var have []string
	for _, f := range loadChart(t).Raw {
		have = append(have, f.Name)
	}
	for _, must := range []string{"Chart.yaml", "values.yaml", "values.schema.json", "files/pipe.yaml", "files/pipe-cluster.yaml"} {
		if !slices.Contains(have, must) {
			t.Errorf("the chart has no %s", must)
		}
	}
	f, err := os.Open(chartFolder + "/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil || strings.Contains(string(text), "password:") {
		t.Errorf("values.yaml offers a place for a password (%v)", err)
	}
}

// marshal writes an object as YAML.
func marshal(t testing.TB, v any) string {
	t.Helper()
	b, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
