package plugin

import (
	"sluice/internal/engine"
	"sluice/redisproto"
)

// What a divided request was charged is returned when it isn't admitted, and
// corrected when it has ended: by the gateway's own counters at once, in each slot
// by one more call that nobody waits for.

// giveBack returns what the gateway's own counters charged.
func (s *split) giveBack(d *engine.Decision, at int64) {
	if len(d.Plan.Charges) > 0 && d.Undo() == engine.Send {
		s.r.w.fallback.settle(d, at)
	}
}

// settle corrects what an admitted request was charged, now that it has ended.
func (s *split) settle(now int64) {
	s.over = true
	if s.fate != fateAdmitted {
		return
	}
	for _, p := range s.live() {
		if p.ended {
			p.settle(now)
		}
	}
	if !s.gatewayDone {
		s.gatewayDone = true
		s.correctLocally(&s.Gateway, s.gatewayAt)
	}
	if !s.fallbackDone {
		s.fallbackDone = true
		s.correctLocally(&s.Fallback, s.fallbackAt)
	}
}

func (s *split) correctLocally(d *engine.Decision, at int64) {
	if len(d.Plan.Charges) > 0 && d.Settle(s.r) == engine.Send {
		s.r.w.fallback.settle(d, at)
	}
}

// settle corrects what the part charged.
func (p *part) settle(now int64) {
	if p.closed || !p.sent {
		return
	}
	p.closed = true
	if p.d.Settle(p.s.r) == engine.Send {
		p.correct(now)
	}
}

// undo returns what the part charged.
func (p *part) undo(now int64) {
	if p.closed || !p.sent {
		return
	}
	p.closed = true
	if p.d.Undo() == engine.Send {
		p.correct(now)
	}
}

// correct makes the call that settle or undo want, which nobody waits for.
func (p *part) correct(now int64) {
	r := p.s.r
	w := r.w
	r.hold()
	if err := w.ask(now, w.laneOf(p.d), p.d, p.callID, 1, now+w.policy.Redis.TimeoutUS, correction{p}); err != nil {
		r.refs--
		p.failed(now, false)
		return
	}
	w.tick(fastTickMS)
}

// failed notes a correction that wasn't confirmed. One that surely wasn't made is
// made later.
func (p *part) failed(now int64, sent bool) {
	r := p.s.r
	if p.d.CorrectAgain(sent) {
		p.resend = true
		r.hold()
		r.w.waiting.add(p, now+r.w.policy.Redis.Retry.AfterUS)
		r.w.tick(fastTickMS)
		return
	}
	r.w.metrics.settleErrors.add(1)
}

// correction is the call that corrects or returns a charge.
type correction struct{ p *part }

// Done takes the reply.
func (c correction) Done(reply redisproto.Value, err error) {
	p := c.p
	w := p.s.r.w
	defer p.s.r.drop()
	defer w.recoverIn("settlement", nil)
	if err != nil {
		w.metrics.settleErrors.add(1)
		return
	}
	switch step := p.d.Reply(reply); {
	case step == engine.Send:
		w.metrics.scriptLoads.add(1)
		p.correct(w.host.Steady())
	case p.d.Failure != engine.NoFailure:
		p.failed(w.host.Steady(), true)
	}
}
