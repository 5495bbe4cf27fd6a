package engine

import (
	"sluice/internal/config"
	"sluice/internal/slot"
)

// A request is divided where no one call can decide it: the counters that this
// gateway keeps for itself are asked first, and each hash slot of a Redis Cluster
// has a call of its own. Each part decides and charges by itself. When one of them
// refuses, what the others charged is returned: until then others may be refused
// who would have had room, and nobody is admitted over a limit.

// Divided reports whether one call doesn't decide the request: its decision is
// then made by a Split.
func (d *Decision) Divided() bool { return d.Plan.divided }

// Slot is the hash slot of the decision's only call; 0 where there are no slots.
func (d *Decision) Slot() uint16 {
	for i := range d.Plan.Charges {
		if c := &d.Plan.Charges[i]; !c.Here() {
			return c.slot
		}
	}
	return 0
}

// place finds out where each charge is decided.
func (e *Engine) place(p *Plan, t *Turns) {
	first := -1
	for i := range p.Charges {
		c := &p.Charges[i]
		if c.Limit.Scope == config.ScopeGateway {
			p.divided = true
			continue
		}
		cluster := e.policy.Redis.Topology == config.RedisCluster
		if cluster {
			c.slot = slot.Of(p.Key(i))
		}
		if h := c.Limit.Hot; h != nil && h.Local != nil && t != nil && t.Local != nil && t.Local(c.Limit.Index, c.slot) {
			c.Local, p.divided = true, true
			continue
		}
		if first < 0 {
			first = i
		}
		// A charge that may move to another slot has a call of its own.
		moves := cluster && len(p.Charges) > 1 && c.Rate.Shards != nil
		p.divided = p.divided || moves || c.slot != p.Charges[first].slot
	}
}

// Split decides a divided request: its parts are decisions of their own, and it
// puts their words together. It is reused.
//
// First Gateway, where it has charges, is decided by DecidedLocally. Unless that
// rejects, every part is brought to its end, as any decision; a part that wants to
// Wait while another has refused is given up by GiveUp. When all have ended and
// NeedsFallback says so, Fallback is decided by DecidedLocally. Conclude then gives the verdict.
// Of a request that isn't admitted, Undo returns what each part charged.
type Split struct {
	// Gateway has the charges of the limits that this gateway keeps for itself.
	Gateway Decision
	// Parts have those of one hash slot each.
	Parts []*Decision
	// Fallback has those of parts that failed whose limits this gateway then
	// counts; see NeedsFallback.
	Fallback Decision

	whole *Decision
	spare []*Decision
	part  []int // by charge of the whole plan: its place in Parts, or -1
}

// Start divides a decision that Start has planned.
func (s *Split) Start(whole *Decision) {
	s.whole = whole
	s.spare = append(s.spare, s.Parts...)
	s.Parts = s.Parts[:0]
	s.part = s.part[:0]
	s.Gateway.become(whole)
	s.Fallback.become(whole)
	for i := range whole.Plan.Charges {
		c := &whole.Plan.Charges[i]
		if c.Here() {
			s.part = append(s.part, -1)
			s.Gateway.Plan.take(&whole.Plan, i)
			continue
		}
		n := s.find(c)
		s.part = append(s.part, n)
		s.Parts[n].Plan.take(&whole.Plan, i)
	}
}

// find returns the place of the part that a charge is to be in.
func (s *Split) find(c *Charge) int {
	for n, p := range s.Parts {
		if p.Slot() == c.slot && !c.moves() && !p.Plan.Charges[0].moves() {
			return n
		}
	}
	var p *Decision
	if k := len(s.spare); k > 0 {
		p, s.spare = s.spare[k-1], s.spare[:k-1]
	} else {
		p = new(Decision)
	}
	p.become(s.whole)
	s.Parts = append(s.Parts, p)
	return len(s.Parts) - 1
}

// moves reports whether the charge may go to another slot, and so has a part of
// its own.
func (c *Charge) moves() bool { return c.Rate.Shards != nil }

// become makes d an empty part of another decision.
func (d *Decision) become(whole *Decision) {
	d.Clear()
	d.e = whole.e
	d.retries = whole.retries
	d.Verdict = Verdict{Outcome: Admitted, Closest: -1}
}

// take copies the i-th charge of another plan. What a guard guards is in the same
// part and before it: both keys have one hash tag.
func (p *Plan) take(from *Plan, i int) {
	c := from.Charges[i]
	key := from.Key(i)
	c.keyStart = len(p.keys)
	p.keys = append(p.keys, key...)
	c.keyEnd = len(p.keys)
	if c.Guards > 0 {
		c.Guards = p.find(c.Guards-1) + 1
	}
	p.Charges = append(p.Charges, c)
	p.places = append(p.places, i)
}

// find returns the place in p of the charge that has a place in the whole plan;
// -1 where p doesn't have it.
func (p *Plan) find(place int) int {
	for k, at := range p.places {
		if at == place {
			return k
		}
	}
	return -1
}

// failed reports whether Redis couldn't decide.
func (d *Decision) failed() bool { return d.Failure != NoFailure }

// Refused reports whether some part, or this gateway, already refuses the request:
// no further attempt can change that.
func (s *Split) Refused() bool {
	if s.Gateway.Verdict.Outcome == Rejected || s.Fallback.Verdict.Outcome == Rejected {
		return true
	}
	for _, p := range s.Parts {
		if o := p.Verdict.Outcome; o == Rejected || o == FailedClosed {
			return true
		}
	}
	return false
}

