package explain

import (
	"context"
	"strconv"

	"sluice/internal/engine"
	"sluice/internal/limit"
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

// Ask asks Redis what the request would be told now, without charging it. Keys
// of one cluster slot go in one call, as the plugin's do; cluster says that there
// are several slots.
func (x *Explanation) Ask(ctx context.Context, r *look.Reader, cluster bool) error {
	if x.Call == nil {
		return nil
	}
	n := len(x.Call.Keys)
	results, states := make([]limit.Decision, n), make([]limit.Decision, n)
	at, admitted := int64(0), true
	for _, group := range x.groups(cluster) {
		counters := make([]look.Counter, len(group))
		place := map[int]int{} // in the group, from 1, of a place in the plan
		for j, i := range group {
			place[i+1] = j + 1
			counters[j] = x.lookCounter(i)
			if g := x.decision.Plan.Charges[i].Guards; g > 0 {
				counters[j].Args[1] = int64(place[g])
			}
		}
		v, err := r.Decide(ctx, x.Call.Common[0].Value, RequestID, counters)
		if err != nil {
			return err
		}
		at = max(at, v.AtUS)
		admitted = admitted && v.Admitted
		for j, i := range group {
			results[i], states[i] = v.Counters[j], v.States[j]
		}
	}
	x.verdict(at, admitted, results)
	for i, s := range states {
		c := LiveCounter{
			Name: x.decision.Plan.Charges[i].Rate.Name, Key: x.Call.Keys[i],
			Current: s.Current, Remaining: s.Remaining, ResetMS: s.ResetMS, Rejects: !results[i].Admitted,
		}
		if c.Rejects {
			c.RetryAfterMS = results[i].RetryAfterMS
		}
		x.Live.Counters = append(x.Live.Counters, c)
	}
	return nil
}

// groups are the places in the plan that go into one call each.
func (x *Explanation) groups(cluster bool) [][]int {
	var out [][]int
	at := map[string]int{}
	for i, key := range x.Call.Keys {
		tag := ""
		if cluster {
			tag = look.Tag(key)
		}
		g, ok := at[tag]
		if !ok {
			g = len(out)
			at[tag] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	return out
}

// lookCounter is a counter as the plugin's call names it.
func (x *Explanation) lookCounter(i int) look.Counter {
	row := x.Call.Counters[i]
	c := look.Counter{Key: x.Call.Keys[i], Algorithm: x.decision.Plan.Charges[i].Algorithm()}
	c.Op = numeral(row[1].Value)
	c.Cost = numeral(row[2].Value)
	for _, a := range row[3:] {
		c.Args = append(c.Args, numeral(a.Value))
	}
	return c
}

func numeral(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0 // the engine writes whole numbers only
	}
	return n
}

// verdict has the engine read the reply.
func (x *Explanation) verdict(at int64, admitted bool, results []limit.Decision) {
	num := func(n int64) redisproto.Value { return redisproto.Value{Kind: redisproto.Integer, Int: n} }
	flag := func(b bool) redisproto.Value {
		if b {
			return num(1)
		}
		return num(0)
	}
	reply := redisproto.Value{Kind: redisproto.Array, Elems: []redisproto.Value{num(at), flag(admitted)}}
	for _, d := range results {
		reply.Elems = append(reply.Elems, flag(d.Admitted), num(d.Current), num(d.Remaining), num(d.ResetMS), num(d.RetryAfterMS))
	}
	x.decision.Reply(reply)
	v := &x.decision.Verdict
	x.Live = &Live{AtUS: at, Outcome: v.Outcome.String(), WaitingHelps: true, DelayMS: v.DelayMS}
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
