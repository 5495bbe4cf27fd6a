package link

import (
	"math/rand/v2"

	"sluice/redisproto"
)

// Options configure a link. A field that is zero means its default. Times are
// microseconds.
type Options struct {
	Username string // of an ACL user; empty = the default user
	Password string // with neither, no AUTH is sent
	DB       int    // SELECTed when it isn't 0

	// Gather lets a command wait this long for others, while at least 4 calls are
	// out: it goes out with the next reply, the next command that comes later than
	// this after the last message, or the next Tick. Default 0, never.
	Gather int64

	// Apart keeps requests from sharing a call of a script: Redis is several servers,
	// which have different keys.
	Apart bool

	MaxPending int   // calls that wait at once, late ones included; default 8192
	BackoffMin int64 // longest wait before the second attempt to connect, doubled for each further one; default 10 ms
	BackoffMax int64 // longest wait there is, and how long a connection must live to count as good; default 1 s
	StallAfter int64 // a connection that owes a reply this long after its deadline is given up; default 1 s

	// LeaveReadOnly gives a connection up that answers READONLY: it leads to a
	// server that is no longer the master, and a new one may lead elsewhere.
	LeaveReadOnly bool

	Limits   redisproto.Limits // on replies
	Rand     func() uint32     // for the jitter; default math/rand/v2
	Observer Observer          // default none
}

// longestBackoff is over half an hour: nobody wants more, and sums stay small.
const longestBackoff = 1 << 31

func (o Options) withDefaults() Options {
	if o.MaxPending <= 0 {
		o.MaxPending = 8192
	}
	if o.BackoffMin <= 0 {
		o.BackoffMin = 10_000
	}
	if o.BackoffMax <= 0 {
		o.BackoffMax = 1_000_000
	}
	o.BackoffMax = min(o.BackoffMax, longestBackoff)
	if o.StallAfter <= 0 {
		o.StallAfter = 1_000_000
	}
	if o.Rand == nil {
		o.Rand = rand.Uint32
	}
	if o.Observer == nil {
		o.Observer = noObserver{}
	}
	return o
}
