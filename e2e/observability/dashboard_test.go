package observability

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// The committed dashboard is what the code makes.
func TestDashboardIsUpToDate(t *testing.T) {
	made := filepath.Join(t.TempDir(), "dashboard.json")
	dir := filepath.Join(stacktest.Root(t), deploy)
	for _, args := range [][]string{{"vet", "./..."}, {"run", ".", made}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = filepath.Join(dir, "dashboard")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	want, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("dashboard.json is out of date: go generate ./deploy/observability")
	}
}

// target is a query of the dashboard.
type target struct {
	Expr   string `yaml:"expr"`
	Legend string `yaml:"legendFormat"`
}

// chosen are Grafana's variables as it would fill them in with all chosen. The
// span holds the whole test.
var chosen = strings.NewReplacer("$__rate_interval", "10m", "$instance", ".*", "$limit", ".*")

var legendLabel = regexp.MustCompile(`{{\s*(\w+)\s*}}`)

// checkDashboard checks that each query of the dashboard names what a gateway
// exports, and that Prometheus answers it with figures.
func checkDashboard(t *testing.T, p *stack.Prometheus, series []stack.Sample) {
	var dashboard struct {
		Panels []struct {
			ID      int      `yaml:"id"`
			Type    string   `yaml:"type"`
			Title   string   `yaml:"title"`
			Targets []target `yaml:"targets"`
		} `yaml:"panels"`
		Templating struct {
			List []struct {
				Name  string `yaml:"name"`
				Query string `yaml:"query"`
			} `yaml:"list"`
		} `yaml:"templating"`
	}
	read(t, "dashboard.json", &dashboard)
	seen := map[int]bool{}
	queries := 0
	used := map[string]bool{}
	for _, panel := range dashboard.Panels {
		if seen[panel.ID] {
			t.Errorf("%s: another panel has the id %d", panel.Title, panel.ID)
		}
		seen[panel.ID] = true
		if panel.Type != "row" && len(panel.Targets) == 0 {
			t.Errorf("%s: no query", panel.Title)
		}
		for _, q := range panel.Targets {
			queries++
			expr := chosen.Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: a variable is left in %s", panel.Title, expr)
			}
			for _, name := range checkNames(t, panel.Title, expr, series) {
				used[strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")] = true
			}
			samples, err := p.Query(expr)
			if err != nil {
				t.Errorf("%s: %v", panel.Title, err)
				continue
			}
			if len(samples) == 0 {
				t.Errorf("%s: no data for %s", panel.Title, expr)
			}
			numbers := 0
			for _, s := range samples {
				if !math.IsNaN(s.Value) { // 0/0 of a limit that nobody met
					numbers++
				}
				for _, label := range legendLabel.FindAllStringSubmatch(q.Legend, -1) {
					if s.Labels[label[1]] == "" {
						t.Errorf("%s: no label %s in %v of %s", panel.Title, label[1], s.Labels, expr)
					}
				}
			}
			if numbers == 0 {
				t.Errorf("%s: no number for %s", panel.Title, expr)
			}
		}
	}
	if queries < 20 {
		t.Errorf("%d queries", queries)
	}
	for name := range documented(t) {
		if !used[name] {
			t.Errorf("the dashboard doesn't show %s", name)
		}
	}
	values := regexp.MustCompile(`^label_values\((\w+), (\w+)\)$`)
	found := 0
	for _, v := range dashboard.Templating.List {
		parts := values.FindStringSubmatch(v.Query)
		if parts == nil {
			continue
		}
		found++
		if !hasLabel(series, parts[1], parts[2]) || parts[2] != v.Name {
			t.Errorf("variable %s: nothing for %s", v.Name, v.Query)
		}
	}
	if found != 2 {
		t.Errorf("%d variables ask Prometheus", found)
	}
}

// hasLabel reports whether a metric has series with the label.
func hasLabel(series []stack.Sample, name, label string) bool {
	return slices.ContainsFunc(series, func(s stack.Sample) bool {
		return s.Labels["__name__"] == name && s.Labels[label] != ""
	})
}

// checkNames checks that an expression names only metrics and labels that are
// exported, and returns the metrics. Prometheus itself checks the syntax.
func checkNames(t *testing.T, where, expr string, series []stack.Sample) []string {
	t.Helper()
	parsed, err := metricsql.Parse(expr)
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return nil
	}
	var metrics []string
	need := func(metric, label string) {
		if !hasLabel(series, metric, label) {
			t.Errorf("%s: no series of %s has a label %s: %s", where, metric, label, expr)
		}
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		selector, is := e.(*metricsql.MetricExpr)
		if !is {
			return
		}
		for _, filters := range selector.LabelFilterss {
			name := ""
			for _, f := range filters {
				if f.Label == "__name__" {
					name = f.Value
				}
			}
			if len(named(series, name)) == 0 {
				t.Errorf("%s: %q isn't exported: %s", where, name, expr)
				continue
			}
			metrics = append(metrics, name)
			for _, f := range filters {
				if f.Label == "__name__" {
					continue
				}
				need(name, f.Label)
				if !f.IsRegexp && !f.IsNegative && !slices.ContainsFunc(series, func(s stack.Sample) bool {
					return s.Labels["__name__"] == name && s.Labels[f.Label] == f.Value
				}) {
					t.Errorf("%s: no series of %s has %s=%q", where, name, f.Label, f.Value)
				}
			}
		}
	})
	if len(metrics) == 0 {
		t.Errorf("%s: no metric in %s", where, expr)
	}
	metricsql.VisitAll(parsed, func(e metricsql.Expr) {
		aggregate, is := e.(*metricsql.AggrFuncExpr)
		if !is {
			return
		}
		// Those inside it: labels that it groups by must be theirs.
		for _, arg := range aggregate.Args {
			metricsql.VisitAll(arg, func(e metricsql.Expr) {
				if selector, is := e.(*metricsql.MetricExpr); is {
					for _, label := range aggregate.Modifier.Args {
						for _, f := range selector.LabelFilterss[0] {
							if f.Label == "__name__" {
								need(f.Value, label)
							}
						}
					}
				}
			})
		}
	})
	return metrics
}
