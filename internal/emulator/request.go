package emulator

import (
	"maps"
	"slices"
)

// Request is one HTTP request through the proxy.
type Request struct {
	// ID is its context's identifier.
	ID uint32

	vm  *VM
	ctx *vmContext
	req half
	// resp is the response, from the upstream or from the plugin itself.
	resp       half
	upstream   Message
	client     Message
	local      *LocalReply
	details    string // response code details
	failed     bool   // the VM is dead
	wasReset   bool
	logging    bool
	ended      bool
	properties map[string][]byte
	state      map[string][]byte
}

// Option changes how a request starts.
type Option func(*start)

type start struct {
	body       []byte
	hasBody    bool
	unfinished bool
	properties map[string][]byte
}

// Body gives a request a body, sent in one piece behind the headers.
func Body(b []byte) Option {
	return func(s *start) { s.body, s.hasBody, s.unfinished = b, true, true }
}

// Unfinished leaves a request open after its headers, for SendBody and
// SendTrailers.
func Unfinished() Option { return func(s *start) { s.unfinished = true } }

// Property gives a request an attribute.
func Property(value []byte, path ...string) Option {
	return func(s *start) { s.properties[Path(path...)] = value }
}

// Request sends a request. When this returns the plugin has let it pass, has
// paused it or has answered it.
func (vm *VM) Request(headers Headers, options ...Option) *Request {
	s := start{properties: map[string][]byte{}}
	for _, o := range options {
		o(&s)
	}
	r := vm.newRequest(s.properties)
	vm.create(r.ctx)
	r.req.feedHeaders(headers.lower(), !s.unfinished)
	if s.hasBody {
		r.req.feedBody(s.body, true)
	}
	return r
}

// RejectedBefore is a request that another filter answered before it reached
// the plugin, which only hears of it in proxy_on_log.
func (vm *VM) RejectedBefore(headers Headers, code string) *Request {
	r := vm.newRequest(nil)
	r.req.headers = headers.lower()
	r.client = Message{Headers: Headers{{":status", code}}, Complete: true}
	r.finish()
	return r
}

func (vm *VM) newRequest(properties map[string][]byte) *Request {
	ctx := vm.newStreamContext()
	r := &Request{
		ID:         ctx.id,
		vm:         vm,
		ctx:        ctx,
		properties: properties,
		state:      map[string][]byte{},
	}
	ctx.request = r
	r.req = half{r: r, prefix: "proxy_on_request", out: func() *Message { return &r.upstream }, ended: func() {}}
	r.resp = half{r: r, prefix: "proxy_on_response", out: func() *Message { return &r.client }, ended: r.finish}
	return r
}

// callback runs one callback on a half; anything but 0 stops it.
func (r *Request) callback(name string, args ...uint64) uint64 {
	vm := r.vm
	if r.failed {
		return 0
	}
	var action uint64
	stopped := false
	if vm.err == nil {
		action, stopped = vm.action(r.ctx, name, append([]uint64{uint64(r.ctx.id)}, args...)...)
	}
	if vm.err != nil {
		if vm.proxy.config.FailOpen {
			return 0
		}
		r.fail()
		return stopAllIteration
	}
	if stopped {
		return stopAllIteration
	}
	return action
}

// stopAllIteration stops a half without keeping its body.
const stopAllIteration = 4

// fail answers 503, since the VM is dead.
func (r *Request) fail() {
	if r.failed || r.ended {
		return
	}
	r.failed = true
	if r.client.Headers != nil {
		r.reset()
		return
	}
	r.local = &LocalReply{Status: 503, Details: "wasm_fail_stream", GRPCStatus: grpcUnavailable}
	r.direct()
}

// SendBody sends a piece of the body; end says it is the last.
func (r *Request) SendBody(b []byte, end bool) { r.req.feedBody(b, end) }

// SendTrailers ends the request with trailers.
func (r *Request) SendTrailers(h Headers) { r.req.feedTrailers(h.lower()) }

// Paused reports that the plugin holds the request back.
func (r *Request) Paused() bool { return r.req.stopped && !r.req.cut }

// Forwarded reports that the request's headers have gone on to the upstream.
func (r *Request) Forwarded() bool { return r.upstream.Headers != nil }

// Resumed reports that the request was held back and has gone on since.
func (r *Request) Resumed() bool { return r.req.wasStopped && !r.req.stopped && r.Forwarded() }

// Upstream is what has gone on to the upstream.
func (r *Request) Upstream() Message { return r.upstream }

// Ended reports that the request is over and its context gone.
func (r *Request) Ended() bool { return r.ended }

// WasReset reports that the stream was cut off, by the plugin or because it was
// too late to answer.
func (r *Request) WasReset() bool { return r.wasReset }

// Cancel is the client going away.
func (r *Request) Cancel() {
	if r.details == "" {
		r.details = "downstream_remote_disconnect"
	}
	r.finish()
}

// Done ends the request if it isn't over yet, as when its connection is closed.
func (r *Request) Done() { r.finish() }

func (r *Request) reset() {
	if r.ended {
		return
	}
	r.wasReset = true
	r.finish()
}

// finish makes the last callbacks: proxy_on_log, proxy_on_done, proxy_on_delete.
func (r *Request) finish() {
	if r.ended {
		return
	}
	r.ended = true
	r.req.cut, r.resp.cut = true, true
	r.req.unreach()
	r.resp.unreach()
	r.vm.create(r.ctx)
	r.logging = true
	r.vm.simple(r.ctx, "proxy_on_log", uint64(r.ctx.id))
	r.logging = false
	r.vm.destroy(r.ctx)
}

// logged is what proxy_on_log can read of a header map.
func (r *Request) logged(kind uint64) *Headers {
	switch kind {
	case mapRequestHeaders:
		return present(&r.req.headers)
	case mapResponseHeaders:
		return present(&r.client.Headers)
	case mapResponseTrailers:
		return present(&r.client.Trailers)
	}
	return nil
}

// FilterState returns what the plugin set as wasm.<name>; nil when it didn't.
func (r *Request) FilterState(name string) []byte { return slices.Clone(r.state[name]) }

// FilterStates returns all of it, by name without wasm.
func (r *Request) FilterStates() map[string][]byte { return maps.Clone(r.state) }

// SetProperty gives the request an attribute from now on.
func (r *Request) SetProperty(value []byte, path ...string) {
	if r.properties == nil {
		r.properties = map[string][]byte{}
	}
	r.properties[Path(path...)] = value
}

// HostCalls counts the host calls that acted on this request's context, by name
// without proxy_.
func (r *Request) HostCalls() map[string]int { return callsByName(&r.ctx.calls) }
