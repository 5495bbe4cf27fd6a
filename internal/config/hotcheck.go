package config

import (
	"strconv"
	"strings"

	"sluice/internal/limit"
)

// leasesPerWindow is how many leases a window lasts at least: so a lease costs at
// most a tenth of the limit.
const leasesPerWindow = 10

// checkHot reports what doesn't go together with a limit's hot field, before its
// rates are completed.
func (d *draft) checkHot(p *parser, given givenFields) {
	at := given("hot")
	h := d.Hot
	if h == nil || !at.Exists() {
		return
	}
	p.in("hot")
	defer p.out()
	fail := func(name, message string) { p.failField(at.Get(name), name, message, "") }
	if h.LeaseUS > 0 && h.Shards > 1 {
		fail("shards", "doesn't go together with lease: choose one")
	}
	for _, f := range [...]struct {
		name string
		on   bool
	}{{"lease", h.LeaseUS > 0}, {"shards", h.Shards > 1}} {
		if !f.on {
			continue
		}
		if why := d.unhot(); why != "" {
			fail(f.name, "doesn't go together with "+why)
			defer func() { h.LeaseUS, h.Shards = 0, 1 }() // what else is wrong isn't theirs
		}
	}
	if h.Shards > 1 && d.HashTag != nil {
		fail("shards", "doesn't go together with hash_tag, which puts all counters into one slot")
	}
	if h.LeaseUS > 0 && !h.Batch {
		fail("lease", "doesn't go together with batch: false")
	}
	if h.Local != nil {
		for _, f := range [...]struct {
			name string
			on   bool
		}{{d.Algorithm.Name, d.Algorithm.Holds}, {"settle", d.Settle != nil}, {"cost: body_bytes", d.Cost.BodyBytes}} {
			if f.on {
				fail("local", "doesn't go together with "+f.name+", which corrects a charge where it was made")
			}
		}
	}
}

// unhot says why a limit's units can be neither taken in advance nor divided; ""
// when they can.
func (d *draft) unhot() string {
	switch {
	case d.Algorithm.Holds:
		return d.Algorithm.Name + ": a slot is held by one request"
	case d.Algorithm.PerHit:
		return "storage: " + d.Algorithm.Storage + ", which keeps each request"
	case d.WaitsInQueue():
		return "max_wait: a queue has one order"
	case d.Settle != nil:
		return "settle, which corrects each request's charge"
	case d.PenaltyUS > 0:
		return "penalty, which one rejection starts"
	case d.CountRejected:
		return "count_rejected, which charges each rejection"
	case d.RateFrom != nil || d.rates.from != nil:
		return "a rate that requests carry"
	}
	if !d.Cost.constant() {
		return "a cost that isn't a fixed number above 0"
	}
	for i := range d.Overrides {
		if c := d.Overrides[i].Cost; c != nil && !c.constant() {
			return "an override whose cost isn't a fixed number above 0"
		}
	}
	return ""
}

// WaitsInQueue reports whether the limit delays requests.
func (d *draft) WaitsInQueue() bool {
	return takes(d.Algorithm, optionMaxWait) && d.options[optionMaxWait].n > 0
}

func (c *Cost) constant() bool { return c.Source == nil && !c.BodyBytes && c.Fixed > 0 }

// maxCost is the largest cost that a request has at the limit, where all are
// constant.
func (l *Limit) maxCost() int64 {
	most := l.Cost.Fixed
	for i := range l.Overrides {
		if c := l.Overrides[i].Cost; c != nil {
			most = max(most, c.Fixed)
		}
	}
	return most
}

// heat completes a rate for the limit's hot field; it returns why that can't be,
// or "".
func (r *Rate) heat(l *Limit) string {
	h := l.Hot
	r.LeaseUnits, r.leased, r.Shards = 0, nil, nil
	if h == nil || r.Pool {
		return ""
	}
	if h.LeaseUS > 0 {
		return r.lease(l)
	}
	if h.Shards > 1 {
		return r.divide(l)
	}
	return ""
}

