package plugin

import (
	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/redisproto"
)

// fate is what becomes of a divided request.
type fate uint8

const (
	fateOpen     fate = iota
	fateAdmitted      // what its parts charge stands, until the request's end
	fateRefused       // what its parts charge is returned
)

// split is a request that several calls decide, or this gateway's own counters,
// or both; see engine.Split.
type split struct {
	engine.Split
	r       *request
	parts   []*part // those of Split.Parts, and spare ones behind
	pending int     // parts that haven't ended
	sending bool    // the first calls are being made
	fate    fate
	over    bool // the request has ended
	lone    bool // request.decision is the only part; see rejoin

	gatewayAt, fallbackAt     int64 // when these were charged, microseconds since the epoch
	gatewayDone, fallbackDone bool  // settled or returned
}

// part is one of its calls.
type part struct {
	s        *split
	d        *engine.Decision
	callID   []byte
	deadline int64
	sentAt   int64
	sent     bool // at least once
	waits    bool // for its next attempt
	ended    bool
	resend   bool // what corrects its charge waits for another attempt
	closed   bool // settled or undone
}

// split makes a divided request's state, with what an earlier one allocated.
func (p *pool) split(r *request) *split {
	if n := len(p.splits); n > 0 {
		s := p.splits[n-1]
		p.splits = p.splits[:n-1]
		*s = split{Split: s.Split, parts: s.parts, r: r}
		return s
	}
	return &split{r: r}
}

// division is how far divide brought a request.
type division uint8

const (
	inParts division = iota // it is held until its parts have ended
	settled                 // there is nothing to wait for
	oneCall                 // one call decides what is left, as for any request
)

// divide begins to decide a divided request. Beside the gateway's own counters
// there is often just one call to make: that goes the way of all others, and may
// be shared with requests that ask for the same.
func (r *request) divide(now int64) division {
	s := r.w.pool.split(r)
	r.split = s
	s.Start(&r.decision)
	for i, d := range s.Parts {
		if i == len(s.parts) {
			s.parts = append(s.parts, new(part))
		}
		*s.parts[i] = part{s: s, d: d, callID: s.parts[i].callID[:0], deadline: r.deadline}
	}
	if len(s.Gateway.Plan.Charges) > 0 {
		s.gatewayAt = r.w.fallback.decide(&s.Gateway)
		r.w.slow.decided(&s.Gateway)
	}
	if !s.Refused() {
		if len(s.Parts) == 1 {
			s.lone = true
			r.decision, *s.Parts[0] = *s.Parts[0], r.decision
			return oneCall
		}
		s.ask(now)
	}
	if s.pending > 0 {
		return inParts
	}
	s.decide(now)
	if r.delay(now) {
		return inParts
	}
	return settled
}

// rejoin makes the request's decision whole again, whose only call has ended, or
// isn't waited for any more.
func (s *split) rejoin() {
	r := s.r
	s.lone = false
	r.decision, *s.Parts[0] = *s.Parts[0], r.decision
	p := s.parts[0]
	p.ended, p.sent = true, true
	p.callID = append(p.callID, r.callID...)
	if len(p.callID) == 0 { // another's call asked for this request, too
		p.callID = r.w.appendRequestID(p.callID)
	}
}

// alone reports whether the request's decision is its only call.
func (r *request) alone() bool { return r.split != nil && r.split.lone }

// live are the request's parts.
func (s *split) live() []*part { return s.parts[:len(s.Parts)] }

// ask makes the parts' calls. Those whose breaker is open come first: when one
// can't be asked and that refuses the request, the others needn't be.
func (s *split) ask(now int64) {
	w := s.r.w
	s.sending = true
	s.pending = len(s.Parts)
	for _, open := range [...]bool{true, false} {
		for _, p := range s.live() {
			switch {
			case p.ended || p.sent || p.waits || open && !w.laneOf(p.d).breaker.IsOpen():
			case s.Refused():
				p.ended = true // never asked
				s.pending--
			default:
				p.follow(engine.Send, now)
			}
		}
	}
	s.sending = false
}

// send makes the call that the part's decision asks for.
func (p *part) send(now int64) error {
	r := p.s.r
	w := r.w
	l := w.laneOf(p.d)
	if !l.breaker.Allow() {
		return errOpen
	}
	if len(p.callID) == 0 {
		p.callID = w.appendRequestID(p.callID)
	}
	r.hold()
	if err := w.ask(now, l, p.d, p.callID, 1, p.deadline, p); err != nil {
		r.refs--
		w.report(l, now, engine.Unavailable)
		return err
	}
	p.sent, p.sentAt = true, now
	w.turns.Shard++
	w.tick(fastTickMS)
	return nil
}

