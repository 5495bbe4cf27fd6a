package config

import (
	"strings"

	"sluice/internal/jsontext"
)

// maxShards bounds the calls that a request makes before it is rejected.
const maxShards = 32

// Hot says what is done about a key that very many requests share.
type Hot struct {
	// Batch lets requests for a key whose call is in flight share the next call.
	Batch bool
	// LeaseUS is for how long tokens are taken in advance, microseconds; 0 for
	// no lease.
	LeaseUS int64
	// Shards is into how many counters a key is divided; 1 for no division.
	Shards int64
	// Local decides by a local share of the limit while Redis is slow; nil never.
	Local *HotLocal
}

// HotLocal says when a limit goes local, and when it comes back.
type HotLocal struct {
	Trip, Recover Threshold
}

// Threshold is a round-trip time that holds for some time.
type Threshold struct {
	RTTUS int64 // microseconds
	ForUS int64 // microseconds
}

var defaultLease int64

var leaseTable = newTable("lease", "Units are taken from Redis in advance, as many as are used in a time, and are returned when it is over.", &defaultLease, []*field{
	must(row("for", &defaultLease, durationUS(10, 10_000), "", "How long they last, such as 100ms; at most a tenth of the limit's shortest window.")),
}, nil)

var defaultHotLocal HotLocal

var hotLocalTable = newTable("local", "A local share of the limit decides while Redis is slow.", &defaultHotLocal, []*field{
	row("trip", &defaultHotLocal.Trip, threshold(), `"5ms for 100ms"`, "Goes local when a round trip takes longer, for so long."),
	row("recover", &defaultHotLocal.Recover, threshold(), `"2ms for 500ms"`, "Comes back when it takes less, for so long."),
}, func(p *parser, v *jsontext.Value, _ givenFields, t *HotLocal) {
	if t.Recover.RTTUS > t.Trip.RTTUS {
		p.failField(v, "recover", "the round trip to come back at is longer than the one to trip at", "")
	}
}).wholeOnly()

var defaultHot Hot

var hotTable = newTable("hot", "What is done about a key that very many requests share.", &defaultHot, []*field{
	row("batch", &defaultHot.Batch, boolean(), "true", "Requests that ask for the same while a call for it is out share the next one's charge, and while Redis is busy different requests share calls; exact. `false` gives each request a call of its own."),
	row("lease", &defaultHot.LeaseUS, leaseTable.kind(), "", "Units are taken from Redis in advance: at most a tenth of the calls, at most a tenth less admitted, never more."),
	row("shards", &defaultHot.Shards, integer(1, maxShards), "1", "Into how many counters a key is divided, each with a share of the limit; one that is full borrows from the others."),
	row("local", &defaultHot.Local, pointer(hotLocalTable.kind()), "", "The gateway's share of the limit decides while Redis is slow."),
}, nil)

// threshold is "RTT for TIME".
//
//go:noinline
func threshold() kind[Threshold] {
	return worded("a threshold", func(p *parser, v *jsontext.Value, s string, to *Threshold) bool {
		rtt, span, ok := strings.Cut(s, " for ")
		if !ok {
			return p.fail(v, quote(s)+" is not a threshold, such as 5ms for 100ms")
		}
		a, msg := parseDuration(strings.TrimSpace(rtt), false)
		if msg == "" {
			var b int64
			if b, msg = parseDuration(strings.TrimSpace(span), false); msg == "" {
				*to = Threshold{RTTUS: a * 1000, ForUS: b * 1000}
				return true
			}
		}
		return p.fail(v, msg)
	}).as(Type{Name: "threshold", Doc: "A round-trip time and for how long it holds: `5ms for 100ms`.",
		Pattern: "^[0-9]+ *" + unitPattern + " for [0-9]+ *" + unitPattern + "$"})
}
