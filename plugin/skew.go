package plugin

import (
	"strconv"

	"sluice/internal/config"
	"sluice/internal/host"
)

const (
	// maxSkewUS is how far the gateway's clock may be from Redis's where limits are
	// counted by it.
	maxSkewUS = 1_000_000
	// goodPolls is how many measurements in a row end degraded mode.
	goodPolls = 2
)

// skew follows how far the gateway's clock is from Redis's. With clock: gateway,
// one that is too far off is degraded: it no longer sends its own time but
// Redis's, as it was measured and goes on by the steady clock, which nobody sets.
type skew struct {
	degraded bool
	good     int  // measurements in a row that were within bounds
	unknown  bool // Redis doesn't tell its time
}

// measure compares the clocks after a poll.
func (c *control) measure(steady int64) {
	off := c.w.host.Now() - steady - c.offset
	c.w.metrics.clockSkew.record(uint64(max(off, -off) / 1000))
	if c.w.policy.Clock != config.ClockGateway {
		return
	}
	switch s := &c.skew; {
	case max(off, -off) > maxSkewUS:
		s.good = 0
		c.degrade(off)
	case s.degraded:
		if s.good++; s.good >= goodPolls {
			s.degraded = false
			c.say(host.Info, "sluice: this gateway's clock agrees with Redis's again: limits are counted by it")
		}
	}
}

func (c *control) degrade(off int64) {
	if c.skew.degraded {
		return
	}
	c.skew.degraded, c.skew.good = true, 0
	c.say(host.Warn, "sluice: this gateway's clock is "+strconv.FormatInt(off/1000, 10)+" ms off Redis's: degraded, limits are counted by Redis's clock until it is right")
}

// say logs a change of the degraded state: of all workers the first that notices.
func (c *control) say(l host.Level, line string) {
	h := c.w.host
	state := []byte{0}
	if c.skew.degraded {
		state[0] = 1
	}
	v, cas, s := h.SharedData(c.names[controlDegraded])
	if s != host.OK {
		cas, v = createOnly, []byte{0}
	}
	if len(v) == 1 && v[0] == state[0] {
		return
	}
	if h.SetSharedData(c.names[controlDegraded], state, cas) == host.OK {
		h.Log(l, line)
	}
}

// callTime is the time that a call to Redis takes for now, us since the epoch:
// the gateway's, or when that is known to be wrong, Redis's. Negative is a time
// that nobody has compared yet, with which Redis is to use its own.
func (c *control) callTime() int64 {
	h := c.w.host
	wall := h.Now()
	if c.w.policy.Clock != config.ClockGateway || c.skew.unknown {
		return wall
	}
	if !c.measured {
		return -wall
	}
	server := h.Steady() + c.offset
	if off := wall - server; max(off, -off) > maxSkewUS {
		c.skew.good = 0
		c.degrade(off) // the clock was set since the last poll
	}
	if c.skew.degraded {
		return server
	}
	return wall
}
