package plugin

import (
	"strconv"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/usage"
	"sluice/redisproto"
)

// settling is what a request's end is judged by; see engine.Ending.
type settling struct {
	status    int
	upstream  bool // the status is the upstream's
	bodyBytes int64
	readers   []bodyReader
	stated    []statedCost
	deadline  int64
}

// statedCost is a cost that a header or trailer of the answer stated.
type statedCost struct {
	from *config.SettleCost
	text string
}

// bodyReader looks for one limit's cost in the answer's body.
type bodyReader struct {
	from   *config.SettleCost
	reader *usage.Reader
}

// OnHttpRequestBody counts the body's bytes as they pass; it holds none.
func (r *request) OnHttpRequestBody(n int, _ bool) goabi.Action {
	if r.decision.Plan.BodyBytes {
		r.settling.bodyBytes += int64(n)
	}
	return goabi.Continue
}

// watchAnswer notes how the upstream answered, while its headers pass.
func (r *request) watchAnswer() {
	h := r.w.host
	s := &r.settling
	code, _ := h.HeaderValue(host.ResponseHeaders, ":status")
	s.status, _ = strconv.Atoi(code)
	details, _ := h.Property("response\x00code_details")
	s.upstream = string(details) == "via_upstream"
	for i := range r.decision.Plan.Charges {
		l := r.decision.Plan.Charges[i].Limit
		if l.Settle == nil || l.Settle.Cost == nil {
			continue
		}
		r.readCost(l.Settle.Cost, config.SettleHeader, host.ResponseHeaders)
		if l.Settle.Cost.From != config.SettleJSON {
			continue
		}
		if encoding, _ := h.HeaderValue(host.ResponseHeaders, "content-encoding"); encoding != "" && encoding != "identity" {
			continue
		}
		contentType, _ := h.HeaderValue(host.ResponseHeaders, "content-type")
		s.readers = append(s.readers, bodyReader{l.Settle.Cost, usage.New(l.Settle.Cost.Name, contentType)})
	}
}

// readCost notes the cost that a header or trailer states while it passes: over
// HTTP/3 it is out of reach when the request's end is known.
func (r *request) readCost(c *config.SettleCost, from config.SettleFrom, m host.Map) {
	if c.From != from {
		return
	}
	if v, s := r.w.host.HeaderValue(m, c.Name); s == host.OK {
		r.settling.stated = append(r.settling.stated, statedCost{c, v})
	}
}

// OnHttpResponseTrailers notes the costs that the answer's trailers state.
func (r *request) OnHttpResponseTrailers(int) goabi.Action {
	if r.phase != passed || !r.decision.Plan.Settles {
		return goabi.Continue
	}
	defer r.w.recoverIn("response_trailers", nil)
	for i := range r.decision.Plan.Charges {
		if s := r.decision.Plan.Charges[i].Limit.Settle; s != nil && s.Cost != nil {
			r.readCost(s.Cost, config.SettleTrailer, host.ResponseTrailers)
		}
	}
	return goabi.Continue
}

// OnHttpResponseBody shows the answer's body to those who look for a cost in it.
func (r *request) OnHttpResponseBody(n int, _ bool) goabi.Action {
	if len(r.settling.readers) == 0 || n == 0 {
		return goabi.Continue
	}
	defer r.w.recoverIn("response_body", nil)
	b, s := r.w.host.BodyBytes(host.ResponseBody, 0, n)
	if s != host.OK {
		return goabi.Continue
	}
	for i := range r.settling.readers {
		r.settling.readers[i].reader.Write(b)
	}
	return goabi.Continue
}

// OnHttpStreamDone is the request's end, however it came.
func (r *request) OnHttpStreamDone() {
	w := r.w
	if w.policy == nil || r.pooled {
		return
	}
	defer w.recoverIn("done", nil)
	switch r.phase {
	case held:
		r.phase = gone // what Redis still says is settled then
		if r.delayed {
			r.settle()
		}
	case passed:
		r.settle()
	}
	r.forget()
	r.over = true
	r.reuse()
}

