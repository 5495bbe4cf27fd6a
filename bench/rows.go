package main

import "sluice/internal/stack/envoyconfig"

// table is one comparison: its rows are measured against one of them that has no
// limiter, or the cheapest, and against Envoy's rate-limit service.
type table struct {
	title string
	about string
	base  string // name of the row that the others' added CPU is counted from
	peer  string // name of the row that they are compared with
	rows  []row
}

// row is one gateway under one load.
type row struct {
	name   string // as the table shows it; unique
	about  string // what is limited
	policy string // the plugin's limits, JSON; "" takes the plugin out
	other  func(*envoyconfig.Config, *bed)
	// service says that the row needs the rate-limit service.
	service bool
	keys    int    // how many callers the load has, each with a counter of its own
	status  int    // what every request is answered
	module  string // the plugin's file; "" is this checkout's
}

const (
	admitted = 200
	rejected = 429
	manyKeys = 10_000
)

// A limit that nothing reaches.
const endless = "1000000000"

const (
	byUser      = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min"}`
	byUserZset  = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","storage":"zset"}`
	byUserToken = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","algorithm":"token_bucket"}`
	byUserFixed = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","algorithm":"fixed_window"}`
	bySecond    = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/s"}`
	elsewhere   = `{"name":"per-user","match":{"path":"/api/*"},"key":"header:x-user-id","rate":"` + endless + `/min"}`
	levels      = `{"name":"per-ip","key":"ip","rate":"` + endless + `/s","algorithm":"fixed_window"},` +
		byUser + `,{"name":"endpoint","rate":"` + endless + `/s","algorithm":"token_bucket"}`
	ten = `{"name":"per-user","key":"header:x-user-id","rate":"10/hour"}`
)

// tables are what is measured. A new comparison is one more row.
var tables = []table{
	{
		title: "Admitted requests",
		about: "Every request is admitted and answered by the application. Limits are a sliding_log per minute with a counter for each of 10,000 callers, where the row says nothing else.",
		base:  "no filter",
		peer:  "rate-limit service",
		rows: []row{
			{name: "no filter", about: "Envoy alone", keys: manyKeys, status: admitted},
			{name: "local_ratelimit", about: "Envoy's own filter: one token bucket in the gateway's memory", other: localRateLimit(endlessTokens), keys: manyKeys, status: admitted},
			{name: "rate-limit service", about: "Envoy's global rate limit: envoyproxy/ratelimit, a fixed window per caller", other: rateLimitService(byCaller), service: true, keys: manyKeys, status: admitted},
			{name: "rate-limit service, three limits", about: "fixed windows per address, caller and endpoint", other: rateLimitService(byAddress, byCaller, byEndpoint), service: true, keys: manyKeys, status: admitted},
			{name: "sluice, no limit matches", about: "one limit, for another path", policy: elsewhere, keys: manyKeys, status: admitted},
			{name: "sluice", about: "one limit, with the default answer: 5 headers, 4 access-log fields, metrics", policy: byUser, keys: manyKeys, status: admitted},
			{name: "sluice, one hot key", about: "all requests from one caller", policy: byUser, keys: 1, status: admitted},
			{name: "sluice, one hot key, 1 s", about: "the same with a window of a second, where the log is fullest", policy: bySecond, keys: 1, status: admitted},
			{name: "sluice, three limits", about: "fixed_window per address, sliding_log per caller, token_bucket per endpoint, all in one call", policy: levels, keys: manyKeys, status: admitted},
			{name: "sluice, zset", about: "the log as one member a hit", policy: byUserZset, keys: manyKeys, status: admitted},
			{name: "sluice, token_bucket", policy: byUserToken, keys: manyKeys, status: admitted},
			{name: "sluice, fixed_window", policy: byUserFixed, keys: manyKeys, status: admitted},
		},
	},
	{
		title: "Rejected requests",
		about: "One caller far above its limit: every request is answered 429 by the gateway.",
		base:  "local_ratelimit, rejecting",
		peer:  "rate-limit service, rejecting",
		rows: []row{
			{name: "local_ratelimit, rejecting", about: "from the gateway's memory", other: localRateLimit(oneToken), keys: 1, status: rejected},
			{name: "rate-limit service, rejecting", about: "10 an hour", other: rateLimitService(byRejected), service: true, keys: 1, status: rejected},
			{name: "sluice, rejecting", about: "10 an hour", policy: ten, keys: 1, status: rejected},
		},
	},
}
