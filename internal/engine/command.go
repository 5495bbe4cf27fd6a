package engine

import (
	"sluice/internal/call"
	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/redisproto"
)

// Ask puts what the plan asks of the script into r. requestID tells hits apart in
// storages that keep each; now is the gateway's time in microseconds, which may be
// 0 unless NeedsNow, or negative when Redis is to use its own clock whatever the
// policy says.
func (e *Engine) Ask(r *call.Request, p *Plan, requestID []byte, now int64) {
	r.Begin(e.call, requestID)
	r.Clock = e.clock(now)
	now = max(now, -now)
	for i := range p.Charges {
		c := &p.Charges[i]
		r.Key(p.Key(i))
		e.addArgs(r, c, now)
		if c.Op == OpUndo {
			r.Number(c.since)
			r.Number(max(c.Result.Current, 0))
		}
	}
}

// AppendCommand appends the script call that asks for the plan alone; the
// arguments are as of Ask. full sends the script itself, for a Redis that lacks it.
func (e *Engine) AppendCommand(dst []byte, p *Plan, requestID []byte, now int64, full bool) []byte {
	var r call.Request
	e.Ask(&r, p, requestID, now)
	return r.AppendCall(dst, full)
}

// clock is the time that the script takes for now: below 0 for Redis's own.
func (e *Engine) clock(now int64) int64 {
	if e.policy.Clock == config.ClockGateway && now >= 0 {
		return now
	}
	return -1
}

// addArgs adds one counter's arguments: algorithm, op, cost, numbers.
func (e *Engine) addArgs(r *call.Request, c *Charge, now int64) {
	if c.Guards > 0 {
		r.Encoded(e.guard, 1)
		r.Number(int64(c.Op))
		r.Number(c.Cost)
		var room [2]int64
		addNumbers(r, limit.PenaltyArgs(room[:0], c.Limit.PenaltyUS/1000, int64(c.Guards)))
		return
	}
	var s *encodedRate
	if c.Rate.ID >= 0 {
		s = e.encoded(c.Rate.ID)
		if s.usual != nil && c.Op == OpDecide && c.Cost == 1 {
			r.Encoded(s.usual, 3+s.n)
			return
		}
		r.Encoded(s.index, 1)
	} else { // the request's own rate
		r.Number(int64(e.script.Index(c.Limit.Algorithm.Script)))
	}
	r.Number(int64(c.Op))
	r.Number(c.Cost)
	switch {
	case s != nil && s.shards != nil:
		r.Encoded(s.shards[c.shard], s.n)
	case s != nil && s.numbers != nil:
		r.Encoded(s.numbers, s.n)
	default:
		var room [16]int64
		addNumbers(r, c.Algorithm().Args(room[:0], c.Params(), now))
	}
}

func addNumbers(r *call.Request, numbers []int64) {
	for _, n := range numbers {
		r.Number(n)
	}
}

func appendNumbers(dst []byte, numbers []int64) []byte {
	for _, n := range numbers {
		dst = redisproto.AppendBulkInt(dst, n)
	}
	return dst
}

// AppendCharge appends a script call that charges units to one counter, room or
// not. args are the algorithm's arguments.
func (e *Engine) AppendCharge(dst []byte, a *limit.Algorithm, key []byte, args []int64, units int64, requestID []byte, now int64, full bool) []byte {
	var r call.Request
	r.Begin(e.call, requestID)
	r.Clock = e.clock(now)
	r.Key(key)
	r.Number(int64(e.script.Index(a.Script)))
	r.Number(int64(OpCharge))
	r.Number(units)
	addNumbers(&r, args)
	return r.AppendCall(dst, full)
}
