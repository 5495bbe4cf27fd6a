package engine

import (
	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/slot"
)

// A key with hot.shards has several counters, each with a share of the limit. A
// request asks the one that its worker's turn is at. Where that one refuses, it
// asks the next, until one admits or every one has refused: so nobody is rejected
// while a share has room, and the shares' sum is never exceeded.

// Turns says which of a key's counters a request asks first, and which limits this
// gateway decides by itself for now. The plugin keeps one for each worker.
type Turns struct {
	// Shard is moved on by whoever sends a call.
	Shard uint32
	// Local reports whether this gateway decides a limit for the counters of a hash
	// slot; nil for never. See Slow.
	Local func(limit int, slot uint16) bool
}

// Here reports whether this gateway's own counters decide the charge.
func (c *Charge) Here() bool { return c.Local || c.Limit.Scope == config.ScopeGateway }

// Params are the numbers of the charge's counter, but not of a guard's.
func (c *Charge) Params() *limit.Params {
	if c.Rate.Shards != nil {
		return &c.Rate.Shards[c.shard]
	}
	return c.Rate.Enforced()
}

// choose lets the charge ask one of its key's counters.
func (p *Plan) choose(c *Charge, shard int) {
	c.shard = shard
	c.Rate.SetShard(p.keys[c.keyStart:c.keyEnd], shard)
}

// Sharded reports whether some charge's key has several counters.
func (d *Decision) Sharded() bool {
	for i := range d.Plan.Charges {
		if d.Plan.Charges[i].Rate.Shards != nil {
			return true
		}
	}
	return false
}

// refused notes that the counter that the charge asks refuses it, for so long.
func (c *Charge) refused(waitMS int64) {
	if c.tried == 0 || c.waitMS == limit.Never || waitMS != limit.Never && waitMS < c.waitMS {
		c.waitMS = waitMS
	}
	c.tried |= 1 << c.shard
}

// elsewhere lets a charge that was refused ask another counter of its key, one
// that isn't known to refuse, and reports false when there is none.
func (d *Decision) elsewhere(i int, m *Memory, now int64) bool {
	c := &d.Plan.Charges[i]
	n := len(c.Rate.Shards)
	for k := 1; k < n; k++ {
		s := (c.shard + 1) % n
		d.Plan.choose(c, s)
		if c.tried&(1<<s) != 0 {
			continue
		}
		if r := m.find(d.Plan.Key(i), c, now); r != nil {
			c.refused(r.left(now).RetryAfterMS)
			continue
		}
		if d.e.policy.Redis.Topology == config.RedisCluster {
			c.slot = slot.Of(d.Plan.Key(i))
		}
		return true
	}
	return false
}

// Borrow returns Send when what Redis rejected may have room in another counter of
// the same key, which the next command then asks; else Decide. Call it after
// Remember.
func (d *Decision) Borrow(m *Memory, now int64) Step {
	if d.Verdict.Outcome != Rejected || d.Verdict.Mode != ModeRedis {
		return Decide
	}
	sharded, plain := false, false
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if !c.Op.Votes() || c.Result.Admitted {
			continue
		}
		if c.Rate.Shards == nil {
			plain = true
			continue
		}
		sharded = true
		c.refused(c.Result.RetryAfterMS)
	}
	if !sharded {
		return Decide
	}
	step := Send
	if plain {
		step = Decide
	}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if step == Send && c.Op.Votes() && !c.Result.Admitted && !d.elsewhere(i, m, now) {
			step = Decide
		}
	}
	if step == Send {
		return Send
	}
	for i := range d.Plan.Charges {
		if c := &d.Plan.Charges[i]; c.tried != 0 && !c.Result.Admitted {
			c.Result.RetryAfterMS = c.waitMS
		}
	}
	d.Verdict.Closest, d.Verdict.RetryAfterMS = violated(&d.Plan)
	return Decide
}

// Widen makes the figures of charges whose keys have several counters those of
// the whole key, as one counter's tell: calls take turns, so the others are about
// as full. It is for what callers see; call it once, last.
func (d *Decision) Widen() {
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if n := int64(len(c.Rate.Shards)); n > 1 {
			c.Result.Current *= n
			c.Result.Remaining *= n
		}
	}
}
