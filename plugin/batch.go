package plugin

import (
	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/redisproto"
)

// batch is one call for several requests that ask for the same. They arrived
// while a call for the same was out, so a hot key has one call out at a time,
// however many requests there are for it.
type batch struct {
	w       *worker
	members []*request // the call asks for all of them; the first leads
	rest    []*request // rejected as well if the only member is
	// second says that a call for some of them was refused before: who is refused
	// or left again asks alone, so that a request waits for few round trips.
	second bool
	sentAt int64 // steady
}

// join lets r wait for the call after the one that is out for the same; false
// when there is none.
func (w *worker) join(r *request) bool {
	if !r.decision.Batchable() {
		return false
	}
	r.signature = r.decision.Signature()
	lead := w.flights[r.signature]
	if lead == nil {
		r.leads = true // once its call is out
		return false
	}
	if !lead.decision.Alike(&r.decision) {
		return false
	}
	r.hold()
	lead.followers = append(lead.followers, r)
	return true
}

// takeOff notes that r's call is out, for others to join.
func (w *worker) takeOff(r *request) {
	if !r.leads {
		return
	}
	if w.flights == nil {
		w.flights = make(map[uint64]*request)
	}
	w.flights[r.signature] = r
}

// land ends what takeOff noted and returns who joined.
func (w *worker) land(r *request) []*request {
	if !r.leads {
		return nil
	}
	r.leads = false
	w.turns.Shard++ // who comes next asks the next of a key's counters
	if w.flights[r.signature] == r {
		delete(w.flights, r.signature)
	}
	f := r.followers
	r.followers = nil
	return f
}

// dispatch makes the next call for requests that waited for one. A call that
// failed says all about them too.
func (w *worker) dispatch(waiting []*request, now int64, err error) {
	if len(waiting) == 0 {
		return
	}
	all := append([]*request(nil), waiting...)
	defer w.recoverIn("batch", func() { w.abandon(all) })
	if err != nil {
		for _, m := range waiting {
			m.deliver(now, func() engine.Step { return m.fail(err) })
		}
		return
	}
	live := waiting[:0]
	for _, m := range waiting {
		switch {
		case m.phase != held: // gone, and charged nothing by Redis
			if m.alone() {
				m.settle()
			}
			m.drop()
		case m.decision.Recall(&w.memory, now):
			m.deliver(now, decided)
		default:
			live = append(live, m)
		}
	}
	if len(live) > 0 {
		w.sendBatch(&batch{w: w, members: live}, now)
	}
}

func decided() engine.Step { return engine.Decide }

// sendBatch sends b's call.
func (w *worker) sendBatch(b *batch, now int64) {
	lead := b.members[0]
	if most := lead.decision.MaxBatch(); len(b.members) > most {
		lead.followers = append(lead.followers, b.members[most:]...)
		b.members = b.members[:most:most]
	}
	lead.leads = true
	err := errOpen
	l := w.laneOf(&lead.decision)
	if l.breaker.Allow() {
		if len(lead.callID) == 0 {
			lead.callID = w.appendRequestID(lead.callID)
		}
		if err = w.ask(now, l, &lead.decision, lead.callID, len(b.members), lead.deadline, b); err != nil {
			w.report(l, now, engine.Unavailable)
		}
		b.sentAt = now
	}
	if err != nil {
		followers := w.land(lead)
		w.dispatch(append(append(b.members, b.rest...), followers...), now, err)
		return
	}
	w.takeOff(lead)
	w.tick(fastTickMS)
}

// Done takes the reply to a batch's call.
func (b *batch) Done(reply redisproto.Value, err error) {
	w := b.w
	now := w.host.Steady()
	lead := b.members[0]
	n := len(b.members)
	defer w.recoverIn("batch", func() {
		w.abandon(append(b.members[:n:n], b.rest...))
		w.abandon(w.land(lead))
	})
	l := w.laneOf(&lead.decision)
	w.slow.note(l, now, b.sentAt)
	if err != nil {
		w.report(l, now, engine.Lost)
		followers := w.land(lead)
		w.dispatch(append(append(b.members, b.rest...), followers...), now, err)
		return
	}
	step, room := lead.decision.ReplyBatch(reply, n)
	w.report(l, now, lead.decision.Failure)
	if step == engine.Decide && n == 1 && lead.decision.Failure == engine.NoFailure {
		lead.decision.Remember(&w.memory, b.sentAt)
		step = lead.decision.Borrow(&w.memory, now)
	}
	if step == engine.Send { // the script was missing, or another counter may have room
		lead.deadline = now + w.policy.Redis.TimeoutUS
		w.sendBatch(b, now)
		return
	}
	followers := w.land(lead)
	switch {
	case lead.decision.Failure != engine.NoFailure:
		// An error reply; the lead has its next step.
		f, text := lead.decision.Failure, lead.decision.FailureText
		for i, m := range append(b.members, b.rest...) {
			m.deliver(now, func() engine.Step {
				if i == 0 {
					return step
				}
				return m.decision.Fail(f, text)
			})
		}
	case lead.decision.Verdict.Outcome == engine.Admitted:
		first := lead.decision
		for i := n - 1; i >= 0; i-- { // the lead's figures are the others' source
			b.members[i].decision.Share(&first, i, n)
		}
		for _, m := range b.members {
			m.deliver(now, decided)
		}
		if lead.decision.Sharded() { // they may find room together where the lead did
			w.dispatch(b.rest, now, nil)
		} else {
			w.sendAlone(b.rest, now)
		}
	case n == 1:
		for _, m := range b.rest {
			m.decision.Share(&lead.decision, 0, 1)
			m.deliver(now, decided)
		}
		lead.deliver(now, decided)
	case b.second:
		w.sendAlone(append(b.members[:n:n], b.rest...), now)
	default:
		// As many as there is room for go together, and one for whom there is none
		// asks for all the others how long to wait: two calls, one round trip.
		if room > 0 {
			w.sendBatch(&batch{w: w, members: b.members[:room:room], second: true}, now)
		}
		rest := append(b.members[room+1:n:n], b.rest...)
		w.sendBatch(&batch{w: w, members: b.members[room : room+1 : room+1], rest: rest, second: true}, now)
	}
	w.dispatch(followers, now, nil)
}

// sendAlone sends a call for each, all at once.
func (w *worker) sendAlone(requests []*request, now int64) {
	for _, m := range requests {
		if m.decision.Sharded() && m.phase == held && m.decision.Recall(&w.memory, now) {
			m.deliver(now, decided)
			continue
		}
		w.sendBatch(&batch{w: w, members: []*request{m}, second: true}, now)
	}
}

// deliver brings a request that waited for another's call to its end.
func (r *request) deliver(now int64, next func() engine.Step) {
	w := r.w
	defer r.drop()
	if r.phase == held && w.host.SetEffectiveContext(r.id) != host.OK {
		r.phase = gone
	}
	if r.phase == gone {
		defer w.recoverIn("batch", nil)
		if next() == engine.Decide || r.alone() {
			r.settle()
		}
		return
	}
	if r.phase != held {
		return
	}
	defer w.recoverIn("batch", func() { r.release(r.afterPanic()) })
	fault(r, faultReply)
	r.follow(next(), now)
}

// abandon settles those of some requests that a panic left held.
func (w *worker) abandon(requests []*request) {
	for _, m := range requests {
		if m.phase == held && w.host.SetEffectiveContext(m.id) == host.OK {
			m.release(m.afterPanic())
		}
	}
}
