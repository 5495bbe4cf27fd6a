package main

// Modules other than the plugin.
const (
	handWritten    = "hand-written"
	handWritten429 = "hand-written-429"
	handCalls      = "hand-written-calls"
	goNoop         = "go-noop"
)

// Names of rows that others are compared with, or that targets are about.
const (
	rowNone       = "no filter"
	rowService    = "rate-limit service"
	rowGoNoop     = "Go module that does nothing"
	rowNoMatch    = "sluice, no limit matches"
	rowCalls      = "hand-written wasm, sluice's host calls"
	rowOwn        = "sluice, decided in the gateway"
	rowOne        = "sluice"
	rowThree      = "sluice, three limits"
	rowHotNone    = "no filter, 64 connections"
	rowHotOff     = "sluice, one hot key, batching off"
	rowHotOn      = "sluice, one hot key"
	rowHotService = "rate-limit service, one hot key"
	rowLocal429   = "local_ratelimit, rejecting"
	rowService429 = "rate-limit service, rejecting"
	rowHand429    = "hand-written wasm, only 429"
	rowFixed429   = "sluice, blocked"
	rowMemory429  = "sluice, rejecting"
)

// hotConnections is how many requests are under way for one hot key.
const hotConnections = 64

// tables are what is measured. A new comparison is one more row.
var tables = []table{
	{
		title: "Admitted requests",
		about: "Every request is admitted and answered by the application. Limits are a sliding_log per minute with a counter for each of 10,000 callers, where the row says nothing else.",
		base:  rowNone,
		peer:  rowService,
		rows: []row{
			{name: rowNone, about: "Envoy alone", keys: manyKeys, status: admitted},
			{name: "local_ratelimit", about: "Envoy's own filter: one token bucket in the gateway's memory", other: localRateLimit(endlessTokens), keys: manyKeys, status: admitted},
			{name: rowService, about: "Envoy's global rate limit: envoyproxy/ratelimit, a fixed window per caller", other: rateLimitService(byCaller), service: true, keys: manyKeys, status: admitted, steady: true},
			{name: "rate-limit service, three limits", about: "fixed windows per address, caller and endpoint", other: rateLimitService(byAddress, byCaller, byEndpoint), service: true, keys: manyKeys, status: admitted},
			{name: "hand-written wasm", about: "the smallest wasm filter there is, which lets all through", module: handWritten, keys: manyKeys, status: admitted},
			{name: rowGoNoop, about: "standard Go with the plugin's callbacks, all of them empty", module: goNoop, keys: manyKeys, status: admitted},
			{name: rowNoMatch, about: "one limit, for another path", policy: elsewhere, keys: manyKeys, status: admitted, steady: true},
			{name: rowCalls, about: "reads headers, sets 5 others and 4 access-log fields to constants, and nothing else: what Envoy takes for the default answer, whoever decides", module: handCalls, keys: manyKeys, status: admitted},
			{name: rowOwn, about: "a token_bucket with `scope: gateway`, which asks no Redis and holds no request", policy: byUserOwn, keys: manyKeys, status: admitted},
			{name: rowOne, about: "one limit, with the default answer: 5 headers, 4 access-log fields, metrics", policy: byUser, keys: manyKeys, status: admitted, steady: true},
			{name: rowThree, about: "fixed_window per address, sliding_log per caller, token_bucket per endpoint, all in one call", policy: levels, keys: manyKeys, status: admitted, steady: true},
			{name: "sluice, zset", about: "the log as one member a hit", policy: byUserZset, keys: manyKeys, status: admitted, steady: true},
			{name: "sluice, token_bucket", policy: byUserToken, keys: manyKeys, status: admitted},
			{name: "sluice, fixed_window", policy: byUserFixed, keys: manyKeys, status: admitted},
			{name: "sluice, cluster", about: "a Redis Cluster of three masters, through Envoy's redis_proxy; Redis is all three together", policy: byUser, cluster: true, keys: manyKeys, status: admitted, steady: true},
		},
	},
	{
		title: "One hot key",
		about: "All requests come from one caller, 64 at a time, and are admitted. The limit is a sliding_log per minute where the row says nothing else.",
		base:  rowHotNone,
		peer:  rowHotService,
		rows: []row{
			{name: rowHotNone, about: "Envoy alone", conns: hotConnections, keys: 1, status: admitted},
			{name: rowHotService, about: "envoyproxy/ratelimit, a fixed window", other: rateLimitService(byCaller), service: true, conns: hotConnections, keys: 1, status: admitted},
			{name: rowHotOff, about: "a call for each request", policy: unshared, conns: hotConnections, keys: 1, status: admitted},
			{name: rowHotOn, about: "requests that come while a call is out share the next one, which is the default", policy: byUser, conns: hotConnections, keys: 1, status: admitted, steady: true},
			{name: "sluice, one hot key, 1 s", about: "the same with a window of a second, where the log is fullest", policy: bySecond, conns: hotConnections, keys: 1, status: admitted},
			{name: "sluice, lease", about: "what 100 ms need is taken from Redis in advance", policy: leased, needs: "lease", conns: hotConnections, keys: 1, status: admitted, steady: true},
		},
	},
	{
		title: "Rejected requests",
		about: "One caller far above its limit: every request is answered 429 by the gateway.",
		base:  rowLocal429,
		peer:  rowService429,
		rows: []row{
			{name: rowLocal429, about: "from the gateway's memory", other: localRateLimit(oneToken), keys: 1, status: rejected},
			{name: rowService429, about: "10 an hour", other: rateLimitService(byRejected), service: true, keys: 1, status: rejected},
			{name: rowHand429, about: "the smallest wasm filter there is: a status, no headers of its own, no body", module: handWritten429, keys: 1, status: rejected},
			{name: rowFixed429, about: "an operator's override rejects the caller whatever it did: the same module, headers and form of answer, and nothing to decide", policy: blocked, prepare: block, keys: 1, status: rejected},
			{name: rowMemory429, about: "10 an hour; Redis is asked about once a second, the others are answered from the gateway's memory", policy: ten, keys: 1, status: rejected},
		},
	},
}
