package observability

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/stack"
)

// One gateway is led through everything that its metrics tell of: decisions of
// each kind, a Redis that goes away and comes back, a configuration that is
// refused. A real Prometheus scrapes it all the while, and then everything that
// the project says about these metrics must hold.
func TestPrometheus(t *testing.T) {
	b := newBed(t)
	b.reaches(`sum(sluice_decisions_total)`, 0)
	alerts := rules(t)

	t.Run("traffic", func(t *testing.T) { b.t = t; b.traffic() })
	t.Run("outage", func(t *testing.T) { b.t = t; b.outage(alerts) })
	t.Run("refused configuration", func(t *testing.T) { b.t = t; b.refused(alerts) })
	if t.Failed() {
		return
	}
	series := everything(t, b.prometheus)
	t.Run("documented", func(t *testing.T) { checkDocumented(t, series) })
	t.Run("buckets", func(t *testing.T) { checkBuckets(t, series) })
	t.Run("examples", func(t *testing.T) { checkExamples(t, b.prometheus, series) })
	t.Run("rules", func(t *testing.T) { checkRules(t, b.prometheus, series, alerts) })
	t.Run("dashboard", func(t *testing.T) { checkDashboard(t, b.prometheus, series) })
}

// traffic makes decisions of each kind that Redis makes.
func (b *bed) traffic() {
	for range 5 {
		b.ask("strict", "k", 200)
	}
	// The first is rejected by Redis, others from memory, which holds for a second.
	rejected := 0.0
	eventually(b.t, func() error {
		rejected++
		b.ask("strict", "k", 429)
		stats, err := b.envoy.Admin.Stats(b.t.Context())
		if err == nil && stats.Sum("sluice_mode_total", map[string]string{"mode": "memory"}) == 0 {
			err = fmt.Errorf("no rejection came from memory")
		}
		return err
	})
	for _, limit := range []string{"shadow", "tagged"} {
		b.ask(limit, "k", 200)
		b.ask(limit, "k", 200)
	}
	b.ask("missing", "k", 400)
	b.ask("cost", "not a number", 200)
	b.upstream.SetAnswer(stack.Answer{Status: http.StatusTooManyRequests})
	for range 4 {
		b.ask("free", "k", 429)
	}
	b.upstream.SetAnswer(stack.Answer{})

	for query, want := range map[string]float64{
		`sluice_decisions_total{limit="strict",outcome="admitted"}`:                          5,
		`sluice_decisions_total{limit="strict",outcome="rejected"}`:                          rejected,
		`sluice_decisions_total{limit="shadow",outcome="admitted"}`:                          1,
		`sluice_decisions_total{limit="shadow",outcome="shadow_rejected"}`:                   1,
		`sluice_decisions_total{limit="tagged",outcome="tagged"}`:                            1,
		`sluice_decisions_total{limit="missing",outcome="rejected"}`:                         1,
		`sluice_odd_costs_total`:                                                             1,
		`sum(sluice_mode_total)`:                                                             10 + rejected,
		`sum(sluice_mode_total{mode=~"redis|memory"})`:                                       10 + rejected,
		`sluice_mode_total{mode="redis"} - on() sluice_redis_us_count`:                       0,
		`sum(sluice_redis_errors_total)`:                                                     0,
		`envoy_cluster_upstream_rq{envoy_response_code="429",envoy_cluster_name="upstream"}`: 4,
		`sum(sluice_decisions_total{outcome="rejected"})`:                                    1 + rejected,
	} {
		b.reaches(query, want)
	}
}

