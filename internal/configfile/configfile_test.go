package configfile_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/configfile"
)

func TestFind(t *testing.T) {
	envoy, err := os.ReadFile("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text  string
		where []string
	}{
		"plain":        {"limits: []", []string{""}},
		"JSON":         {`{"limits": []}`, []string{""}},
		"envoy.yaml":   {string(envoy), []string{"filter gateway"}},
		"StringValue":  {filter(`{"@type": type.googleapis.com/google.protobuf.StringValue, value: '{"limits": [{"name": "a", "rate": "5/s"}]}'}`), []string{"filter edge"}},
		"WasmPlugin":   {"kind: WasmPlugin\nmetadata: {name: sluice}\nspec:\n  pluginConfig:\n    limits: []\n", []string{"WasmPlugin sluice, pluginConfig"}},
		"Higress":      {"kind: WasmPlugin\nmetadata: {name: sluice}\nspec:\n  defaultConfig: {limits: []}\n  matchRules: [{config: {limits: []}}]\n", []string{"defaultConfig", "a match rule"}},
		"EnvoyGateway": {"kind: EnvoyExtensionPolicy\nmetadata: {name: x}\nspec: {wasm: [{name: sluice, config: {limits: []}}, {name: other, config: {a: 1}}]}", []string{"EnvoyExtensionPolicy x"}},
		"ConfigMap":    {"kind: ConfigMap\nmetadata: {name: c}\ndata:\n  sluice.yaml: |\n    limits: []\n  other.txt: no limits here\n", []string{"ConfigMap c, sluice.yaml"}},
		"EnvoyFilter": {"kind: EnvoyFilter\nspec:\n  configPatches:\n  - patch:\n      value:\n        name: sluice\n        typed_config:\n          '@type': type.googleapis.com/udpa.type.v1.TypedStruct\n          value:\n            config:\n              root_id: sluice\n              configuration: {'@type': type.googleapis.com/google.protobuf.StringValue, value: 'limits: []'}\n",
			[]string{"filter sluice"}},
		"documents": {"kind: Service\n---\nkind: WasmPlugin\nmetadata: {name: sluice}\nspec: {pluginConfig: {limits: []}}\n", []string{"WasmPlugin"}},
		"alias":     {"kind: WasmPlugin\nmetadata: {name: sluice}\nx: &c {limits: []}\nspec: {pluginConfig: *c}\n", []string{"WasmPlugin"}},
	} {
		found, err := configfile.Find([]byte(c.text))
		if err != nil || len(found) != len(c.where) {
			t.Errorf("%s: %d found, %v", name, len(found), err)
			continue
		}
		for i, f := range found {
			if !strings.Contains(f.Where, c.where[i]) || len(f.Problems) > 0 || f.Policy == nil {
				t.Errorf("%s: %q %v", name, f.Where, f.Problems)
			}
		}
	}
}

// filter is an Envoy configuration with a plugin whose configuration is given.
func filter(configuration string) string {
	return "static_resources:\n  listeners:\n  - name: edge\n    filter_chains:\n    - filters:\n      - typed_config:\n          http_filters:\n          - typed_config:\n              config:\n                root_id: sluice\n                configuration: " + configuration + "\n"
}

func TestNone(t *testing.T) {
	for _, text := range []string{"a: 1", "kind: Deployment\nspec: {}", strings.ReplaceAll(filter("{}"), "sluice", "x"), "[1, 2]", "just text",
		strings.ReplaceAll(filter(`{"@type": type.googleapis.com/google.protobuf.StringValue, value: '{}'}`), "sluice", "other")} {
		if found, err := configfile.Find([]byte(text)); !errors.Is(err, configfile.ErrNone) {
			t.Errorf("%q: %+v %v", text, found, err)
		}
	}
}

// Errors keep their place, wherever the configuration stands.
func TestPlaces(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":                                {"limits:\n- name: a\n  rate: 5\n", "3:9"},
		"broken":                               {"limits: [", "1:"},
		"empty":                                {"", ""},
		"struct":                               {"kind: WasmPlugin\nmetadata: {name: sluice}\nspec:\n  pluginConfig:\n    limits:\n    - name: a\n      rate: 5\n", "7:13"},
		"block":                                {"kind: ConfigMap\nmetadata: {name: c}\ndata:\n  sluice.yaml: |\n    limits:\n    - name: a\n      rate: 5\n", "7:13"},
		"quoted":                               {"kind: WasmPlugin\nmetadata: {name: sluice}\nspec: {pluginConfig: '{\"limits\": [{\"name\": \"a\", \"rate\": 5}]}'}\n", "3:57"},
		"in a ConfigMap's Envoy configuration": {"kind: ConfigMap\nmetadata: {name: c}\ndata:\n  envoy.yaml: |\n    static_resources:\n      x:\n        root_id: sluice\n        configuration:\n          value: |\n            limits:\n            - name: a\n              rate: 5\n", "12:21"},
	} {
		found, err := configfile.Find([]byte(c.text))
		if err != nil || len(found) != 1 || len(found[0].Problems) == 0 {
			t.Errorf("%s: %+v %v", name, found, err)
			continue
		}
		p := found[0].Problems[0]
		if got := fmt.Sprintf("%d:%d", p.Line, p.Column); c.want != "" && !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: at %s, want %s: %v", name, got, c.want, p)
		}
	}
}

func TestPosition(t *testing.T) {
	found, err := configfile.Find([]byte("kind: ConfigMap\ndata:\n  sluice.yaml: |\n    redis:\n      timeout: 9ms\n    limits:\n    - name: a\n      rate: 5/s\n      overrides:\n      - when: {ip: 10.0.0.1}\n        rate: 6/s\n"))
	if err != nil || len(found) != 1 {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"limits[0].rate": "8:13", "limits[0].overrides[0].rate": "11:15", "limits[0].nothing": "7:7", "redis.timeout": "5:16", "": "4:5",
	} {
		line, column := found[0].Position(path)
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("%s is at %s, want %s", path, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "secret.yaml")
	if err := os.WriteFile(secret, nil, 0o000); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, make([]byte, configfile.MaxBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{filepath.Join(dir, "ghost.yaml"): "no file", dir: "is a folder", big: "larger than"}
	if os.Geteuid() != 0 { // root may read everything
		want[secret] = "may not be read"
	}
	for name, says := range want {
		if _, err := configfile.Read(name, nil); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if b, err := configfile.Read("-", strings.NewReader("limits: []")); err != nil || string(b) != "limits: []" {
		t.Errorf("%q %v", b, err)
	}
}

func FuzzFind(f *testing.F) {
	for _, s := range []string{"limits: []", filter("{value: 'limits: []'}"), "kind: ConfigMap\ndata: {a: 'limits: ['}", "a: &a [*a]", "x: &x {y: *x}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := configfile.Find(text)
		if (err == nil) == (len(found) == 0) {
			t.Errorf("%d found, %v", len(found), err)
		}
		for _, x := range found {
			if (x.Policy == nil) == (len(x.Problems) == 0) {
				t.Errorf("%+v", x)
			}
			x.Position("limits[0].rate")
		}
	})
}
