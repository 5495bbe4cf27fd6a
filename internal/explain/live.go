package explain

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"sluice/internal/engine"
	"sluice/internal/look"
	"sluice/redisproto"
)

// Live is what Redis says now: nothing was charged to find out.
type Live struct {
	AtUS    int64  `json:"at_us"`   // Redis's time, microseconds since the epoch
	Outcome string `json:"outcome"` // what the request would be told
	// Limit is the one that rejects, or that is closest to it.
	Limit string `json:"limit,omitempty"`
	// RetryAfter is the answer's Retry-After, seconds; absent on a request that
	// is admitted, and where waiting doesn't help.
	RetryAfter int64 `json:"retry_after_seconds,omitempty"`
	// WaitingHelps is false for a rejection that no wait ends.
	WaitingHelps bool          `json:"waiting_helps"`
	DelayMS      int64         `json:"delay_ms,omitempty"` // a queue would hold it so long
	Counters     []LiveCounter `json:"counters"`           // as the calls' keys
}

// LiveCounter is a counter as it stands.
type LiveCounter struct {
	Name         string `json:"name"`
	Key          string `json:"key"`
	Current      int64  `json:"current"`
	Remaining    int64  `json:"remaining"`
	ResetMS      int64  `json:"reset_ms"`
	Rejects      bool   `json:"rejects"` // this request, by itself
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
}

// errTopology is a cluster that the configuration takes for one server.
var errTopology = errors.New("the request's keys lie in several hash slots of this Redis Cluster, and the configuration lacks redis.topology: cluster, so that the gateways' calls fail, too: set it, or give the limits a hash_tag")

// Ask asks Redis what the request would be told now, without charging it, in the
// plugin's own calls. What gateways count by themselves is taken to have room.
// cluster says that this Redis is a cluster, whatever the configuration thinks.
func (x *Explanation) Ask(ctx context.Context, r *look.Reader, cluster bool) error {
	if x.BlockedBy != "" {
		x.blocked()
		return nil
	}
	if len(x.Calls) == 0 {
		return nil
	}
	var counters []LiveCounter
	for _, c := range x.Calls {
		if cluster && c.Slot == nil && c.spread() {
			return errTopology
		}
		v, err := r.Decide(ctx, c.Common[0].Value, RequestID, c.looks())
		if err != nil {
			return err
		}
		c.decision.Reply(reply(&v))
		for i, s := range v.States {
			l := LiveCounter{
				Name: c.decision.Plan.Charges[i].Rate.Name, Key: c.Keys[i],
				Current: s.Current, Remaining: s.Remaining, ResetMS: s.ResetMS, Rejects: !v.Counters[i].Admitted,
			}
			if l.Rejects {
				l.RetryAfterMS = v.Counters[i].RetryAfterMS
			}
			counters = append(counters, l)
		}
	}
	if x.split != nil {
		x.split.Conclude()
	}
	x.verdict()
	x.Live.Counters = counters
	return nil
}

// blocked is what an override's block says, which needs no call.
func (x *Explanation) blocked() {
	x.decision.BlockedAt(x.nowUS)
	x.verdict()
	x.Live.Limit = x.BlockedBy
}

// spread reports whether the call's keys have several hash tags.
func (c *Call) spread() bool {
	return slices.ContainsFunc(c.Keys, func(k string) bool { return look.Tag(k) != look.Tag(c.Keys[0]) })
}

// looks are the call's counters.
func (c *Call) looks() []look.Counter {
	out := make([]look.Counter, len(c.Keys))
	for i, row := range c.Counters {
		out[i] = look.Counter{
			Key: c.Keys[i], Algorithm: c.decision.Plan.Charges[i].Algorithm(),
			Op: numeral(row[1].Value), Cost: numeral(row[2].Value),
		}
		for _, a := range row[3:] {
			out[i].Args = append(out[i].Args, numeral(a.Value))
		}
	}
	return out
}

func numeral(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // the engine writes whole numbers only
	}
	return n
}

// reply is what the script answered, as the engine reads it.
func reply(v *look.Verdict) redisproto.Value {
	num := func(n int64) redisproto.Value { return redisproto.Value{Kind: redisproto.Integer, Int: n} }
	flag := func(b bool) redisproto.Value {
		if b {
			return num(1)
		}
		return num(0)
	}
	out := redisproto.Value{Kind: redisproto.Array, Elems: []redisproto.Value{num(v.AtUS), flag(v.Admitted)}}
	for _, d := range v.Counters {
		out.Elems = append(out.Elems, flag(d.Admitted), num(d.Current), num(d.Remaining), num(d.ResetMS), num(d.RetryAfterMS))
	}
	return out
}

// verdict is the engine's.
func (x *Explanation) verdict() {
	v := &x.decision.Verdict
	x.Live = &Live{AtUS: v.AtUS, Outcome: v.Outcome.String(), WaitingHelps: true, DelayMS: v.DelayMS}
	if v.Closest >= 0 {
		x.Live.Limit = x.decision.Plan.Charges[v.Closest].Limit.Name
	}
	if v.Outcome == engine.Rejected {
		x.Live.RetryAfter = RetryAfterSeconds(v.RetryAfterMS)
		if x.Live.RetryAfter < 0 {
			x.Live.RetryAfter, x.Live.WaitingHelps = 0, false
		}
	}
}
