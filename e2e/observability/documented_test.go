package observability

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// page is docs/observability.md.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(stacktest.Root(t), "docs", "observability.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// metric is a row of the page's table of metrics.
type metric struct {
	kind   string
	labels map[string][]string // values, or none where they are the user's
}

var (
	metricRow = regexp.MustCompile("(?m)^\\| `(sluice_[a-z_]+)` \\| (counter|gauge|histogram) \\|([^|]*)\\| [^|]+ \\|$")
	quoted    = regexp.MustCompile("`([a-z_]+)`")
)

func documented(t *testing.T) map[string]metric {
	t.Helper()
	all := map[string]metric{}
	for _, row := range metricRow.FindAllStringSubmatch(page(t), -1) {
		x := metric{kind: row[2], labels: map[string][]string{}}
		for label := range strings.SplitSeq(row[3], "; ") {
			words := quoted.FindAllStringSubmatch(label, -1)
			if len(words) == 0 {
				continue
			}
			var values []string
			for _, w := range words[1:] {
				values = append(values, w[1])
			}
			slices.Sort(values)
			x.labels[words[0][1]] = values
		}
		all[row[1]] = x
	}
	if len(all) < 9 {
		t.Fatalf("the page has a table of %d metrics", len(all))
	}
	return all
}

// checkDocumented checks that the page's table and what a gateway exports are
// the same, to each label's value, and that no name holds what should be a label.
func checkDocumented(t *testing.T, series []stack.Sample) {
	table := documented(t)
	for name, want := range table {
		got := named(series, name)
		if len(got) == 0 {
			t.Errorf("%s isn't exported", name)
			continue
		}
		have := labels(got)
		for label, values := range want.labels {
			if len(values) == 0 { // the user's own
				if len(have[label]) == 0 {
					t.Errorf("%s has no label %s", name, label)
				}
				delete(have, label)
			} else if diff := cmp.Diff(values, have[label]); diff != "" {
				t.Errorf("%s, values of %s: %s", name, label, diff)
			}
			delete(have, label)
		}
		if len(have) > 0 {
			t.Errorf("%s has labels that the page doesn't name: %v", name, have)
		}
		if parts := len(got) > 1 && got[0].Labels["__name__"] != name; parts != (want.kind == "histogram") {
			t.Errorf("%s is no %s", name, want.kind)
		}
	}
	for _, s := range series {
		name := s.Labels["__name__"]
		if strings.HasPrefix(name, "envoy_") || !strings.Contains(name, "sluice_") {
			continue
		}
		base := regexp.MustCompile(`_(bucket|sum|count)$`).ReplaceAllString(name, "")
		if _, has := table[base]; !has {
			t.Errorf("%s is exported, and the page doesn't tell of it", name)
		}
	}
}

// checkExamples checks that the page's queries name what is exported and give
// something.
func checkExamples(t *testing.T, p *stack.Prometheus, series []stack.Sample) {
	blocks := regexp.MustCompile("(?ms)^```promql\n(.*?)^```$").FindAllStringSubmatch(page(t), -1)
	if len(blocks) == 0 {
		t.Error("the page has no queries")
	}
	for _, b := range blocks {
		checkNames(t, "the page", b[1], series)
		if samples, err := p.Query(b[1]); err != nil || len(samples) == 0 {
			t.Errorf("%s gives %v (%v)", b[1], samples, err)
		}
	}
}

// The snippet for other people's bootstraps is what envoy.yaml has.
func TestStatsSnippet(t *testing.T) {
	var snippet m
	read(t, "envoy-stats.yaml", &snippet)
	c, err := envoyconfig.Load(filepath.Join(stacktest.Root(t), "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.StatsConfig(), snippet["stats_config"]); diff != "" {
		t.Error(diff)
	}
}

// Without the snippet the labels stay in the names, as it says, and the buckets
// are Envoy's own, which serve for microseconds too.
func TestWithoutStatsSnippet(t *testing.T) {
	e := stacktest.Gateway{
		Redis: stacktest.Redis(t, stack.RedisOptions{}).Addr,
		Edit:  func(c *envoyconfig.Config) { c.SetStatsConfig(nil) },
	}.Start(t)
	get(t, e.URL()+"/hello", "k", 200)
	stats, err := e.Admin.SettledStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const raw = "limit___hello___outcome___rejected___sluice_decisions_total"
	if _, has := stats[raw]; !has {
		t.Errorf("no %s", raw)
	}
	if n := stats.Sum("sluice_decisions_total", nil); n != 0 {
		t.Errorf("%v decisions are labelled", n)
	}
	for _, le := range []string{"250", "500", "1000", "2500", "5000", "10000"} {
		if _, has := stats[stack.Series("sluice_redis_us_bucket", map[string]string{"le": le})]; !has {
			t.Errorf("no bucket of up to %s us", le)
		}
	}
}