// outage takes Redis away and gives it back.
func (b *bed) outage(alerts map[string]rule) {
	b.redis.Kill()
	for i := range 20 {
		key := "gone-" + strconv.Itoa(i)
		b.ask("open", key, 200)
		b.ask("closed", key, 503)
		b.ask("local", key, 200)
	}
	b.reaches(`sluice_decisions_total{limit="open",outcome="failed_open"}`, 20)
	b.reaches(`sluice_decisions_total{limit="closed",outcome="failed_closed"}`, 20)
	b.reaches(`sluice_mode_total{mode="local"}`, 20)
	b.reaches(`sluice_breaker_open`, 1)
	for _, name := range []string{"SluiceFailingOpen", "SluiceFailingClosed", "SluiceBreakerOpen", "SluiceCountingLocally"} {
		b.fires(name, alerts[name].Expr)
	}
	if err := b.redis.Start(); err != nil {
		b.t.Fatal(err)
	}
	i := 0
	eventually(b.t, func() error {
		i++
		// Whoever asks may be the breaker's trial.
		code, _, err := ask(b.envoy.URL()+"/closed", "back-"+strconv.Itoa(i))
		if err == nil && code != 200 {
			err = fmt.Errorf("answered %d", code)
		}
		return err
	})
	b.reaches(`sluice_breaker_open`, 0)
	b.reaches(`sluice_pipe_reconnects_total > bool 0`, 1)
	b.reaches(`sluice_reconciled_units_total`, 20)
	b.fires("SluiceReconnectStorm", alerts["SluiceReconnectStorm"].Expr)
}

// refused hands the gateway a configuration with two errors; it keeps its own.
func (b *bed) refused(alerts map[string]rule) {
	was, err := b.value(`sluice_decisions_total{limit="open",outcome="admitted"}`)
	if err != nil {
		b.t.Fatal(err)
	}
	b.configure(`{"limits": [{"name": "a", "rate": "nonsense"}, {"name": "b"}]}`)
	b.reaches(`sluice_config_errors_total`, 2)
	b.fires("SluiceConfigErrors", alerts["SluiceConfigErrors"].Expr)
	b.ask("open", "after", 200)
	b.reaches(`sluice_decisions_total{limit="open",outcome="admitted"}`, was+1)
}

// everything is each series that Prometheus has.
func everything(t *testing.T, p *stack.Prometheus) []stack.Sample {
	t.Helper()
	samples, err := p.Query(`{__name__=~".+"}`)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// named are the series of a metric; a histogram's are those of its three parts.
func named(series []stack.Sample, name string) []stack.Sample {
	var out []stack.Sample
	for _, s := range series {
		n := s.Labels["__name__"]
		if n == name || (strings.HasPrefix(n, name) && slices.Contains([]string{"_bucket", "_sum", "_count"}, n[len(name):])) {
			out = append(out, s)
		}
	}
	return out
}

// labels are the values of each label of some series, but for those that
// Prometheus adds.
func labels(series []stack.Sample) map[string][]string {
	seen := map[string]map[string]bool{}
	for _, s := range series {
		for name, value := range s.Labels {
			if slices.Contains([]string{"__name__", "job", "instance", "le"}, name) {
				continue
			}
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	out := map[string][]string{}
	for name, values := range seen {
		out[name] = slices.Sorted(maps.Keys(values))
	}
	return out
}

// checkBuckets checks that times up to the default timeout, 20 ms, are told
// apart.
func checkBuckets(t *testing.T, series []stack.Sample) {
	var bounds []float64
	for _, s := range named(series, "sluice_redis_us") {
		if le := s.Labels["le"]; le != "" && le != "+Inf" {
			us, err := strconv.ParseFloat(le, 64)
			if err != nil {
				t.Fatal(err)
			}
			bounds = append(bounds, us)
		}
	}
	slices.Sort(bounds)
	if len(bounds) == 0 || bounds[0] > 100 || bounds[len(bounds)-1] < 20_000 {
		t.Fatalf("buckets %v", bounds)
	}
	for i, us := range bounds[1:] {
		if us <= 20_000 && us > 2.5*bounds[i] {
			t.Errorf("nothing between %v and %v us", bounds[i], us)
		}
	}
}
