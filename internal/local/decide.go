package local

import (
	"encoding/binary"

	"sluice/internal/limit"
)

// Counter is one counter of a request. Key, Algorithm and Params must stay as
// they are during a call.
type Counter struct {
	Key       []byte // in Redis
	Algorithm *limit.Algorithm
	Params    *limit.Params // as Redis enforces them; checked by the algorithm's Check
	Gateways  int64         // how many share the counter; at most 1 for a gateway's own
	Cost      int64         // units, ≥ 0; 0 looks for room for 1
	Votes     bool          // a refusal refuses the request
	// CountRejected charges what this counter itself refuses.
	CountRejected bool
	// Account keeps what is charged for TakePending. Slots that are held and
	// penalties have no account.
	Account bool
	// Guards is, for limit.Penalty, the place of the counter that it guards, from
	// 1; its Cost is 0.
	Guards int

	// Was is, for Give, what the counter's Current was when it had charged what is
	// returned; 0 where that isn't known.
	Was int64

	// Decision is what the counter says, set by the call. Where the store itself
	// had to refuse, it asks to come back in a second.
	Decision limit.Decision
}

// slot is what a call knows of one counter.
type slot struct {
	hash    uint64
	index   uint32 // of the page
	cas     uint32
	page    []byte
	own     record
	seated  bool // own is its record
	shared  record
	sharing bool // shared is the record of the keys without a seat
	fit     bool // it could be opened, and s.share may be it
	dirty   bool // Look changed the state
	charged bool
	units   int64 // added to the account, or to be taken from it
	had     int64 // what opGive took from it
	after   limit.Decision
}

// tries bounds how often a write is repeated that others are faster with.
const tries = 16

var unanswered = limit.Decision{ResetMS: 1000, RetryAfterMS: 1000}

type op byte

const (
	opSave op = iota
	opTake
	opCharge // as opTake, room or not
	opRefuse
	opGive
)

// Decide looks at all counters and, when every one that votes has room, charges
// them all, or none. It reports whether the request is admitted, and sets each
// counter's Decision. now is microseconds since the epoch, the same clock for all
// workers. It costs one get of shared data a counter, and one set for each that
// is charged, unless workers meet.
func (s *Store) Decide(now int64, cs []Counter) (admitted bool) {
	if !s.ready() {
		s.Stats.GaveUp++
		admitted = true
		for i := range cs {
			cs[i].Decision = unanswered
			admitted = admitted && !cs[i].Votes
		}
		return admitted
	}
	for len(s.slots) < len(cs) {
		s.slots = append(s.slots, slot{})
	}
	slots := s.slots[:len(cs)]
	admitted = true
	for i := range cs {
		c, sl := &cs[i], &slots[i]
		sl.charged, sl.units, sl.dirty = false, 0, false
		sl.hash, sl.index = s.place(c.Key)
		c.Decision = unanswered
		switch {
		case !s.load(now, c, sl):
			s.Stats.GaveUp++
		case s.open(c, sl):
			c.Decision = s.share.Look(now, c.Cost)
			sl.dirty = s.share.Dirty()
		}
		if c.Votes && !c.Decision.Admitted {
			admitted = false
		}
	}
	if admitted {
		admitted = s.charge(now, cs, slots)
	}
	for i := range cs {
		if c, sl := &cs[i], &slots[i]; sl.charged {
			c.Decision = sl.after
		} else {
			s.settle(now, cs, i)
		}
	}
	return admitted
}

// charge charges every counter that has room, or, where another worker took the
// room of one that votes, none.
func (s *Store) charge(now int64, cs []Counter, slots []slot) bool {
	for i := range cs {
		c, sl := &cs[i], &slots[i]
		if c.Cost <= 0 || !c.Decision.Admitted {
			continue
		}
		if s.commit(now, now, c, sl, opTake) {
			sl.charged = true
			continue
		}
		if !c.Votes {
			continue
		}
		for j := range i {
			if sl := &slots[j]; sl.charged {
				sl.charged = false
				said := cs[j].Decision
				if s.load(now, &cs[j], sl) {
					s.commit(now, now, &cs[j], sl, opGive)
				} else {
					s.Stats.GaveUp++
				}
				cs[j].Decision = said
			}
		}
		return false
	}
	return true
}

// settle does what is due for a counter that wasn't charged. Where that fails,
// what the counter said stands.
func (s *Store) settle(now int64, cs []Counter, i int) {
	c, sl := &cs[i], &s.slots[i]
	said := c.Decision
	refused := c.Guards > 0 && c.Guards <= len(cs) && !cs[c.Guards-1].Decision.Admitted
	switch {
	case refused && said.Admitted && s.commit(now, now, c, sl, opCharge):
		said = sl.after // the penalty has begun
	case refused && said.Admitted:
		said = unanswered
	case c.CountRejected && c.Cost > 0 && !said.Admitted && sl.fit && s.commit(now, now, c, sl, opRefuse):
		said = sl.after
	case sl.dirty:
		s.commit(now, now, c, sl, opSave)
	}
	c.Decision = said
}

