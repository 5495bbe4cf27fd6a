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

var leaseTable = &table[Hot]{
	name: "lease",
	doc:  "Units are taken from Redis in advance, as many as are used in a time, and are returned when it is over.",
	fields: []field[Hot]{
		must(row("for", duration(10, 10_000), "", "How long they last, such as 100ms; at most a tenth of the limit's shortest window.",
			func(t *Hot, v int64) { t.LeaseUS = v * 1000 })),
	},
}

var hotLocalTable = &table[HotLocal]{
	name: "local",
	doc:  "A local share of the limit decides while Redis is slow.",
	fields: []field[HotLocal]{
		row("trip", threshold(), `"5ms for 100ms"`, "Goes local when a round trip takes longer, for so long.",
			func(t *HotLocal, v Threshold) { t.Trip = v }),
		row("recover", threshold(), `"2ms for 500ms"`, "Comes back when it takes less, for so long.",
			func(t *HotLocal, v Threshold) { t.Recover = v }),
	},
	whole: true,
	finish: func(p *parser, v *jsontext.Value, given func(string) *jsontext.Value, t *HotLocal) {
		if t.Recover.RTTUS > t.Trip.RTTUS {
			p.failField(v, "recover", "the round trip to come back at is longer than the one to trip at", "")
		}
	},
}

var hotTable = &table[Hot]{
	name: "hot",
	doc:  "What is done about a key that very many requests share.",
	fields: []field[Hot]{
		row("batch", boolean(), "true", "Requests that ask for the same while a call for it is out share the next call; exact.",
			func(t *Hot, v bool) { t.Batch = v }),
		row("lease", leaseTable.kind(), "", "Units are taken from Redis in advance: at most a tenth of the calls, at most a tenth less admitted, never more.",
			func(t *Hot, v Hot) { t.LeaseUS = v.LeaseUS }),
		row("shards", integer(1, maxShards), "1", "Into how many counters a key is divided, each with a share of the limit; one that is full borrows from the others.",
			func(t *Hot, v int64) { t.Shards = v }),
		row("local", hotLocalTable.kind(), "", "The gateway's share of the limit decides while Redis is slow.",
			func(t *Hot, v HotLocal) { t.Local = &v }),
	},
}

// threshold is "RTT for TIME".
//
//go:noinline
func threshold() kind[Threshold] {
	t := Type{Name: "threshold", Doc: "A round-trip time and for how long it holds: `5ms for 100ms`.",
		Pattern: "^[0-9]+ *" + unitPattern() + " for [0-9]+ *" + unitPattern() + "$"}
	return mapped(text(t, nil), func(p *parser, v *jsontext.Value, s string) (Threshold, bool) {
		rtt, span, ok := strings.Cut(s, " for ")
		if !ok {
			return Threshold{}, p.fail(v, quote(s)+" is not a threshold, such as 5ms for 100ms")
		}
		a, msg := parseDuration(strings.TrimSpace(rtt), false)
		if msg == "" {
			var b int64
			if b, msg = parseDuration(strings.TrimSpace(span), false); msg == "" {
				return Threshold{RTTUS: a * 1000, ForUS: b * 1000}, true
			}
		}
		return Threshold{}, p.fail(v, msg)
	})
}