// lease prepares what Redis enforces for a limit whose units are taken in advance
// and used up to h.LeaseUS later: a window longer by that, or a bucket smaller by
// what flows in that time. So no window of the limit ever sees more than the
// limit, whenever the units are used. The periods of a calendar and of a fixed
// window stay: a lease ends with them.
func (r *Rate) lease(l *Limit) string {
	ms := l.Hot.LeaseUS / 1000
	if ms*leasesPerWindow > r.Params.WindowMS {
		return "a lease of " + strconv.FormatInt(ms, 10) + "ms is more than a tenth of this window"
	}
	flow := mulDiv(r.Params.Limit, ms, r.Params.WindowMS)
	p := r.Params
	switch l.Algorithm {
	case limit.FixedWindow, limit.CalendarQuota:
	case limit.TokenBucket, limit.LeakyBucket:
		burst := p.Burst
		if burst == 0 {
			burst = p.Limit
		}
		if p.Limit > 0 && burst <= flow+1 {
			return "the burst is less than what a lease of " + strconv.FormatInt(ms, 10) + "ms takes"
		}
		if p.Limit > 0 {
			p.Burst = burst - flow - 1
		}
	default:
		p.WindowMS += ms
	}
	if err := l.Algorithm.Check(&p); err != nil {
		return "with a lease: " + err.Error()
	}
	r.leased, r.LeaseUnits = &p, flow
	return ""
}

// mulDiv is a·b/c without overflow, rounded down, for b ≤ c.
func mulDiv(a, b, c int64) int64 { return a/c*b + a%c*b/c }

// divide prepares the shares of the counters that a key is divided into. Their sum
// is the limit.
func (r *Rate) divide(l *Limit) string {
	n := min(l.Hot.Shards, max(r.Params.Limit, 1))
	if b := r.Params.Burst; b > 0 {
		n = min(n, b)
	}
	if c := l.maxCost(); c > 1 && r.Params.Limit >= c {
		// Each share has room for the dearest request.
		n = max(min(n, r.Params.Limit/c), 1)
		if b := r.Params.Burst; b > 0 {
			n = max(min(n, b/c), 1)
		}
	}
	r.Shards = make([]limit.Params, n)
	for i := range r.Shards {
		p := r.Params
		p.Limit = portion(p.Limit, n, int64(i))
		p.Burst = portion(p.Burst, n, int64(i))
		if err := l.Algorithm.Check(&p); err != nil {
			return "divided into " + strconv.FormatInt(n, 10) + " shards: " + err.Error()
		}
		r.Shards[i] = p
	}
	return ""
}

// portion is the i-th of n parts of a number.
func portion(whole, n, i int64) int64 {
	part := whole / n
	if i < whole%n {
		part++
	}
	return part
}

// Enforced are the numbers that Redis enforces for the whole of a key.
func (r *Rate) Enforced() *limit.Params {
	if r.leased != nil {
		return r.leased
	}
	return &r.Params
}

// shardMark stands before a shard's digit, at the end of the values in its key.
// No value looks like it: see package key.
const shardMark = "|%s"

// shardDigits number the shards in keys.
const shardDigits = "0123456789abcdefghijklmnopqrstuv"

// SetShard writes a shard's number into the key of a counter of this rate, which
// has Shards.
func (r *Rate) SetShard(key []byte, shard int) {
	key[len(key)-len(r.KeyTail)+len(shardMark)] = shardDigits[shard]
}

// CutShard takes a shard's mark off the values in a counter's name: which of its
// key's counters it is, or -1 for one that isn't divided.
func CutShard(values string) (whole string, shard int) {
	n := len(values) - 1
	if n < len(shardMark) || values[n-len(shardMark):n] != shardMark {
		return values, -1
	}
	shard = strings.IndexByte(shardDigits, values[n])
	if shard < 0 {
		return values, -1
	}
	return values[:n-len(shardMark)], shard
}

// ShardMarks are what follows a key's values in the names of its counters: one
// for each shard that there can be, or just "".
func (l *Limit) ShardMarks() []string {
	if !l.sharded() {
		return []string{""}
	}
	var marks []string
	for i := range l.Hot.Shards {
		marks = append(marks, shardMark+shardDigits[i:i+1])
	}
	return marks
}

// Cool makes all limits decide as if they had no hot field, for a simulation: it
// has no round trips to spare, and one decider. Call it before the policy is used.
func (p *Policy) Cool() {
	p.EachRate(func(l *Limit, r *Rate) {
		r.LeaseUnits, r.leased, r.Shards = 0, nil, nil
		l.Hot = nil
	})
}
