package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// m is a JSON object.
type m = map[string]any

// policy is a plugin configuration with these limits. Its timeout is far above
// what Redis takes, so that a busy machine doesn't look like a broken Redis;
// fields replaces or adds top-level fields.
func policy(t *testing.T, fields m, limits ...m) string {
	t.Helper()
	p := m{
		"redis":    m{"cluster": "redis_pipe", "timeout": "10s"},
		"on_error": "deny",
		"debug":    m{"when": m{"header:x-debug": debugSecret}},
		"limits":   limits,
	}
	for name, value := range fields {
		p[name] = value
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// byKey is a limit named "key" that counts by the header x-key.
func byKey(rate string) m {
	return m{"name": "key", "key": "header:" + key, "rate": rate}
}

// with returns a copy of a limit with one more field.
func with(limit m, field string, value any) m {
	c := m{field: value}
	for k, v := range limit {
		if k != field {
			c[k] = v
		}
	}
	return c
}

// gateways starts n gateways of two workers each, all alike.
func gateways(t *testing.T, n int, g stacktest.Gateway) []*stack.Envoy {
	t.Helper()
	g.Workers = 2
	var started []*stack.Envoy
	for i := range n {
		g.Name = fmt.Sprintf("envoy-%d", i)
		started = append(started, g.Start(t))
	}
	return started
}

// stats reads a gateway's metrics.
func stats(t *testing.T, e *stack.Envoy) stack.Stats {
	t.Helper()
	s, err := e.Admin.SettledStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// decisions is sluice_decisions_total of one limit and outcome.
func decisions(s stack.Stats, limit, outcome string) float64 {
	return s.Sum("sluice_decisions_total", map[string]string{"limit": limit, "outcome": outcome})
}

// pluginLog returns what the plugin logged at warning or above.
func pluginLog(t *testing.T, e *stack.Envoy) []string {
	t.Helper()
	text, err := os.ReadFile(e.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "wasm log") && !strings.Contains(line, "[info]") && !strings.Contains(line, "[debug]") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return lines
}
