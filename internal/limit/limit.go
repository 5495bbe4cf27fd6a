// Package limit holds every algorithm as a pure model: state and time in, a
// decision out. The models are the oracle for the scripts in package lua, the
// local fallback when Redis is away, and what the simulator runs. They import
// the standard library only and never read a clock.
package limit

import (
	"errors"
	"strconv"
)

// Micros is a point in time: microseconds since the Unix epoch.
type Micros = int64

// Never is the RetryAfterMS of a rejection that waiting doesn't help: the cost
// is above the limit, or the limit is 0.
const Never = -1

// Params are the numbers that one counter enforces. An algorithm reads those
// that it declares in its Options, besides Limit and WindowMS.
type Params struct {
	Limit    int64 // units admitted per window; 0 rejects everything
	WindowMS int64 // length of the window, milliseconds, at least 1
	Burst    int64 // token and leaky bucket: the bucket's whole capacity, units; 0 = Limit, or for a queue: bounded by WaitMS alone
	Buckets  int64 // sliding counter: how many sub-windows; 0 = 10
	WaitMS   int64 // leaky bucket as a queue: the longest delay, milliseconds
	HoldMS   int64 // concurrency: how long a holder counts that is never released, milliseconds
	UntilMS  int64 // pool: when it ends, milliseconds since the epoch
	// Calendar is the period of a calendar quota; nil for every other algorithm.
	Calendar *Calendar
}

// Decision is what one counter says about one request. After an admitted Take
// the figures include the request itself.
type Decision struct {
	Admitted     bool
	Current      int64 // units counted in the window now
	Remaining    int64 // units still free now, never below 0
	ResetMS      int64 // until more than Remaining becomes free, ms rounded up; 0 when nothing is counted
	RetryAfterMS int64 // rejected: until the same cost would be admitted if nothing else came, ms rounded up, or Never; admitted by a queue: how long to delay it; else 0
}

// Model is one counter of one algorithm. Its methods take the time of the call,
// which may step back: a model then answers on the safe side. Cost is ≥ 0; a
// cost of 0 looks for room for 1 and charges nothing.
type Model interface {
	// Look decides without charging.
	Look(now Micros, cost int64) Decision
	// Take charges cost, whether or not there is room, and reports the state
	// after it. Callers Look first.
	Take(now Micros, cost int64) Decision
	// Give returns n units that an earlier Take charged, the youngest first,
	// never going below zero.
	Give(now Micros, n int64) Decision
	// Refuse records a request that Look refused, where those count, too
	// (count_rejected). A log or a counter charges it; a bucket has nothing left
	// afterwards; who waits for a free slot holds none.
	Refuse(now Micros, cost int64) Decision
	// Change replaces the numbers from the next call on. What was counted stays,
	// as far as it counts under both; p was checked by Check.
	Change(p Params)
}

// Algorithm describes one way of counting. Each lives in one file here and one
// Lua file of the same name as Script, and is listed in registry.
type Algorithm struct {
	Name    string   // as a configuration writes it: sliding_log
	Storage string   // the storage that picks it among algorithms of one name; "" when there is only one
	Script  string   // the Lua file's name without its extension
	Suffix  string   // last part of its keys in Redis: algorithm and format version
	Options []string // the fields of a limit that it takes besides rate
	// Args appends what its script reads after the cost: always the same number
	// of arguments. now is the gateway's time, for periods that need one.
	Args func(dst []int64, p *Params, now Micros) []int64
	// NArgs is how many arguments Args appends.
	NArgs int
	// New makes an empty counter. p was checked by Check.
	New func(p Params) Model
	// Check reports why p can't be enforced exactly, or nil.
	Check func(p *Params) error
	// Holds says that a request occupies its units until it ends: the caller then
	// gives them back, under the same request id.
	Holds bool
	// PerHit says that each hit is stored on its own, for someone to read.
	PerHit bool
	// Quota is what answers call the limit: so many units in so many ms. nil
	// stands for Limit and WindowMS.
	Quota func(p *Params) (units, windowMS int64)
	// Doc is the algorithm's row in the reference: one line on what it promises.
	Doc string
	// Code stands for the algorithm in a gateway's own counters; see Share. It is
	// never used again for something else.
	Code byte

	// share makes a gateway's part of a counter.
	share func(s *Share, p *Params) bool
}

// Decide looks, and takes when there is room.
func Decide(m Model, now Micros, cost int64) Decision {
	d := m.Look(now, cost)
	if d.Admitted && cost > 0 {
		d = m.Take(now, cost)
	}
	return d
}

// registry is every algorithm, by name; of one name the default storage is first. It
// and they are written so that they need no code to be set up.
var registry = [...]*Algorithm{
	CalendarQuota, Concurrency, FixedWindow, LeakyBucket, SlidingCounter, SlidingLog, SlidingLogZset, TokenBucket,
}

// Algorithms lists every algorithm, in a stable order.
func Algorithms() []*Algorithm { return registry[:] }

// Lookup finds an algorithm by its configured name and storage.
func Lookup(name, storage string) (*Algorithm, error) {
	known := false
	for _, a := range registry {
		if a.Name != name {
			continue
		}
		known = true
		if a.Storage == storage {
			return a, nil
		}
	}
	if known {
		return nil, errors.New("algorithm " + name + " has no storage " + strconv.Quote(storage))
	}
	return nil, errors.New("unknown algorithm " + strconv.Quote(name))
}
