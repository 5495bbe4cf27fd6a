package simulate

import (
	"sluice/internal/engine"
	"sluice/internal/limit"
	"sluice/redisproto"
)

// models decides by the algorithms' models, without Redis.
type models struct {
	counters map[string]*counter
	done     []*pending
	handed   []*pending
	asked    []*counter
	looks    []limit.Decision
	reply    []redisproto.Value
	id       []byte
}

// counter is the model of one key.
type counter struct {
	model  limit.Model
	params limit.Params
}

func newModels() *models { return &models{counters: map[string]*counter{}} }

func (*models) flush() error { return nil }

func (*models) close() error { return nil }

func (m *models) take() []*pending {
	m.handed, m.done = m.done, m.handed[:0]
	return m.handed
}

// decide does what the scripts' driver does: it looks at every counter before it
// charges any.
func (m *models) decide(p *pending) error {
	charges := p.dec.Plan.Charges
	m.asked, m.looks = m.asked[:0], m.looks[:0]
	m.id = p.requestID(m.id[:0])
	ok := true
	for i := range charges {
		c := &charges[i]
		k := m.counter(p, i)
		d := k.look(p.at, m.id, c.Cost)
		if c.Op.Votes() && !d.Admitted {
			ok = false
		}
		m.asked, m.looks = append(m.asked, k), append(m.looks, d)
	}
	n := 2 + 5*len(charges)
	for len(m.reply) < n {
		m.reply = append(m.reply, redisproto.Value{Kind: redisproto.Integer})
	}
	m.reply[0].Int, m.reply[1].Int = p.at, flag(ok)
	for i := range charges {
		d := m.charge(&charges[i], i, p.at, ok)
		r := m.reply[2+5*i:]
		r[0].Int, r[1].Int, r[2].Int, r[3].Int, r[4].Int = flag(d.Admitted), d.Current, d.Remaining, d.ResetMS, d.RetryAfterMS
	}
	p.read(redisproto.Value{Kind: redisproto.Array, Elems: m.reply[:n]})
	m.done = append(m.done, p)
	return nil
}

// counter finds the counter of a plan's charge, with the numbers that hold.
func (m *models) counter(p *pending, i int) *counter {
	c := &p.dec.Plan.Charges[i]
	params := c.Rate.Params
	if c.Guards > 0 {
		params = *c.PenaltyParams()
	}
	key := p.dec.Plan.Key(i)
	k := m.counters[string(key)]
	if k == nil {
		k = &counter{c.Algorithm().New(params), params}
		m.counters[string(key)] = k
	}
	if k.params != params {
		k.model.Change(params)
		k.params = params
	}
	return k
}

// charge does what a charge's op says, once all have voted.
func (m *models) charge(c *engine.Charge, i int, now int64, admitted bool) limit.Decision {
	k, d := m.asked[i], m.looks[i]
	switch {
	case c.Op == engine.OpRefund:
		return k.give(now, m.id, c.Cost)
	case c.Op == engine.OpCharge:
		if c.Cost > 0 {
			d = k.take(now, m.id, c.Cost)
		}
		d.Admitted, d.RetryAfterMS = true, 0
	case c.Guards > 0:
		if d.Admitted && !m.looks[c.Guards-1].Admitted {
			d = k.model.Take(now, 0)
		}
	case c.Cost > 0 && d.Admitted && admitted:
		d = k.take(now, m.id, c.Cost)
	case c.Cost > 0 && !d.Admitted && (c.Op == engine.OpDecideCount || c.Op == engine.OpShadowCount):
		d = k.refuse(now, m.id, c.Cost)
	}
	return d
}

// Holders know who holds; the other models count.

func (k *counter) look(now int64, id []byte, cost int64) limit.Decision {
	if h, ok := k.model.(*limit.Holders); ok {
		return h.LookAs(now, string(id), cost)
	}
	return k.model.Look(now, cost)
}

func (k *counter) take(now int64, id []byte, cost int64) limit.Decision {
	if h, ok := k.model.(*limit.Holders); ok {
		return h.Hold(now, string(id), cost)
	}
	return k.model.Take(now, cost)
}

func (k *counter) give(now int64, id []byte, n int64) limit.Decision {
	if h, ok := k.model.(*limit.Holders); ok {
		return h.Release(now, string(id), n)
	}
	return k.model.Give(now, n)
}

func (k *counter) refuse(now int64, id []byte, cost int64) limit.Decision {
	if h, ok := k.model.(*limit.Holders); ok {
		return h.LookAs(now, string(id), cost)
	}
	return k.model.Refuse(now, cost)
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// read takes a reply.
func (p *pending) read(v redisproto.Value) {
	if p.settling {
		// Only what it says of the counters is of interest.
		if v.Kind == redisproto.Error {
			p.err = string(v.Str)
		}
		return
	}
	step := p.dec.Reply(v)
	switch {
	case p.dec.Failure != engine.NoFailure:
		p.err = p.dec.FailureText
		if p.err == "" {
			p.err = p.dec.Failure.String()
		}
	case step == engine.Send:
		p.err = "Redis lost its scripts in the middle of the run: run it again"
	case step == engine.Wait:
		p.err = "Redis is changing its master or still loading: run it again"
	}
	if p.err == "" && v.Kind == redisproto.Error {
		p.err = string(v.Str)
	}
}