// Charge charges a counter without asking it, as a cost that turns out to be
// higher. It reports false when that wasn't possible.
func (s *Store) Charge(now int64, c *Counter) bool {
	if c.Cost <= 0 {
		return true
	}
	sl := s.one(now, c)
	if sl == nil || !s.commit(now, now, c, sl, opCharge) {
		return false
	}
	c.Decision = sl.after
	return true
}

// Give returns Cost units that Decide or Charge charged at since, and ends a
// hold. It reports how many of them were still to be charged in Redis and now
// aren't: the others are Redis's to return, where they still count.
func (s *Store) Give(now, since int64, c *Counter) (unpended int64) {
	sl := s.one(now, c)
	if sl == nil {
		return 0
	}
	sl.units, sl.had = max(c.Cost, 0), 0
	if !s.commit(now, since, c, sl, opGive) {
		return 0
	}
	c.Decision = sl.after
	return sl.had
}

// one reads a single counter.
func (s *Store) one(now int64, c *Counter) *slot {
	if len(s.slots) == 0 {
		s.slots = append(s.slots, slot{})
	}
	sl := &s.slots[0]
	sl.units = 0
	if s.ready() {
		sl.hash, sl.index = s.place(c.Key)
		if s.load(now, c, sl) {
			return sl
		}
	}
	s.Stats.GaveUp++
	return nil
}

// load reads a counter's page.
func (s *Store) load(now int64, c *Counter, sl *slot) (ok bool) {
	sl.seated, sl.sharing, sl.fit = false, false, false
	if sl.page, sl.cas, ok = s.get(sl.index); !ok {
		return false
	}
	ms, code := floorMS(now), c.Algorithm.Code
	if sl.own, sl.seated = find(sl.page, sl.hash, code, ms); !sl.seated && len(sl.page) > 1 {
		sl.shared, sl.sharing = find(sl.page, s.class(c), code|sharedBit, ms)
	}
	return true
}

// class tells apart the keys that may share a counter: of those the state means
// the same.
func (s *Store) class(c *Counter) uint64 {
	p := c.Params
	b := append(s.text[:0], c.Algorithm.Code)
	numbers := [...]int64{p.WindowMS, p.HoldMS, p.WaitMS, 0, 0, 0}
	if c.Algorithm == limit.TokenBucket || c.Algorithm == limit.LeakyBucket {
		numbers[3], numbers[4], numbers[5] = p.Limit, p.Burst, c.Gateways
	}
	for _, n := range numbers {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
	if q := p.Calendar; q != nil {
		b = append(b, byte(q.Unit), byte(q.WeekStarts))
		b = binary.LittleEndian.AppendUint64(b, uint64(q.DayStarts))
		if q.Zone != nil {
			b = append(b, q.Zone.Name...)
		}
	}
	s.text = b
	return hash(&s.seed, b)
}

// open makes s.share the counter: its own, or a copy of what keys without a seat
// share, or a new one. False: its algorithm can't be shared.
func (s *Store) open(c *Counter, sl *slot) bool {
	var state []byte
	switch {
	case sl.seated:
		state = sl.own.state
	case sl.sharing:
		state = sl.shared.state
	}
	sl.fit = s.share.Open(c.Algorithm, c.Params, c.Gateways, state)
	if !sl.fit && state != nil {
		s.Stats.Corrupt++
		sl.fit = s.share.Open(c.Algorithm, c.Params, c.Gateways, nil)
	}
	return sl.fit
}

// commit changes a counter that was loaded. It reads anew and repeats when
// another worker was faster; opTake then looks again, and reports false, with
// the counter's Decision set, where there is no room any more. since is when
// what opGive returns was charged.
func (s *Store) commit(now, since int64, c *Counter, sl *slot, what op) bool {
	for try := range tries {
		if try > 0 {
			s.Stats.Conflicts++
			if !s.load(now, c, sl) {
				break
			}
		}
		if !s.open(c, sl) {
			break
		}
		delta := int64(0)
		switch what {
		case opTake, opCharge:
			if what == opTake && try > 0 {
				if d := s.share.Look(now, c.Cost); !d.Admitted {
					c.Decision = d
					return false
				}
			}
			delta = min(max(c.Cost, 0), maxUnits)
			sl.after = s.share.Take(now, c.Cost)
		case opRefuse:
			delta = min(c.Cost, maxUnits)
			sl.after = s.share.Refuse(now, c.Cost)
		case opGive:
			if !sl.seated && !sl.sharing {
				sl.after = s.share.Look(now, 0)
				return true
			}
			before := s.share.Look(now, 0).Current
			sl.after = s.share.GiveFrom(now, since, c.Cost, c.Was)
			// What the state no longer holds has no part in the account either.
			delta = -min(max(before-sl.after.Current, 0), sl.units)
			sl.had = min(sl.pending(), -delta)
		case opSave:
			sl.after = s.share.Look(now, c.Cost)
		}
		page, added, full := s.write(now, c, sl, delta, what)
		if full {
			s.Stats.Full++
			c.Decision = unanswered
			return false
		}
		if s.put(sl.index, page, sl.cas) {
			s.written(sl, delta, added)
			return true
		}
	}
	s.Stats.GaveUp++
	sl.fit, sl.dirty = false, false
	c.Decision = unanswered
	return false
}