// follow carries out a part's step, to its end if that has come.
func (p *part) follow(step engine.Step, now int64) {
	s, r := p.s, p.s.r
	wanted := s.fate == fateOpen && r.phase == held
	for step == engine.Send && wanted {
		err := p.send(now)
		if err == nil {
			return
		}
		step = fail(p.d, err)
	}
	if step == engine.Wait {
		if wanted && !s.Refused() {
			p.waits = true
			r.hold()
			r.w.waiting.add(p, now+r.w.policy.Redis.Retry.AfterUS)
			r.w.tick(fastTickMS)
			return
		}
		p.d.GiveUp()
	}
	p.end(now)
}

// end notes that the part is decided, or never will be.
func (p *part) end(now int64) {
	if p.ended {
		return
	}
	s := p.s
	p.ended = true
	s.pending--
	switch s.fate {
	case fateRefused:
		p.undo(now)
	case fateAdmitted:
		if s.over {
			p.settle(now)
		}
	default:
		if s.Refused() {
			s.giveUp()
		}
		if s.pending == 0 && !s.sending {
			s.finish(now)
		}
	}
}

// giveUp ends the parts that wait for another attempt: the request is refused.
func (s *split) giveUp() {
	for _, p := range s.live() {
		if p.waits {
			p.waits, p.ended = false, true
			p.d.GiveUp()
			s.pending--
		}
	}
}

// Done takes Redis's reply to the part's call, or why there is none.
func (p *part) Done(reply redisproto.Value, err error) {
	s, r := p.s, p.s.r
	w := r.w
	now := w.host.Steady()
	defer r.drop()
	r.seek()
	l := w.laneOf(p.d)
	defer w.recoverIn("reply", func() { p.broken(now) })
	if r.phase == held && s.fate == fateOpen {
		fault(r, faultReply)
	}
	w.slow.note(l, now, p.sentAt)
	var step engine.Step
	if err != nil {
		step = fail(p.d, err)
	} else {
		step = p.d.Reply(reply)
		p.d.Remember(&w.memory, p.sentAt)
		if step == engine.Decide {
			step = p.d.Borrow(&w.memory, now)
		}
		if step == engine.Send {
			p.deadline = now + w.policy.Redis.TimeoutUS
		}
	}
	w.report(l, now, p.d.Failure)
	p.follow(step, now)
}

// retry makes the part's next attempt.
func (p *part) retry(now int64) {
	s, r := p.s, p.s.r
	defer r.drop()
	defer r.w.recoverIn("retry", func() { p.broken(now) })
	switch {
	case p.resend:
		p.resend = false
		p.correct(now)
		return
	case !p.waits: // given up meanwhile
		return
	}
	p.waits = false
	r.seek()
	if r.phase != held || s.fate != fateOpen {
		p.d.GiveUp()
		p.end(now)
		return
	}
	p.deadline = now + r.w.policy.Redis.TimeoutUS
	p.follow(engine.Send, now)
}

// broken settles a request whose part panicked, unless that was done.
func (p *part) broken(now int64) {
	r := p.s.r
	if r.phase == held && !r.delayed {
		r.release(r.afterPanic())
	}
	p.end(now)
}

// seek finds out whether the request's client is still there; the request is
// then the one that calls to the proxy are about.
func (r *request) seek() {
	if r.phase == held && r.w.host.SetEffectiveContext(r.id) != host.OK {
		r.phase = gone
	}
}

// decide puts the parts' words together, and returns what was charged where the
// request isn't admitted.
func (s *split) decide(now int64) {
	r := s.r
	if r.phase == held && s.NeedsFallback() {
		s.fallbackAt = r.w.fallback.decide(&s.Fallback)
	}
	s.Conclude()
	switch r.decision.Verdict.Outcome {
	case engine.Admitted, engine.FailedOpen:
		s.resolve(fateAdmitted, now)
	default:
		s.resolve(fateRefused, now)
	}
}

// finish decides a request that was held, now that its last part has ended.
func (s *split) finish(now int64) {
	r := s.r
	s.decide(now)
	if r.phase != held {
		s.settle(now) // its client has left
		return
	}
	if !r.delay(now) {
		r.release(r.conclude())
	}
}

// resolve says what becomes of the request. Parts that haven't ended hear of it
// then.
func (s *split) resolve(f fate, now int64) {
	s.fate = f
	if f != fateRefused {
		return
	}
	for _, p := range s.live() {
		if p.ended {
			p.undo(now)
		}
	}
	if !s.gatewayDone {
		s.gatewayDone = true
		s.giveBack(&s.Gateway, s.gatewayAt)
	}
	if !s.fallbackDone {
		s.fallbackDone = true
		s.giveBack(&s.Fallback, s.fallbackAt)
	}
}
