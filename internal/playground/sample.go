package playground

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// Sample is what the gateway did since the sample before, about a second ago.
// Rates are per second.
type Sample struct {
	At       int64              `json:"at"`      // Unix time, milliseconds
	Version  int                `json:"version"` // of the configuration
	Arrived  float64            `json:"arrived"` // requests at the gateway
	Passed   float64            `json:"passed"`  // of them, to the upstream
	Limits   []LimitRates       `json:"limits"`  // in the configuration's order
	Modes    map[string]float64 `json:"modes"`   // requests by the mode of their decision
	Errors   map[string]float64 `json:"errors"`  // failures of Redis by kind
	P50US    float64            `json:"p50_us"`  // of Redis's answers; 0 without any
	P99US    float64            `json:"p99_us"`
	Calls    float64            `json:"calls"`
	Breakers int                `json:"breakers"` // workers that don't ask Redis
	Workers  int                `json:"workers"`
	Redis    string             `json:"redis"` // running, paused, stopped or unreachable
	Envoy    bool               `json:"envoy"` // its metrics could be read
	Counters []CounterState     `json:"counters"`
	Traffic  TrafficState       `json:"traffic"`
}

// LimitRates is what became of the requests that met one limit.
type LimitRates struct {
	Name         string  `json:"name"`
	Admitted     float64 `json:"admitted"`
	Rejected     float64 `json:"rejected"`
	Shadow       float64 `json:"shadow"`
	Tagged       float64 `json:"tagged"`
	FailedOpen   float64 `json:"failed_open"`
	FailedClosed float64 `json:"failed_closed"`
}

// sampler takes samples.
type sampler struct {
	o        Options
	counters *counters
	last     stack.Stats
	lastAt   time.Time
}

func newSampler(o Options) *sampler {
	return &sampler{o: o, counters: newCounters(o.Redis)}
}

const (
	// ourStats finds the plugin's metrics and how many workers there are.
	ourStats = `sluice_|^server\.concurrency$|downstream_rq_total$|upstream_rq_total$`
	// adminTimeout is how long reading them may take.
	adminTimeout = 2 * time.Second
	// redisTimeout is how long one look at Redis may take.
	redisTimeout = 400 * time.Millisecond
	// longestGap is the longest time between two samples over which a rate still
	// says something.
	longestGap = 5 * time.Second
)

// take takes a sample. It is called by one goroutine.
func (s *sampler) take(ctx context.Context) Sample {
	now := s.o.Settings.Now()
	policy := now.Engine.Policy()
	out := Sample{Version: now.Version, Modes: map[string]float64{}, Errors: map[string]float64{}, Redis: "running"}
	looked := make(chan error, 1)
	go func() { // while Envoy is asked
		ctx, cancel := context.WithTimeout(ctx, redisTimeout)
		defer cancel()
		var err error
		out.Counters, err = s.counters.look(ctx, policy)
		looked <- err
	}()
	stats, err := s.stats(ctx)
	at := time.Now()
	if <-looked != nil {
		out.Redis = "unreachable"
	}
	if s.o.Server != nil {
		out.Redis = s.o.Server.State()
	}
	out.At, out.Envoy = at.UnixMilli(), err == nil
	if err != nil {
		s.last = nil
		return out
	}
	d := difference{now: stats, before: s.last, seconds: at.Sub(s.lastAt).Seconds()}
	if at.Sub(s.lastAt) > longestGap {
		d.before = nil
	}
	s.last, s.lastAt = stats, at
	out.Workers = int(stats.Sum("envoy_server_concurrency", nil))
	out.Arrived = d.rate("envoy_http_downstream_rq_total", map[string]string{"envoy_http_conn_manager_prefix": envoyconfig.Gateway})
	out.Passed = min(out.Arrived, d.rate("envoy_cluster_upstream_rq_total", map[string]string{"envoy_cluster_name": envoyconfig.Upstream}))
	out.Breakers = max(int(stats.Sum("sluice_breaker_open", nil)), 0)
	for _, l := range policy.Limits {
		of := func(outcome string) float64 {
			return d.rate("sluice_decisions_total", map[string]string{"limit": l.Name, "outcome": outcome})
		}
		out.Limits = append(out.Limits, LimitRates{
			Name: l.Name, Admitted: of("admitted"), Rejected: of("rejected"), Shadow: of("shadow_rejected"),
			Tagged: of("tagged"), FailedOpen: of("failed_open"), FailedClosed: of("failed_closed"),
		})
	}
	for _, mode := range []string{"redis", "memory", "local", "lease", "degraded"} {
		out.Modes[mode] = d.rate("sluice_mode_total", map[string]string{"mode": mode})
	}
	for kind := range labels(stats, "sluice_redis_errors_total", "kind") {
		if n := d.rate("sluice_redis_errors_total", map[string]string{"kind": kind}); n > 0 {
			out.Errors[kind] = n
		}
	}
	out.Calls = d.rate("sluice_redis_us_count", nil)
	out.P50US, out.P99US = d.quantile("sluice_redis_us", 0.5), d.quantile("sluice_redis_us", 0.99)
	return out
}

func (s *sampler) stats(ctx context.Context) (stack.Stats, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	return s.o.Admin.StatsLike(ctx, ourStats)
}

// labels are the values of one of a metric's labels.
func labels(stats stack.Stats, metric, label string) map[string]bool {
	out := map[string]bool{}
	for series := range stats {
		rest, ok := strings.CutPrefix(series, metric+"{")
		if !ok {
			continue
		}
		if _, value, ok := strings.Cut(rest, label+`="`); ok {
			value, _, _ = strings.Cut(value, `"`)
			out[value] = true
		}
	}
	return out
}

// difference is what metrics gained between two scrapes.
type difference struct {
	now, before stack.Stats // before is nil where there is nothing to compare to
	seconds     float64
}

// gain is how much a counter grew; one that is smaller than before is new.
func (d difference) gain(metric string, labels map[string]string) float64 {
	if d.before == nil || d.seconds <= 0 {
		return 0
	}
	now, before := d.now.Sum(metric, labels), d.before.Sum(metric, labels)
	if now < before {
		return now
	}
	return now - before
}

func (d difference) rate(metric string, labels map[string]string) float64 {
	n := d.gain(metric, labels)
	if n == 0 {
		return 0
	}
	return n / d.seconds
}

// quantile estimates a quantile of what a histogram gained, within its bucket in
// proportion; 0 when it gained nothing.
func (d difference) quantile(metric string, q float64) float64 {
	total := d.gain(metric+"_count", nil)
	if total == 0 {
		return 0
	}
	var bounds []float64
	for le := range labels(d.now, metric+"_bucket", "le") {
		if bound, err := strconv.ParseFloat(le, 64); err == nil && !math.IsInf(bound, 1) {
			bounds = append(bounds, bound)
		}
	}
	return quantileOf(bounds, q*total, func(bound float64) float64 {
		return d.gain(metric+"_bucket", map[string]string{"le": strconv.FormatFloat(bound, 'f', -1, 64)})
	})
}
