package plugin

import (
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/link"
	"sluice/redisproto"
)

// phase is where a request stands.
type phase uint8

const (
	fresh    phase = iota // not seen yet
	held                  // paused: Redis is being asked, or a queue delays it
	passed                // let through
	answered              // ended here by an answer of ours
	gone                  // its client left while it was held
)

// request is one HTTP request.
type request struct {
	w        *worker
	id       uint32
	phase    phase
	debug    bool
	counted  bool // met a limit
	over     bool // the proxy reported its end
	tallied  bool // counted, and recorded for the access log
	delayed  bool // admitted, and held by a queue
	pooled   bool // nobody's, until the pool gives it out again
	refs     int  // calls, retries and delays that refer to it
	headers  host.Headers
	decision engine.Decision
	streamID string // x-request-id, while the stream is noted under it
	callID   []byte // of the call that is out: what it charged is settled under it
	sentAt   int64  // steady microseconds
	calledAt int64  // steady: when its last call went out
	deadline int64
	wakeAt   int64 // steady microseconds: a delay's end
	redisUS  int64
	localAt  int64 // when the gateway's own counters charged it, microseconds since the epoch
	settling settling

	signature uint64     // of what it asks for, where that may share a call
	leads     bool       // others may join the call after its own
	followers []*request // who did

	split *split // of a request that no one call decides
}

// OnHttpRequestHeaders decides, or asks Redis and holds the request.
func (r *request) OnHttpRequestHeaders(int, bool) (action goabi.Action) {
	w := r.w
	action = goabi.Pause // unless let through below, the request is answered or held
	defer w.recoverIn("request_headers", func() { action = r.pass(r.afterPanic()) })
	if w.engine == nil {
		return goabi.Continue
	}
	raw, s := w.host.HeaderPairs(host.RequestHeaders)
	if s != host.OK {
		return goabi.Continue
	}
	r.headers = host.NewHeaders(raw)
	fault(r, faultRequest)
	w.removeTags(r)
	r.decision.Turns = &w.turns
	w.view.Reset(r, &w.policy.Source)
	step := r.decision.Start(w.engine, &w.view)
	r.blocked()
	w.noteClient(&w.view)
	if step == engine.Decide && len(r.decision.Plan.Charges) == 0 && r.decision.Verdict.Outcome == engine.Admitted &&
		r.decision.Plan.Override == nil {
		return r.pass(goabi.Continue) // no limit has a word
	}
	if r.decided() {
		r.decision.Clear()
		return r.pass(goabi.Continue)
	}
	r.debug = w.policy.Debug != nil && w.policy.Debug.Matches(&w.view)
	r.counted = true
	if step == engine.Send {
		now := w.vm.steady()
		if r.decision.Recall(&w.memory, now) {
			return r.pass(r.conclude())
		}
		r.sentAt = now
		r.deadline = now + w.policy.Redis.TimeoutUS
		r.phase = held
		if r.decision.Divided() {
			switch r.divide(now) {
			case inParts:
				return goabi.Pause
			case settled:
				return r.pass(r.conclude())
			}
		}
		switch w.leases.take(r, now) {
		case leaseUsed:
			if r.queued(now) {
				return goabi.Pause
			}
			return r.pass(r.conclude())
		case leaseWaits:
			return goabi.Pause
		}
		if w.join(r) {
			return goabi.Pause
		}
		if step = r.attempt(step, now); step != engine.Decide || r.queued(now) {
			return goabi.Pause
		}
	}
	return r.pass(r.conclude())
}

// pass notes that a request that was not held yet goes on.
func (r *request) pass(a goabi.Action) goabi.Action {
	if a == goabi.Continue {
		r.phase = passed
	}
	return a
}

// attempt carries out a step that asks Redis, now or later, and returns Decide
// when there is nothing to wait for.
func (r *request) attempt(step engine.Step, now int64) engine.Step {
	w := r.w
	for step == engine.Send {
		err := w.send(r, now)
		if err == nil {
			return engine.Send
		}
		step = r.fail(err)
	}
	if step == engine.Wait {
		r.hold()
		w.waiting.add(r, now+w.policy.Redis.Retry.AfterUS)
		w.tick(fastTickMS)
	}
	return step
}

// follow carries out the step of a held request, to its end if that has come.
func (r *request) follow(step engine.Step, now int64) {
	if r.attempt(step, now) != engine.Decide {
		return
	}
	if r.queued(now) {
		return
	}
	r.release(r.conclude())
}

// queued lets the gateway's own counters decide where Redis didn't, and reports
// whether a queue holds the request for a while.
func (r *request) queued(now int64) bool {
	w := r.w
	if r.alone() {
		r.split.rejoin()
		r.split.decide(now)
		return r.delay(now)
	}
	if w.fallback != nil && r.decision.NeedsLocal() {
		r.localAt = w.fallback.decide(&r.decision)
	}
	return r.delay(now)
}

// delay reports whether a queue holds the request, now that it is decided.
func (r *request) delay(now int64) bool {
	w := r.w
	r.redisUS = now - r.sentAt
	ms := r.decision.Verdict.DelayMS
	if ms == 0 {
		return false
	}
	r.delayed = true
	w.delays.add(r, now+ms*1000)
	w.tick(fastTickMS)
	return true
}

