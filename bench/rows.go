package main

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/override"
	"sluice/internal/stack/envoyconfig"
)

// table is one comparison: its rows are measured against one of them that has no
// limiter, or the cheapest, and against Envoy's rate-limit service.
type table struct {
	title   string
	about   string
	base    string // name of the row that the others' added CPU is counted from
	peer    string // name of the row that they are compared with
	rows    []row
	missing []missing // rows that can't be measured
}

// row is one gateway under one load.
type row struct {
	name   string // as the table shows it; unique
	about  string // what is limited
	policy string // the plugin's limits, JSON; "" takes the plugin out
	other  func(*envoyconfig.Config, *bed)
	// service says that the row needs the rate-limit service.
	service bool
	// plugin is the plugin's file; "" is this checkout's.
	plugin string
	keys   int // how many callers the load has, each with a counter of its own
	status int // what every request is answered
	conns  int // how many requests are always under way; 0 for the usual number
	// steady says that the row is measured at half its capacity as well.
	steady bool
	// cluster puts three Redis nodes behind the gateway, in place of one.
	cluster bool
	// module makes another module than the plugin, for a gateway that has no
	// policy; "" for none.
	module string
	debug  bool // callers that know debugSecret are told when it was decided
	// needs is a field of the configuration that may not be there: the row is left
	// out, and the report says so.
	needs string
	// prepare readies Redis for the row, after it was emptied.
	prepare func(context.Context, *redis.Client) error
}

// busy is how many requests are always under way.
func (r row) busy() int {
	if r.conns == 0 {
		return connections
	}
	return r.conns
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
	byUserOwn   = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","algorithm":"token_bucket","scope":"gateway"}`
	byUserFixed = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","algorithm":"fixed_window"}`
	bySecond    = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/s"}`
	elsewhere   = `{"name":"per-user","match":{"path":"/api/*"},"key":"header:x-user-id","rate":"` + endless + `/min"}`
	levels      = `{"name":"per-ip","key":"ip","rate":"` + endless + `/s","algorithm":"fixed_window"},` +
		byUser + `,{"name":"endpoint","rate":"` + endless + `/s","algorithm":"token_bucket"}`
	unshared = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","hot":{"batch":false}}`
	leased   = `{"name":"per-user","key":"header:x-user-id","rate":"` + endless + `/min","hot":{"lease":{"for":"100ms"}}}`
	blocked  = `{"name":"` + blockedName + `","key":"header:x-user-id","rate":"` + endless + `/min"}`
	ten      = `{"name":"per-user","key":"header:x-user-id","rate":"10/hour"}`
)

// blockedName is the limit that an operator's override rejects without a call.
const blockedName = "blocked"

// block rejects what the limit blockedName matches; gateways follow within 2 s.
func block(ctx context.Context, client *redis.Client) error {
	e := override.Entry{
		Target:  override.Target{Name: blockedName},
		Spec:    override.Spec{Kind: override.Block},
		UntilMS: time.Now().Add(time.Hour).UnixMilli(),
	}
	return client.HSet(ctx, override.Key("rl"), e.Field(), e.Value()).Err()
}
