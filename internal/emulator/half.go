package emulator

import "slices"

// Message is one side of an exchange as the far end sees it.
type Message struct {
	Headers  Headers
	Body     []byte
	Trailers Headers
	Complete bool // it has ended
}

// half is one direction of a request: what comes in, what the plugin may reach
// of it, what it holds back, and what has gone on.
type half struct {
	r      *Request
	prefix string // of the callbacks' names
	out    func() *Message
	ended  func() // the last piece has gone on

	headers, trailers         Headers
	started, hasTrailers, end bool
	created                   bool // the trailers are the plugin's own
	// What host calls can reach. Envoy takes each away once it has gone on.
	reachHeaders, reachBody, reachTrailers bool

	body      []byte
	buffering bool // the plugin wants more body before it goes on

	stopped, wasStopped                 bool // until resume; ever
	stopAll                             bool // stopped at the headers: nothing more comes in
	holdHeaders, holdBody, holdTrailers bool
	queue                               []func() // what came while stopAll
	cut                                 bool     // nothing goes on any more
	inHeaders                           bool     // the headers' callback runs
}

func (h *half) reachableHeaders() *Headers {
	if !h.reachHeaders {
		return nil
	}
	return &h.headers
}

func (h *half) reachableTrailers(create bool) *Headers {
	if create && !h.reachTrailers && h.reachBody && h.end {
		// The plugin adds trailers to a body without any.
		h.reachTrailers, h.hasTrailers, h.created = true, true, true
	}
	if !h.reachTrailers {
		return nil
	}
	return &h.trailers
}

func (h *half) reachableBody() *[]byte {
	if !h.reachBody {
		return nil
	}
	return &h.body
}

func (h *half) unreach() { h.reachHeaders, h.reachBody, h.reachTrailers = false, false, false }

func (h *half) feedHeaders(headers Headers, end bool) {
	h.headers, h.started, h.reachHeaders, h.end = headers, true, true, end
	h.inHeaders = true
	goes := h.r.callback(h.prefix+"_headers", uint64(len(headers)), bit(end)) == 0
	early := !h.inHeaders // they went on while the callback ran
	h.inHeaders = false
	switch {
	case h.cut:
	case goes:
		h.reachHeaders = false
		if !early {
			h.forwardHeaders()
		}
	default:
		// Whatever else the plugin answered stops all of the half.
		h.stop()
		h.stopAll, h.holdHeaders = true, !early
	}
}

func (h *half) feedBody(b []byte, end bool) {
	if h.cut {
		return
	}
	if h.stopAll {
		h.queue = append(h.queue, func() { h.feedBody(b, end) })
		return
	}
	if h.buffering {
		h.body = slices.Concat(h.body, b)
	} else {
		h.body = slices.Clone(b)
	}
	h.reachBody, h.end = true, end
	action := h.r.callback(h.prefix+"_body", uint64(len(h.body)), bit(end))
	h.buffering = false
	switch {
	case h.cut:
	case action == 0:
		h.stopped, h.holdBody, h.reachBody = false, false, false
		h.forwardBody()
	case action == 1:
		h.stop()
		h.holdBody, h.buffering = true, true
	default:
		h.stop()
		h.holdBody = true
		h.body = nil // not kept
	}
}

func (h *half) feedTrailers(trailers Headers) {
	if h.cut {
		return
	}
	if h.stopAll {
		h.queue = append(h.queue, func() { h.feedTrailers(trailers) })
		return
	}
	h.trailers, h.hasTrailers, h.reachTrailers, h.end = trailers, true, true, true
	action := h.r.callback(h.prefix+"_trailers", uint64(len(trailers)))
	switch {
	case h.cut:
	case action == 0:
		h.reachTrailers = false
		if h.holdBody {
			h.stopped, h.holdBody, h.buffering = false, false, false
			h.forwardBody()
		}
		h.forwardTrailers()
	default:
		h.stop()
		h.holdTrailers = true
	}
}

// stop holds the half back until resume.
func (h *half) stop() { h.stopped, h.wasStopped = true, true }

// resume lets go what is held back.
func (h *half) resume() {
	if h.cut {
		return
	}
	if !h.stopped {
		if h.inHeaders {
			// Envoy sends the headers on at once. If the callback then pauses,
			// a body never follows; if not, they are sent twice.
			h.r.vm.misused("request %d was resumed inside its own %s_headers", h.r.ID, h.prefix)
			h.inHeaders = false
			h.forwardHeaders()
		}
		return
	}
	h.stopped, h.stopAll = false, false
	h.unreach()
	if h.holdHeaders {
		h.holdHeaders = false
		h.forwardHeaders()
	}
	if h.holdBody {
		h.holdBody, h.buffering = false, false
		h.forwardBody()
	}
	if h.holdTrailers {
		h.holdTrailers = false
		h.forwardTrailers()
	}
	queue := h.queue
	h.queue = nil
	for _, f := range queue {
		f()
	}
}

func (h *half) forwardHeaders() {
	h.out().Headers = h.headers.Clone()
	if h.end {
		h.finish()
	}
}

func (h *half) forwardBody() {
	m := h.out()
	m.Body = append(m.Body, h.body...)
	h.body = nil
	switch {
	case h.created:
		h.forwardTrailers()
	case h.end && !h.hasTrailers:
		h.finish()
	}
}

func (h *half) forwardTrailers() {
	h.out().Trailers = h.trailers.Clone()
	h.finish()
}

func (h *half) finish() {
	m := h.out()
	if m.Complete {
		return
	}
	m.Complete = true
	h.ended()
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
