package manifest

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/stack/stacktest"
)

// observed is a file of deploy/observability, or another one of the project's.
func observed(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{stacktest.Root(t)}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// flat is the text of a node, without comments and style.
func flat(t *testing.T, n node) string {
	t.Helper()
	if n == nil {
		t.Fatal("there is no such node")
	}
	var b strings.Builder
	var walk func(n node)
	walk = func(n node) {
		b.WriteString("(" + n.Value)
		for _, x := range n.Content {
			walk(x)
		}
		b.WriteString(")")
	}
	walk(n)
	return b.String()
}

var stateField = regexp.MustCompile(`%FILTER_STATE\([^)]*\)%`)

// fields are what a log says of decisions.
func fields(text string) []string {
	all := stateField.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// What a manifest has operators see is what the files for by hand have.
func TestManifestsAgreeWithObservability(t *testing.T) {
	const dir = "deploy/observability"
	snippet := at(parse(observed(t, dir, "envoy-stats.yaml")), "stats_config")
	if d := cmp.Diff(flat(t, snippet), flat(t, statsConfig())); d != "" {
		t.Errorf("stats_config differs from envoy-stats.yaml: %s", d)
	}
	var tags []string
	mesh := parse(observed(t, dir, "istio-mesh.yaml"))
	for _, x := range at(mesh, "defaultConfig", "extraStatTags").Content {
		tags = append(tags, x.Value)
	}
	if d := cmp.Diff(tags, tagNames()); d != "" {
		t.Errorf("labels differ from istio-mesh.yaml: %s", d)
	}
	if !strings.Contains(observed(t, "docs", "observability.md"), istioBuckets()) {
		t.Errorf("docs/observability.md has no %s", istioBuckets())
	}
	want := fields(accessLogFormat())
	if len(want) != 4 {
		t.Errorf("the access log says %q", want)
	}
	for _, file := range []string{"istio-mesh.yaml", "envoy-access-log.yaml"} {
		if d := cmp.Diff(want, fields(observed(t, dir, file))); d != "" {
			t.Errorf("%s logs something else: %s", file, d)
		}
	}
	for _, c := range goldenCases {
		all := strings.ReplaceAll(string(Join(c.make(t))), `\"`, `"`)
		if c.opts.Target == Higress {
			continue
		}
		if d := cmp.Diff(want, fields(all)); d != "" {
			t.Errorf("%s logs something else: %s", c.name, d)
		}
		buckets := "suffix: sluice_redis_us"
		if c.opts.Target == Istio {
			buckets = istioBuckets()
		}
		if !strings.Contains(all, buckets) {
			t.Errorf("%s sets no buckets", c.name)
		}
	}
}

// Several hash slots need topology: cluster; what is in one, or in no Redis, doesn't.
func TestTopologyOfACluster(t *testing.T) {
	for config, refused := range map[string]bool{
		"limits: [{name: a, rate: 1/s}, {name: b, rate: 1/s}]":                                                                 true,
		"limits: [{name: a, rate: [1/s, 5/min]}]":                                                                              true,
		"redis: {topology: single}\nlimits: [{name: a, rate: [1/s, 5/min]}]":                                                   true,
		"redis: {topology: cluster}\nlimits: [{name: a, rate: [1/s, 5/min]}, {name: b, rate: 1/s}]":                            false,
		"limits: [{name: a, rate: 1/s, penalty: 5s}]":                                                                          false,
		"limits: [{name: a, rate: 1/s}, {name: b, scope: gateway, rate: 1/s}, {name: c, scope: gateway, rate: 9/s}]":           false,
		"limits: [{name: a, rate: 1/s, key: ip, hash_tag: header:t}, {name: b, rate: [1/s, 5/min], hash_tag: header:t}]":       false,
		"limits: [{name: a, rate: 1/s, key: ip, hash_tag: header:t}, {name: b, rate: [1/s, 5/min], hash_tag: header:u}]":       true,
		"redis: {topology: cluster}\nlimits: [{name: a, rate: 1/s, hash_tag: header:t}, {name: b, scope: gateway, rate: 1/s}]": false,
	} {
		for _, target := range []Target{Envoy, Istio, EnvoyGateway} {
			o := good(target)
			o.RedisCluster = true
			_, err := Make([]byte(config), o)
			var r RefusalErrors
			if errors.As(err, &r); refused != refusedFor(r, "redis.topology", "topology: cluster") || !refused && err != nil {
				t.Errorf("%s: %s: %v", target, config, err)
			}
		}
	}
}
