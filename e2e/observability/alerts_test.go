package observability

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// rule is one alert.
type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

// rules are the alerts of alerts.yaml by name.
func rules(t *testing.T) map[string]rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	read(t, "alerts.yaml", &file)
	all := map[string]rule{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			if _, twice := all[r.Alert]; twice {
				t.Fatalf("%s is there twice", r.Alert)
			}
			all[r.Alert] = r
		}
	}
	return all
}

// Prometheus's own checker finds no fault, and its unit tests pass.
func TestRulesByPromtool(t *testing.T) {
	promtool := stacktest.Promtool(t)
	for _, args := range [][]string{
		{"check", "rules", "alerts.yaml"},
		{"check", "config", "prometheus.yaml"},
		{"test", "rules", "alerts.test.yaml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(stacktest.Root(t), deploy)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "SUCCESS") {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// The unit tests show of each alert that it can fire and that it can be quiet,
// and the page has a paragraph on each.
func TestEveryRuleIsTestedAndDocumented(t *testing.T) {
	var file struct {
		Tests []struct {
			Alerts []struct {
				Name string `yaml:"alertname"`
				Want []m    `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		} `yaml:"tests"`
	}
	read(t, "alerts.test.yaml", &file)
	fires, quiet := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, a := range test.Alerts {
			if len(a.Want) > 0 {
				fires[a.Name] = true
			} else {
				quiet[a.Name] = true
			}
		}
	}
	text := page(t)
	all := rules(t)
	for name, r := range all {
		if !fires[name] || !quiet[name] {
			t.Errorf("%s: tested to fire: %v, to be quiet: %v", name, fires[name], quiet[name])
		}
		if want := "docs/observability.md#" + strings.ToLower(name); r.Annotations["runbook"] != want {
			t.Errorf("%s: runbook %q, expected %q", name, r.Annotations["runbook"], want)
		}
		if !strings.Contains(text, "\n### "+name+"\n") {
			t.Errorf("the page has no heading %s", name)
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: severity %q", name, s)
		}
	}
	for line := range strings.Lines(text) {
		if name, is := strings.CutPrefix(strings.TrimSpace(line), "### Sluice"); is {
			if _, has := all["Sluice"+name]; !has {
				t.Errorf("the page tells of an alert Sluice%s", name)
			}
		}
	}
}

// checkRules checks that every metric and label of the alerts is one that a
// gateway exports, and that Prometheus evaluates them.
func checkRules(t *testing.T, p *stack.Prometheus, series []stack.Sample, alerts map[string]rule) {
	if len(alerts) == 0 {
		t.Fatal("no rules")
	}
	for name, r := range alerts {
		checkNames(t, name, r.Expr, series)
		if _, err := p.Query(r.Expr); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
