package advice_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/advice"
	"sluice/internal/configfile"
)

var update = flag.Bool("update", false, "write the golden files")

const testdata = "../../testdata"

func look(t *testing.T, text string) (string, []advice.Warning) {
	t.Helper()
	found, err := configfile.Find([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	f := &found[0]
	if len(f.Problems) > 0 {
		t.Fatal(f.Problems)
	}
	list := advice.Look(&advice.Subject{Policy: f.Policy, Routes: f.Routes, RoutesUnnamed: f.RoutesUnnamed})
	var b strings.Builder
	for _, w := range list {
		b.WriteString(w.Rule + " " + w.Path + ": " + w.Message + "\n  " + w.Remedy + "\n")
	}
	return b.String(), list
}

func TestGolden(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "advice", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	rules := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, list := look(t, string(text))
			for _, w := range list {
				rules[w.Rule] = true
			}
			golden := strings.TrimSuffix(file, ".yaml") + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("warnings differ (-want +got):\n%s", d)
			}
		})
	}
	for _, r := range []string{"never-binds", "free-key", "missing-skip", "rate-zero", "cost-above-limit", "large-value", "never-applies", "override-unused", "password-inline", "trusts-everyone", "debug-open", "timeout-short", "shards-on-one-redis", "lease-of-nothing"} {
		if !rules[r] {
			t.Errorf("no sample has %s", r)
		}
	}
}

const envoy = `
static_resources:
  listeners:
  - filter_chains:
    - filters:
      - typed_config:
          route_config: {virtual_hosts: [{routes: [{match: {prefix: /a}, name: a}, {match: {prefix: /}}]}]}
          http_filters:
          - name: sluice
            typed_config:
              config:
                root_id: sluice
                configuration:
                  "@type": type.googleapis.com/google.protobuf.Struct
                  value: {limits: [{name: x, key: [route, ip], rate: 5/s}, {name: y, match: {route: a}, key: ip, rate: 1/s}, {name: z, key: ip, rate: 30/s}]}
`

func TestUnnamedRoutes(t *testing.T) {
	got, list := look(t, envoy)
	if strings.Count(got, "unnamed-routes") != 2 || list[0].Path != "limits[0].key" || !strings.Contains(got, "1 of the 2 routes") {
		t.Errorf("got %s", got)
	}
	if got, _ := look(t, strings.Replace(envoy, "prefix: /}", "prefix: /}, name: rest", 1)); strings.Contains(got, "unnamed-routes") {
		t.Errorf("got %s", got)
	}
}

// A limit that is said never to bind never rejects what the other admits: shown
// by the recipes, which all mean what they say.
func TestRecipesAreQuiet(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(testdata, "cookbook", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".test.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, list := look(t, string(text))
		for _, w := range list {
			switch w.Rule {
			case "free-key", "missing-skip", "rate-zero": // the recipes say who writes their headers, and what is switched off
			default:
				t.Errorf("%s: %s %s: %s", filepath.Base(file), w.Rule, w.Path, w.Message)
			}
		}
	}
}

// Very many limits are looked at all the same, but not compared.
func TestManyLimits(t *testing.T) {
	var b strings.Builder
	b.WriteString("limits:\n")
	for i := range 5000 {
		fmt.Fprintf(&b, "- {name: l%d, key: header:x, rate: 0/s}\n", i)
	}
	_, list := look(t, b.String())
	counts := map[string]int{}
	for _, w := range list {
		counts[w.Rule]++
	}
	if counts["not-compared"] != 1 || counts["rate-zero"] != 5000 || counts["free-key"] != 0 {
		t.Errorf("%v", counts)
	}
}

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 kB", 20 << 10: "20 kB", 15 << 20: "15 MB", 20 << 30: "20 GB"} {
		if got := advice.Bytes(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