// Done takes Redis's reply to the request's call, or why there is none.
func (r *request) Done(reply redisproto.Value, err error) {
	w := r.w
	now := w.vm.now
	signature, leads := r.signature, r.leads
	followers := w.land(r)
	// A missing script's call goes out again, and who joined waits for that.
	r.leads = leads && err == nil && reply.ErrorCode() == redisproto.CodeNoScript
	r.done(now, reply, err)
	if leads && w.flights[signature] == r {
		r.followers = append(followers, r.followers...)
		return
	}
	w.dispatch(followers, now, err)
}

func (r *request) done(now int64, reply redisproto.Value, err error) {
	w := r.w
	defer r.drop()
	r.seek()
	if r.phase == gone {
		r.doneAfterClientLeft(reply, err)
		return
	}
	if r.phase != held {
		w.report(w.laneOf(&r.decision), now, engine.NoFailure) // settled by a panic; Redis isn't to blame
		return
	}
	defer w.recoverIn("reply", func() { r.release(r.afterPanic()) })
	fault(r, faultReply)
	l := w.laneOf(&r.decision)
	w.slow.note(l, now, r.calledAt)
	var step engine.Step
	if err != nil {
		step = r.fail(err)
	} else {
		step = r.decision.Reply(reply)
		r.decision.Remember(&w.memory, r.calledAt)
		if step == engine.Decide {
			step = r.decision.Borrow(&w.memory, now)
		}
		if step == engine.Send {
			r.deadline = now + w.policy.Redis.TimeoutUS
		}
	}
	w.report(l, now, r.decision.Failure)
	r.follow(step, now)
}

// release resumes a held request that is let through.
func (r *request) release(a goabi.Action) {
	if a == goabi.Continue && r.phase == held {
		r.phase = passed
		r.w.host.Resume(host.Request)
	}
}

// fail ends an attempt with the link's reason.
func (r *request) fail(err error) engine.Step { return fail(&r.decision, err) }

func fail(d *engine.Decision, err error) engine.Step {
	if err == link.ErrFull {
		d.LastTry() // to wait for another attempt would make it fuller
	}
	return d.Fail(failure(err), err.Error())
}

// conclude carries out the verdict: counts, leaves filter state for the access
// log, and lets the request through or answers it.
func (r *request) conclude() goabi.Action {
	w := r.w
	d := &r.decision
	r.tallied = true
	d.Widen()
	w.metrics.count(d, w.mode(d))
	w.flushDue()
	w.metrics.scriptLoads.add(int64(d.Loads))
	if d.Verdict.Mode == engine.ModeRedis {
		w.metrics.redisUS.record(uint64(max(r.redisUS, 0)))
	}
	if d.Failure != engine.NoFailure && d.Failure != engine.BreakerOpen { // opening was logged
		w.logs.warn(w, r)
	}
	r.record()
	switch d.Verdict.Outcome {
	case engine.Admitted, engine.FailedOpen:
		w.setTags(r)
		return goabi.Continue
	}
	w.answers.refuse(r)
	r.phase = answered
	return goabi.Pause
}

// tally counts and records a request whose decision broke, unless that was done
// before it broke. Should it panic too, the request is settled all the same.
func (r *request) tally() {
	if r.tallied {
		return
	}
	r.tallied = true
	defer func() { _ = recover() }()
	r.w.metrics.count(&r.decision, r.w.mode(&r.decision))
	r.record()
}

// afterPanic decides a request whose own decision broke: by on_error of the
// limits that it met, or by the global one when that wasn't known yet.
func (r *request) afterPanic() goabi.Action {
	if r.phase == answered {
		return goabi.Pause
	}
	if !r.counted {
		if r.w.policy.OnError != config.OnErrorDeny {
			return goabi.Continue
		}
		r.w.answers.unavailable(r, nil)
		r.phase = answered
		return goabi.Pause
	}
	if r.alone() {
		r.split.rejoin()
	}
	r.decision.Fail(engine.Broken, "")
	r.tally()
	if v := &r.decision.Verdict; v.Outcome == engine.FailedClosed {
		r.w.answers.unavailable(r, r.decision.Plan.Charges[v.Closest].Limit)
		r.phase = answered
		if r.split != nil {
			r.split.resolve(fateRefused, r.w.host.Steady())
		}
		return goabi.Pause
	}
	if r.split != nil {
		r.split.fate = fateAdmitted
	}
	return goabi.Continue
}

// OnHttpResponseHeaders adds the rate-limit headers to the upstream's answer.
func (r *request) OnHttpResponseHeaders(int, bool) goabi.Action {
	if r.phase != passed || !r.counted {
		return goabi.Continue // ours has them already, or no limit matched
	}
	defer r.w.recoverIn("response_headers", nil)
	fault(r, faultResponse)
	if r.decision.Plan.Settles {
		r.watchAnswer()
	}
	r.w.answers.annotate(r)
	return goabi.Continue
}

// Header is source.Request. HTTP has each of the fields that begin with a colon
// once at most, so the search for them ends with the first.
func (r *request) Header(name string) (string, bool) {
	if name != "" && name[0] == ':' {
		return r.headers.First(name)
	}
	return r.headers.Get(name)
}

// Attribute is source.Request.
func (r *request) Attribute(path string) ([]byte, bool) {
	v, s := r.w.host.Property(path)
	return v, s == host.OK
}

// isGRPC follows the proxy's own test: its local replies turn into gRPC's form
// for the same content types.
func isGRPC(h host.Headers) bool {
	const prefix = "application/grpc"
	t, _ := h.Get("content-type")
	if len(t) < len(prefix) || t[:len(prefix)] != prefix {
		return false
	}
	return len(t) == len(prefix) || t[len(prefix)] == '+' || t[len(prefix)] == ';'
}
