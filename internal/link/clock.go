package link

// clock makes a steady time out of one that may be set back: no time passes
// while it is. A gateway's clock that steps back an hour must not hold requests
// for that hour.
type clock struct {
	last  int64
	ahead int64 // how far this clock is ahead of the caller's
}

// setBack tells a clock that was set back from a caller whose idea of now is a
// little old, µs.
const setBack = 100_000

// read turns the caller's time into a steady one.
func (c *clock) read(now int64) int64 {
	now += c.ahead
	if behind := c.last - now; behind > 0 {
		if behind > setBack {
			c.ahead += behind
		}
		return c.last
	}
	c.last = now
	return now
}

// convert turns a time that lies ahead into one of this clock.
func (c *clock) convert(t int64) int64 {
	if t > forever-c.ahead {
		return forever
	}
	return t + c.ahead
}
