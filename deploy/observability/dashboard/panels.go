package main

import "github.com/grafana/grafana-foundation-sdk/go/units"

// row is a row of panels under one title.
type row struct {
	title  string
	panels []panel
}

// panel is one picture; its width is of 24.
type panel struct {
	title, about string
	unit         string
	width        uint32
	number       bool // shows one figure in place of lines
	stacked      bool
	max          float64 // of the axis; 0 for none
	queries      []query
}

// query is a PromQL expression and what its lines are called.
type query struct{ expr, legend string }

// here picks the gateways, and these the limits too, that are chosen on top of
// the dashboard.
const (
	here  = `instance=~"$instance"`
	these = here + `,limit=~"$limit"`
	span  = `[$__rate_interval]`
)

// rows are the dashboard from top to bottom.
var rows = []row{
	{"At a glance", []panel{
		{title: "Decided", about: "Decisions per second, one for each limit that a request met.", unit: units.RequestsPerSecond, width: 4, number: true, queries: []query{
			{`sum(rate(sluice_decisions_total{` + these + `}` + span + `))`, "decisions"}}},
		{title: "Rejected", about: "The share of decisions that were rejections.", unit: units.PercentUnit, width: 4, number: true, queries: []query{
			{`sum(rate(sluice_decisions_total{` + these + `,outcome="rejected"}` + span + `)) / sum(rate(sluice_decisions_total{` + these + `}` + span + `))`, "rejected"}}},
		{title: "Redis, p99", about: "99 of 100 decisions by Redis took no longer, from the request's arrival.", unit: units.Microseconds, width: 4, number: true, queries: []query{
			{`histogram_quantile(0.99, sum by (le) (rate(sluice_redis_us_bucket{` + here + `}` + span + `)))`, "p99"}}},
		{title: "Breakers open", about: "Workers that don't ask Redis at present.", unit: units.Short, width: 4, number: true, queries: []query{
			{`sum(sluice_breaker_open{` + here + `})`, "workers"}}},
		{title: "Failed open or closed", about: "Decisions per second that nobody made: let through or refused by on_error.", unit: units.RequestsPerSecond, width: 4, number: true, queries: []query{
			{`sum(rate(sluice_decisions_total{` + these + `,outcome=~"failed_open|failed_closed"}` + span + `))`, "undecided"}}},
		{title: "Panics and refused configurations", about: "In the last hour. Either is a reason to look at the gateway's log.", unit: units.Short, width: 4, number: true, queries: []query{
			{`sum(increase(sluice_panics_total{` + here + `}[1h])) + sum(increase(sluice_config_errors_total{` + here + `}[1h]))`, "events"}}},
	}},
	{"Limits", []panel{
		{title: "Decisions by outcome", unit: units.RequestsPerSecond, width: 12, stacked: true, queries: []query{
			{`sum by (outcome) (rate(sluice_decisions_total{` + these + `}` + span + `))`, "{{outcome}}"}}},
		{title: "Rejections by limit", unit: units.RequestsPerSecond, width: 12, stacked: true, queries: []query{
			{`sum by (limit) (rate(sluice_decisions_total{` + these + `,outcome="rejected"}` + span + `))`, "{{limit}}"}}},
		{title: "Share rejected by limit", about: "Of the requests that met the limit.", unit: units.PercentUnit, width: 12, max: 1, queries: []query{
			{`sum by (limit) (rate(sluice_decisions_total{` + these + `,outcome="rejected"}` + span + `)) / sum by (limit) (rate(sluice_decisions_total{` + these + `}` + span + `))`, "{{limit}}"}}},
		{title: "What shadows would reject, and tags", about: "Limits being tried out: none of these requests was rejected.", unit: units.RequestsPerSecond, width: 12, queries: []query{
			{`sum by (limit, outcome) (rate(sluice_decisions_total{` + these + `,outcome=~"shadow_rejected|tagged"}` + span + `))`, "{{limit}} {{outcome}}"}}},
		{title: "429: ours and the upstream's", about: "Rejections by the limits, and answers with 429 that the services behind the gateway gave themselves.", unit: units.RequestsPerSecond, width: 12, queries: []query{
			{`sum(rate(sluice_decisions_total{` + these + `,outcome="rejected"}` + span + `))`, "ours"},
			{`sum by (envoy_cluster_name) (rate(envoy_cluster_upstream_rq{` + here + `,envoy_response_code="429"}` + span + `))`, "of {{envoy_cluster_name}}"}}},
		{title: "Undecided by limit", about: "Let through or refused by on_error.", unit: units.RequestsPerSecond, width: 12, queries: []query{
			{`sum by (limit, outcome) (rate(sluice_decisions_total{` + these + `,outcome=~"failed_open|failed_closed"}` + span + `))`, "{{limit}} {{outcome}}"}}},
	}},
	{"Redis", []panel{
		{title: "Time to a decision by Redis", unit: units.Microseconds, width: 12, queries: []query{
			{`histogram_quantile(0.5, sum by (le) (rate(sluice_redis_us_bucket{` + here + `}` + span + `)))`, "p50"},
			{`histogram_quantile(0.95, sum by (le) (rate(sluice_redis_us_bucket{` + here + `}` + span + `)))`, "p95"},
			{`histogram_quantile(0.99, sum by (le) (rate(sluice_redis_us_bucket{` + here + `}` + span + `)))`, "p99"},
			{`sum(rate(sluice_redis_us_sum{` + here + `}` + span + `)) / sum(rate(sluice_redis_us_count{` + here + `}` + span + `))`, "mean"}}},
		{title: "Who decided", about: "redis: Redis. memory: a rejection that still held. local, lease: the gateway by itself. degraded: a pool in Redis, or a gateway whose clock is wrong; degraded_exhausted: a pool that is spent. override: an operator's block.", unit: units.RequestsPerSecond, width: 12, stacked: true, queries: []query{
			{`sum by (mode) (rate(sluice_mode_total{` + here + `}` + span + `))`, "{{mode}}"}}},
		{title: "Why Redis didn't decide", unit: units.RequestsPerSecond, width: 12, stacked: true, queries: []query{
			{`sum by (kind) (rate(sluice_redis_errors_total{` + here + `}` + span + `))`, "{{kind}}"}}},
		{title: "Breakers open by gateway", unit: units.Short, width: 12, queries: []query{
			{`sum by (instance) (sluice_breaker_open{` + here + `})`, "{{instance}}"}}},
		{title: "Local because Redis is slow", about: "Limits with hot.local that workers decide by themselves.", unit: units.Short, width: 12, queries: []query{
			{`sum by (instance) (sluice_hot_local{` + here + `})`, "{{instance}}"}}},
		{title: "Reconnects and scripts sent", about: "In five minutes. A script is sent after a start, a failover or SCRIPT FLUSH.", unit: units.Short, width: 12, queries: []query{
			{`sum by (instance) (increase(sluice_pipe_reconnects_total{` + here + `}[5m]))`, "reconnects {{instance}}"},
			{`sum by (instance) (increase(sluice_script_loads_total{` + here + `}[5m]))`, "scripts {{instance}}"}}},
		{title: "Charged afterwards", about: "Units per second that a gateway admitted without Redis and charged there since; corrections after the answer that Redis didn't confirm.", unit: units.Short, width: 12, queries: []query{
			{`sum(rate(sluice_reconciled_units_total{` + here + `}` + span + `))`, "reconciled"},
			{`sum(rate(sluice_settle_errors_total{` + here + `}` + span + `))`, "settlements lost"}}},
	}},
	{"Operators and clocks", []panel{
		{title: "Overrides at run time", about: "In force at each gateway. Those that differ for longer than two seconds use another Redis, database or prefix.", unit: units.Short, width: 8, queries: []query{
			{`sum by (instance) (sluice_overrides{` + here + `})`, "{{instance}}"}}},
		{title: "Overrides that are skipped", about: "In five minutes: malformed, of no limit, or Redis doesn't tell them.", unit: units.Short, width: 8, queries: []query{
			{`sum by (instance) (increase(sluice_override_errors_total{` + here + `}[5m]))`, "{{instance}}"}}},
		{title: "Clock against Redis's", about: "Above 1000 ms, with clock: gateway, a gateway counts by Redis's clock.", unit: units.Milliseconds, width: 8, queries: []query{
			{`max by (instance) (sluice_clock_skew_ms{` + here + `})`, "{{instance}}"}}},
	}},
	{"Configuration and plugin", []panel{
		{title: "Requests that the configuration doesn't fit", about: "Costs that were no whole numbers and counted 1; client addresses that were needed and unknown.", unit: units.RequestsPerSecond, width: 12, queries: []query{
			{`sum by (instance) (rate(sluice_odd_costs_total{` + here + `}` + span + `))`, "odd costs {{instance}}"},
			{`sum by (instance) (rate(sluice_client_unknown_total{` + here + `}` + span + `))`, "unknown clients {{instance}}"}}},
		{title: "Panics and refused configurations by gateway", unit: units.Short, width: 12, queries: []query{
			{`sum by (instance) (increase(sluice_panics_total{` + here + `}[5m]))`, "panics {{instance}}"},
			{`sum by (instance) (increase(sluice_config_errors_total{` + here + `}[5m]))`, "configuration errors {{instance}}"}}},
		{title: "Gateways by version", about: "Two versions at a time are an upgrade under way.", unit: units.Short, width: 12, queries: []query{
			{`count by (version) (sluice_build_info{` + here + `} > 0)`, "{{version}}"}}},
	}},
}
