package envoyconfig

import (
	"errors"
	"os"
	"strings"
	"testing"

	"sluice/internal/config/yamlconfig"
)

func TestPluginTextOfTheExample(t *testing.T) {
	file, err := os.ReadFile("../../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text, line, column, err := PluginText(file)
	if err != nil {
		t.Fatal(err)
	}
	if policy, problems := yamlconfig.Parse(text); policy == nil || len(policy.Limits) != 3 {
		t.Fatalf("%v\n%s", problems, text)
	}
	if !strings.HasPrefix(string(text), "redis:\n  cluster: redis_pipe\n") || !strings.Contains(string(text), "# EDIT: the limits.") {
		t.Errorf("got\n%s", text)
	}
	lines := strings.Split(string(file), "\n")
	for i, l := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if l != "" && lines[line+i] != strings.Repeat(" ", column)+l {
			t.Fatalf("line %d is %q there and %q here", line+i, lines[line+i], l)
		}
	}
}

func TestPluginTextInOtherForms(t *testing.T) {
	const before = `
static_resources:
  listeners:
  - name: gateway
    filter_chains:
    - filters:
      - typed_config:
          http_filters:
          - name: sluice
            typed_config:
              config:
                configuration:
                  value: `
	for name, c := range map[string]struct{ value, want string }{
		"string": {`'{"limits": []}'`, `{"limits": []}`},
		"block":  {"|\n                    limits: []\n", "limits: []\n"},
		"flow":   {"{limits: []}", "{limits: []}\n"},
	} {
		got, _, _, err := PluginText([]byte(before + c.value))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "a: 1", "[]", "static_resources: {listeners: [{name: gateway, filter_chains: []}]}"} {
		if _, _, _, err := PluginText([]byte(text)); !errors.Is(err, ErrNoPluginText) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
