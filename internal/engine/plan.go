package engine

import (
	"bytes"

	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/override"
	"sluice/internal/source"
)

// Plan is what a request asks of Redis: every counter that it meets, in the
// configuration's order. It is reused from request to request.
type Plan struct {
	Charges []Charge
	// Missing is the limit that refuses the request because a part of its key
	// is absent; nil for none. Charges are then empty.
	Missing *config.Limit
	// OddCosts counts costs that weren't whole numbers and so count 1.
	OddCosts int
	// Settles reports that the answer has a say in some charge.
	Settles bool
	// Override is a run-time override that had a word; nil for none. Block is the
	// one that refuses the request: its limit's is then the only charge, which no
	// command is made of.
	Override, Block *Override
	// Pools reports that some charge is a pool's.
	Pools bool
	// BodyBytes reports that some charge waits for the request body's length.
	BodyBytes bool

	keys    []byte // arena of the charges' keys
	turn    uint32 // which of a key's counters is asked first
	divided bool   // no one call decides it; see Split
	places  []int  // of a Split's part: where each charge is in the whole plan
}

// Key returns a charge's key in Redis. It is valid until the plan is made anew.
func (p *Plan) Key(i int) []byte {
	c := &p.Charges[i]
	return p.keys[c.keyStart:c.keyEnd]
}

// reset empties the plan and keeps its memory.
func (p *Plan) reset() {
	*p = Plan{Charges: p.Charges[:0], keys: p.keys[:0], places: p.places[:0]}
}

// Plan fills p with the counters that the request meets.
func (e *Engine) Plan(v *source.View, p *Plan) { e.plan(v, p, 0) }

// plan is Plan; turn says which of a key's counters is asked where there are
// several.
func (e *Engine) plan(v *source.View, p *Plan, turn uint32) {
	p.reset()
	p.turn = turn
	e.policy.Match(v, func(l *config.Limit) bool {
		return e.add(v, p, l)
	})
	if p.Missing != nil {
		p.Charges = p.Charges[:0]
	}
}

// add appends a limit's counters; false ends the plan.
func (e *Engine) add(v *source.View, p *Plan, l *config.Limit) bool {
	va := l.Variant(v)
	if e.overrides != nil {
		if o := e.overrides.limits[l.Index]; o != nil {
			return e.addOverridden(v, p, l, va, o)
		}
	}
	return e.addVariant(v, p, l, va, nil)
}

// addOverridden appends the counters of a limit that has overrides at run time,
// which win over those of the configuration.
func (e *Engine) addOverridden(v *source.View, p *Plan, l *config.Limit, va *config.Variant, of *ofLimit) bool {
	start := len(p.keys)
	var missing bool
	p.keys, missing = l.Key.Append(p.keys, v)
	o := of.find(p.keys[start:])
	p.keys = p.keys[:start]
	if o == nil || missing && l.Missing != config.MissingShare {
		return e.addVariant(v, p, l, va, nil)
	}
	p.Override = o
	own := *va
	switch o.Entry.Kind {
	case override.Unlimited:
		return true
	case override.Block:
		p.Block = o
		p.Charges = append(p.Charges[:0], Charge{Limit: l, Rate: &l.Rates[0], Op: OpDecide})
		return false
	case override.Shadow:
		own.Shadow = true
	default:
		if o.rates != nil {
			own.Rates, own.Unlimited = o.rates, false
		}
	}
	return e.addVariant(v, p, l, &own, o)
}

// addVariant appends the counters of what a limit enforces for the request. o is
// its override at run time, nil for none.
func (e *Engine) addVariant(v *source.View, p *Plan, l *config.Limit, va *config.Variant, o *Override) bool {
	if va.Unlimited {
		return true
	}
	c := &l.Cost
	if va.Cost != nil {
		c = va.Cost
	}
	cost, ok := p.cost(v, c)
	if !ok {
		p.OddCosts++
	}
	for i := range va.Rates {
		r := &va.Rates[i]
		if l.RateFrom != nil && r == &l.Rates[0] {
			r = ownRate(v, l)
		}
		if o != nil && o.windows[r.Name] != nil {
			r = o.windows[r.Name]
		}
		p.Pools = p.Pools || r.Pool
		start := len(p.keys)
		var values int
		var missing bool
		p.keys, values, missing = l.AppendKey(p.keys, r, v)
		counter := len(p.keys) - len(r.KeyTail)
		if missing && l.Missing != config.MissingShare {
			p.keys = p.keys[:start]
			if l.Missing == config.MissingDeny {
				p.Missing = l
				return false
			}
			return true
		}
		op := OpDecide
		if va.Shadow || l.Tag != nil || !l.Enforced(p.keys[values:counter]) {
			op = OpShadow
		}
		if l.CountRejected {
			op += OpDecideCount - OpDecide
		}
		if p.has(start) {
			p.keys = p.keys[:start]
			continue
		}
		p.Charges = append(p.Charges, Charge{Limit: l, Rate: r, Op: op, Cost: cost, keyStart: start, keyEnd: len(p.keys)})
		if n := len(r.Shards); n > 1 {
			p.choose(&p.Charges[len(p.Charges)-1], int(p.turn%uint32(n)))
		}
		if l.PenaltyUS > 0 {
			p.guard(start, counter)
		}
	}
	p.Settles = p.Settles || l.Settle != nil || p.BodyBytes || l.Algorithm.Holds
	return true
}

// guard adds the counter that keeps the last charge's penalty: it shares the
// charge's key from start to counter.
func (p *Plan) guard(start, counter int) {
	c := p.Charges[len(p.Charges)-1]
	if c.Op == OpDecideCount || c.Op == OpShadowCount {
		c.Op -= OpDecideCount - OpDecide
	}
	c.Cost, c.Guards = 0, len(p.Charges)
	c.keyStart = len(p.keys)
	p.keys = append(p.keys, p.keys[start:counter]...)
	if c.Limit.HashTag == nil {
		p.keys = append(p.keys, '}')
	}
	p.keys = append(p.keys, ':')
	p.keys = append(p.keys, limit.Penalty.Suffix...)
	c.keyEnd = len(p.keys)
	p.Charges = append(p.Charges, c)
}

// cost is what the request costs as far as its headers tell; false when they
// should and don't.
func (p *Plan) cost(v *source.View, c *config.Cost) (int64, bool) {
	if !c.BodyBytes {
		cost, odd := c.Of(v)
		return cost, !odd
	}
	if text, ok := v.Header("content-length"); ok {
		if n, ok := config.ParseUnits(text); ok {
			return n, true
		}
	}
	// Of unknown length: looks for room now, and is charged what passed.
	p.BodyBytes = true
	return 0, true
}

// ownRate is the rate that the request carries, or the default.
func ownRate(v *source.View, l *config.Limit) *config.Rate {
	r := l.RateFrom.Of(v)
	if r.ID >= 0 {
		return &l.Rates[0]
	}
	own := r
	return &own
}

// has reports whether the key that starts at start is in the plan already: one
// call never names a counter twice.
func (p *Plan) has(start int) bool {
	k := p.keys[start:]
	for i := range p.Charges {
		if bytes.Equal(p.Key(i), k) {
			return true
		}
	}
	return false
}
