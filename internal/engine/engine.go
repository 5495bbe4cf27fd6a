// Package engine makes the decision: which limits a request meets, the one
// script call that asks Redis about all of them, and what its reply means. It
// has no clock and does no I/O: time and replies come in, steps come out, so
// the plugin, explain and the simulator run the same code.
package engine

import (
	"sluice/internal/call"
	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/lua"
	"sluice/redisproto"
)

// Engine decides by one policy. It is immutable and may be shared.
type Engine struct {
	policy *config.Policy
	script lua.Script
	call   *call.Script // script, for calls
	guard  []byte       // the penalty's index in the script, encoded
	// needsNow says that some limit's numbers depend on the gateway's time.
	needsNow bool
	// divides says that one call may not decide a whole request.
	divides bool
	// static holds, by Rate.ID, what a rate's arguments look like on the wire,
	// so that a request only copies them.
	static []encodedRate
	names  []string // of the script's algorithms

	overrides *overrides    // at run time; nil for none
	extraFrom int           // ID of the first of their rates
	extra     []encodedRate // as static, by ID - extraFrom
}

// encodedRate is a rate's share of the arguments: the algorithm's index before
// the op and cost, and its numbers after them.
type encodedRate struct {
	index   []byte
	numbers []byte   // nil when they depend on the time
	shards  [][]byte // numbers, by shard, where a key has several counters
	n       int      // how many numbers
	// usual is all of it for what nearly every request asks: a decision at a cost of
	// 1. nil where the numbers aren't the same for each.
	usual []byte
}

// New compiles a policy: the script holds just the algorithms that it uses.
func New(p *config.Policy) *Engine {
	var names []string
	divides := p.Redis.Topology == config.RedisCluster
	for _, l := range p.Limits {
		divides = divides || l.Hot != nil && l.Hot.Local != nil
		if l.Scope == config.ScopeGateway {
			divides = true
			continue
		}
		names = append(names, l.Algorithm.Script)
		if l.PenaltyUS > 0 {
			names = append(names, limit.Penalty.Script)
		}
	}
	e := &Engine{policy: p, script: lua.Compose(names...), names: names, divides: divides}
	e.call = call.NewScript(e.script.Source, e.script.SHA)
	e.guard = redisproto.AppendBulkInt(nil, int64(e.script.Index(limit.Penalty.Script)))
	p.EachRate(e.encode)
	return e
}

// encode prepares what a rate looks like on the wire.
func (e *Engine) encode(l *config.Limit, r *config.Rate) {
	for len(e.static) <= r.ID {
		e.static = append(e.static, encodedRate{})
	}
	e.needsNow = e.needsNow || r.Params.Calendar != nil
	e.static[r.ID] = e.encoding(l, r)
}

// encoding is what a rate looks like on the wire.
func (e *Engine) encoding(l *config.Limit, r *config.Rate) encodedRate {
	a := rateAlgorithm(l, r)
	s := encodedRate{index: redisproto.AppendBulkInt(nil, int64(e.script.Index(a.Script)))}
	if r.Params.Calendar != nil {
		return s
	}
	numbers := a.Args(nil, r.Enforced(), 0)
	s.numbers, s.n = appendNumbers(nil, numbers), len(numbers)
	if len(r.Shards) == 0 {
		s.usual = appendNumbers(append([]byte(nil), s.index...), append([]int64{int64(OpDecide), 1}, numbers...))
	}
	for i := range r.Shards {
		s.shards = append(s.shards, appendNumbers(nil, a.Args(nil, &r.Shards[i], 0)))
	}
	return s
}

// encoded is encoding for a rate with an ID.
func (e *Engine) encoded(id int) *encodedRate {
	if id < len(e.static) {
		return &e.static[id]
	}
	return &e.extra[id-e.extraFrom]
}

// NumRates is how many rates have an ID.
func (e *Engine) NumRates() int { return len(e.static) }

// rateAlgorithm is how a rate of a limit is counted.
func rateAlgorithm(l *config.Limit, r *config.Rate) *limit.Algorithm {
	if r.Pool {
		return limit.Pool
	}
	return l.Algorithm
}

// Policy returns what the engine decides by.
func (e *Engine) Policy() *config.Policy { return e.policy }

// NeedsNow reports whether AppendCommand must be told the gateway's time.
func (e *Engine) NeedsNow() bool { return e.needsNow || e.policy.Clock == config.ClockGateway }

// Script returns the script that the policy needs.
func (e *Engine) Script() *lua.Script { return &e.script }

// Op says what a script call does with one counter.
type Op int64

const (
	OpDecide      Op = lua.OpDecide // votes, and is charged when every voter admits
	OpShadow      Op = lua.OpShadow // counts what the voters admit, never votes
	OpCharge      Op = lua.OpCharge // charged without a vote
	OpRefund      Op = lua.OpRefund // gives units back
	OpDecideCount Op = lua.OpDecideCount
	OpShadowCount Op = lua.OpShadowCount
	OpUndo        Op = lua.OpUndo // gives back what an earlier call charged, and only that
)

// Votes reports whether the counter can reject the request.
func (o Op) Votes() bool { return o == OpDecide || o == OpDecideCount }

// Charge is one counter that a request meets.
type Charge struct {
	Limit *config.Limit
	Rate  *config.Rate // what holds for this request, overrides applied
	Op    Op
	Cost  int64
	// Guards is the place in the plan, from 1, of the charge whose penalty this
	// one keeps; 0 for a limit's own counter.
	Guards int
	// Undecided charges let the request through without a word of their counter.
	Undecided bool
	// Local charges are decided by this gateway for now, although Redis counts
	// them otherwise.
	Local  bool
	Result limit.Decision // set by the reply

	keyStart, keyEnd int
	slot             uint16 // hash slot of the key, where there are any
	since            int64  // OpUndo: when the call was made that is undone, us
	shard            int    // which of the key's counters it asks, where there are several
	tried            uint32 // those of them that refused it, a bit each
	waitMS           int64  // until the first of these has room, or limit.Never
}

// Algorithm is how the charge's counter counts.
func (c *Charge) Algorithm() *limit.Algorithm {
	if c.Guards > 0 {
		return limit.Penalty
	}
	return rateAlgorithm(c.Limit, c.Rate)
}

// PenaltyParams are the numbers of a guard's counter.
func (c *Charge) PenaltyParams() *limit.Params {
	return &limit.Params{Limit: int64(c.Guards), WindowMS: c.Limit.PenaltyUS / 1000}
}

// Shown reports whether answers' headers tell of the charge.
func (c *Charge) Shown() bool {
	return c.Op.Votes() && c.Guards == 0 && !c.Undecided && !c.Limit.HideHeaders
}

// Tags reports whether the charge's limit marks the request instead of
// rejecting it.
func (c *Charge) Tags() bool { return c.Limit.Tag != nil && !c.Result.Admitted }
