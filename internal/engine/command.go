package engine

import (
	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/redisproto"
)

// AppendCommand appends the plan's one script call. requestID tells hits apart
// in storages that keep each; now is the gateway's time in microseconds, which
// may be 0 unless NeedsNow, or negative when Redis is to use its own clock
// whatever the policy says. full sends the script itself, for a Redis that lacks
// it.
func (e *Engine) AppendCommand(dst []byte, p *Plan, requestID []byte, now int64, full bool) []byte {
	n := len(p.Charges)
	args := 3 + n + 2
	for i := range p.Charges {
		args += 3 + p.Charges[i].nargs()
		if p.Charges[i].Op == OpUndo {
			args += 2
		}
	}
	dst = redisproto.AppendArray(dst, args)
	if full {
		dst = redisproto.AppendBulkString(dst, "EVAL")
		dst = redisproto.AppendBulkString(dst, e.script.Source)
	} else {
		dst = redisproto.AppendBulkString(dst, "EVALSHA")
		dst = redisproto.AppendBulkString(dst, e.script.SHA)
	}
	dst = redisproto.AppendBulkInt(dst, int64(n))
	for i := range p.Charges {
		dst = redisproto.AppendBulk(dst, p.Key(i))
	}
	dst = e.appendClock(dst, now)
	dst = redisproto.AppendBulk(dst, requestID)
	for i := range p.Charges {
		c := &p.Charges[i]
		dst = e.appendArgs(dst, c, max(now, -now))
		if c.Op == OpUndo {
			dst = redisproto.AppendBulkInt(dst, c.since)
			dst = redisproto.AppendBulkInt(dst, max(c.Result.Current, 0))
		}
	}
	return dst
}

// appendClock appends the time that the script takes for now.
func (e *Engine) appendClock(dst []byte, now int64) []byte {
	if e.policy.Clock == config.ClockGateway && now >= 0 {
		return redisproto.AppendBulkInt(dst, now)
	}
	return redisproto.AppendBulkString(dst, "")
}

// appendArgs appends one counter's arguments: algorithm, op, cost, numbers.
func (e *Engine) appendArgs(dst []byte, c *Charge, now int64) []byte {
	if c.Guards > 0 {
		dst = append(dst, e.guard...)
		dst = redisproto.AppendBulkInt(dst, int64(c.Op))
		dst = redisproto.AppendBulkInt(dst, c.Cost)
		var room [2]int64
		return appendNumbers(dst, limit.PenaltyArgs(room[:0], c.Limit.PenaltyUS/1000, int64(c.Guards)))
	}
	var s encodedRate
	if c.Rate.ID >= 0 {
		s = e.encoded(c.Rate.ID)
		dst = append(dst, s.index...)
	} else { // the request's own rate
		dst = redisproto.AppendBulkInt(dst, int64(e.script.Index(c.Limit.Algorithm.Script)))
	}
	dst = redisproto.AppendBulkInt(dst, int64(c.Op))
	dst = redisproto.AppendBulkInt(dst, c.Cost)
	if s.shards != nil {
		return append(dst, s.shards[c.shard]...)
	}
	if s.numbers != nil {
		return append(dst, s.numbers...)
	}
	var room [16]int64
	return appendNumbers(dst, c.Algorithm().Args(room[:0], c.Params(), now))
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
	dst = redisproto.AppendArray(dst, 3+1+2+3+len(args))
	if full {
		dst = redisproto.AppendBulkString(dst, "EVAL")
		dst = redisproto.AppendBulkString(dst, e.script.Source)
	} else {
		dst = redisproto.AppendBulkString(dst, "EVALSHA")
		dst = redisproto.AppendBulkString(dst, e.script.SHA)
	}
	dst = redisproto.AppendBulkInt(dst, 1)
	dst = redisproto.AppendBulk(dst, key)
	dst = e.appendClock(dst, now)
	dst = redisproto.AppendBulk(dst, requestID)
	dst = redisproto.AppendBulkInt(dst, int64(e.script.Index(a.Script)))
	dst = redisproto.AppendBulkInt(dst, int64(OpCharge))
	dst = redisproto.AppendBulkInt(dst, units)
	return appendNumbers(dst, args)
}
