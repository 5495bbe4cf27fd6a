package engine

import "sluice/internal/config"

// Slow says whether Redis is too slow for a limit with hot.local: it trips when
// round trips take longer than one threshold for some time, and recovers when
// they take less than another for some time. Times are microseconds of a steady
// clock. The zero value has not tripped.
type Slow struct {
	tripped bool
	since   int64 // when round trips began to be beyond the threshold
	running bool  // since counts
}

// Tripped reports whether Redis is too slow.
func (s *Slow) Tripped() bool { return s.tripped }

// Note takes a round trip that ended now, and reports whether Tripped changed. One
// that took longer than from its start to its deadline counts as long as that.
func (s *Slow) Note(h *config.HotLocal, now, rtt int64) (changed bool) {
	beyond, span := rtt > h.Trip.RTTUS, h.Trip.ForUS
	if s.tripped {
		beyond, span = rtt < h.Recover.RTTUS, h.Recover.ForUS
	}
	if !beyond {
		s.running = false
		return false
	}
	if !s.running {
		// It was so from the call's start on, where that is what took long.
		s.since, s.running = now, true
		if !s.tripped {
			s.since = now - rtt
		}
	}
	if now-s.since < span {
		return false
	}
	s.tripped, s.running = !s.tripped, false
	return true
}

// Lost takes a probe that wasn't answered: Redis isn't quick.
func (s *Slow) Lost() {
	if s.tripped {
		s.running = false
	}
}

// Slot is the hash slot of the charge's counter; 0 where there are no slots.
func (c *Charge) Slot() uint16 { return c.slot }

// Probe makes d the call that shows how quick Redis is for a charge of another
// decision: it looks at the counter and changes nothing.
func (d *Decision) Probe(from *Decision, i int) {
	d.become(from)
	d.Plan.take(&from.Plan, i)
	c := &d.Plan.Charges[0]
	c.Op, c.Cost, c.Guards, c.Local = OpShadow, 0, 0, false
}