// NeedsFallback reports whether Redis couldn't decide some part, nothing refuses
// the request yet, and limits of that part are to be counted by this gateway then.
// DecidedLocally of Fallback must follow. Call it once, when all parts have ended.
func (s *Split) NeedsFallback() bool {
	if s.Refused() {
		return false
	}
	for i, n := range s.part {
		c := &s.whole.Plan.Charges[i]
		if n >= 0 && s.Parts[n].failed() && c.Limit.OnError == config.OnErrorLocal {
			s.Fallback.Plan.take(&s.whole.Plan, i)
		}
	}
	return len(s.Fallback.Plan.Charges) > 0
}

// Conclude writes the request's verdict, and the results of its charges, from
// what the parts say. A rejection beats a failure: it is what the caller can act
// on. Where Redis and this gateway decided together, the mode is Redis's. The time
// is that of the part with the charge that headers describe, or else the latest.
func (s *Split) Conclude() {
	d := s.whole
	d.Failure, d.FailureText, d.Loads = NoFailure, "", 0
	v := Verdict{Outcome: Admitted, Closest: -1}
	rejected, denied, decided := false, false, false
	for i := range d.Plan.Charges {
		d.Plan.Charges[i].Undecided = true
	}
	hear := func(p *Decision) {
		if len(p.Plan.Charges) == 0 || p.Verdict.Mode == ModeNone {
			return
		}
		decided = true
		rejected = rejected || p.Verdict.Outcome == Rejected
		v.Mode = min(p.Verdict.Mode, orLast(v.Mode))
		v.AtUS = max(v.AtUS, p.Verdict.AtUS)
		for k, at := range p.Plan.places {
			d.Plan.Charges[at].Result = p.Plan.Charges[k].Result
			d.Plan.Charges[at].Undecided = p.Plan.Charges[k].Undecided
		}
	}
	hear(&s.Gateway)
	for _, p := range s.Parts {
		hear(p)
		d.Loads += p.Loads
		if p.failed() && d.Failure == NoFailure {
			d.Failure, d.FailureText = p.Failure, p.FailureText
		}
		denied = denied || p.Verdict.Outcome == FailedClosed
	}
	hear(&s.Fallback)
	for i := range d.Plan.Charges {
		if c := &d.Plan.Charges[i]; c.Undecided {
			c.Result.Admitted = true
		}
	}
	switch {
	case rejected:
		v.Outcome = Rejected
		s.uncharge()
		v.Closest, v.RetryAfterMS = violated(&d.Plan)
	case denied:
		v = Verdict{Outcome: FailedClosed, Closest: s.denies()}
	case !decided && d.failed():
		v.Outcome = FailedOpen
	default:
		v.Closest, v.DelayMS = closest(&d.Plan), delay(&d.Plan)
	}
	if v.Mode != ModeNone && v.Closest >= 0 {
		if p := s.decider(v.Closest); p.Verdict.AtUS != 0 {
			v.AtUS = p.Verdict.AtUS
		}
	}
	d.Verdict = v
}

// denies finds the charge of a failed part whose limit denies then.
func (s *Split) denies() int {
	for _, p := range s.Parts {
		if p.Verdict.Outcome == FailedClosed {
			return p.Plan.places[p.Verdict.Closest]
		}
	}
	return -1
}

// orLast is m, or for none a mode behind all.
func orLast(m Mode) Mode {
	if m == ModeNone {
		return ^ModeNone
	}
	return m
}

// decider is the part that decided a charge of the whole plan.
func (s *Split) decider(i int) *Decision {
	n := s.part[i]
	switch {
	case n < 0:
		return &s.Gateway
	case s.Parts[n].failed():
		return &s.Fallback
	}
	return s.Parts[n]
}

// uncharge makes the figures of a rejected request those without its own charge,
// as far as they are known: what its parts charged is returned.
func (s *Split) uncharge() {
	for i := range s.whole.Plan.Charges {
		c := &s.whole.Plan.Charges[i]
		if p := s.decider(i); c.Undecided || p.Verdict.Outcome != Admitted || !c.charged() {
			continue
		}
		c.Result.Current = max(c.Result.Current-c.Cost, 0)
		c.Result.Remaining += c.Cost
		if c.Result.Current == 0 {
			c.Result.ResetMS = 0
		}
	}
}

// charged reports whether a charge that its part's voters admit was made.
func (c *Charge) charged() bool {
	return c.Guards == 0 && c.Cost > 0 && c.Result.Admitted && !c.Undecided
}

// Undo makes the part's plan what returns its charges, for a request that isn't
// admitted after all: one more call, or work for the gateway's own counters. It
// returns Send when there is something to return. A part whose call may have been
// made without a reply returns only slots that it may hold; what else it may have
// charged counts until its window has passed. Call it once, and nothing but
// AppendCommand and Reply after it.
func (d *Decision) Undo() Step {
	p := &d.Plan
	left := p.Charges[:0]
	for _, c := range p.Charges {
		switch {
		case d.Verdict.Mode == ModeRedis || d.Verdict.Mode == ModeLocal:
			if d.Verdict.Outcome != Admitted || !c.charged() {
				continue
			}
		case !d.failed() || !c.Limit.Algorithm.Holds || c.Guards > 0:
			continue
		}
		c.Op, c.since = OpUndo, d.Verdict.AtUS
		left = append(left, c)
	}
	p.Charges = left
	d.full, d.retries, d.corrections = false, 0, d.e.policy.Redis.Retry.Times
	if len(left) == 0 {
		return Decide
	}
	return Send
}

// CorrectAgain reports whether a call that Undo or Settle wanted surely wasn't made
// and may be sent again, after redis.retry.after: it wasn't sent, or Redis itself
// answered that it can't carry it out now.
func (d *Decision) CorrectAgain(sent bool) bool {
	if d.corrections == 0 || sent && (d.Failure != Failover || d.byProxy) {
		return false
	}
	d.corrections--
	return true
}
