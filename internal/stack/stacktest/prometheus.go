package stacktest

import (
	"testing"

	"sluice/internal/stack"
)

// Promtool finds or installs Prometheus's checker of rules and configurations.
func Promtool(t testing.TB) string {
	t.Helper()
	path, err := findPromtool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Prometheus starts a Prometheus with this configuration file; Dir and Binary
// are filled in.
func Prometheus(t testing.TB, o stack.PrometheusOptions) *stack.Prometheus {
	t.Helper()
	var err error
	if o.Binary, err = findPrometheus(); err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.ArtifactDir()
	}
	p, err := stack.StartPrometheus(o)
	if err != nil {
		t.Fatal(err)
	}
	onEnd(t, p.Process)
	return p
}