// doneAfterClientLeft takes the reply to a request that nobody waits for. What
// it was charged is settled as for any request that got no answer.
func (r *request) doneAfterClientLeft(reply redisproto.Value, err error) {
	defer r.w.recoverIn("reply", nil)
	step := engine.Decide
	if err != nil {
		r.fail(err)
	} else {
		step = r.decision.Reply(reply)
	}
	r.w.report(r.w.laneOf(&r.decision), r.w.host.Steady(), r.decision.Failure)
	if step == engine.Decide || r.alone() {
		r.settle()
	}
}

// settle corrects what the request was charged, with a call that nobody waits
// for.
func (r *request) settle() {
	w := r.w
	if r.alone() { // its client left while Redis was asked
		r.split.rejoin()
		r.split.decide(w.host.Steady())
	}
	if !r.decision.Plan.Settles {
		return
	}
	r.decision.Plan.Settles = false // once, however often the end is reported
	if r.split != nil {
		r.split.settle(w.host.Steady())
		return
	}
	if r.decision.Settle(r) != engine.Send {
		return
	}
	if r.decision.Verdict.Mode == engine.ModeLocal {
		w.fallback.settle(&r.decision, r.localAt)
		return
	}
	now := w.host.Steady()
	r.settling.deadline = now + w.policy.Redis.TimeoutUS
	r.sendSettlement(now)
}

func (r *request) sendSettlement(now int64) {
	w := r.w
	r.hold()
	if err := w.ask(now, w.laneOf(&r.decision), &r.decision, r.callID, 1, r.settling.deadline, settlement{r}); err != nil {
		r.refs--
		w.metrics.settleErrors.add(1)
		return
	}
	w.tick(fastTickMS)
}

// settlement is the call that corrects a charge.
type settlement struct{ r *request }

// Done takes the reply: nothing is left to do, unless the script was missing. A
// correction that got no reply may have been made, so it isn't made again.
func (s settlement) Done(reply redisproto.Value, err error) {
	w := s.r.w
	defer s.r.drop()
	defer w.recoverIn("settlement", nil)
	if err != nil {
		w.metrics.settleErrors.add(1)
		return
	}
	d := &s.r.decision
	if d.Reply(reply) == engine.Send {
		w.metrics.scriptLoads.add(1)
		s.r.sendSettlement(w.host.Steady())
		return
	}
	if d.Failure != engine.NoFailure {
		w.metrics.settleErrors.add(1)
	}
}

// Status is engine.Ending.
func (r *request) Status() (int, bool) { return r.settling.status, r.settling.upstream }

// BodyBytes is engine.Ending.
func (r *request) BodyBytes() int64 { return r.settling.bodyBytes }

// Cost is engine.Ending.
func (r *request) Cost(from *config.SettleCost) (int64, bool) {
	n, ok := r.findCost(from)
	if !ok {
		r.w.metrics.oddCosts.add(1)
	}
	return n, ok
}

func (r *request) findCost(from *config.SettleCost) (int64, bool) {
	h := r.w.host
	switch from.From {
	case config.SettleHeader, config.SettleTrailer:
		for _, c := range r.settling.stated {
			if c.from == from {
				return config.ParseUnits(c.text)
			}
		}
	case config.SettleBytes:
		v, s := h.Property("response\x00size")
		if s != host.OK || len(v) != 8 {
			return 0, false
		}
		var n int64
		for i := 7; i >= 0; i-- {
			n = n<<8 | int64(v[i])
		}
		return n, n >= 0 && n <= config.MaxLimit
	case config.SettleMetadata:
		r.w.view.Reset(r, &r.w.policy.Source)
		v, ok := from.Source.Value(&r.w.view)
		if !ok {
			return 0, false
		}
		return config.ParseUnits(v)
	case config.SettleJSON:
		for i := range r.settling.readers {
			if r.settling.readers[i].from == from {
				return r.settling.readers[i].reader.Value()
			}
		}
	}
	return 0, false
}
