package emulator

import "time"

// HTTPCall is an HTTP request that the module made to a cluster.
type HTTPCall struct {
	Token     uint32
	Cluster   string
	Headers   Headers
	Body      []byte
	Trailers  Headers
	TimeoutMS uint32 // 0: none

	vm      *VM
	root    *vmContext
	started time.Time
	ended   bool
}

// httpAnswer is what can be read while proxy_on_http_call_response runs.
type httpAnswer struct {
	headers  Headers
	body     []byte
	trailers Headers
}

// HTTPCalls are all calls ever made, the oldest first.
func (vm *VM) HTTPCalls() []*HTTPCall { return vm.httpCalls }

// Respond answers the call; it does nothing if it has ended.
func (c *HTTPCall) Respond(headers Headers, body []byte, trailers Headers) {
	if c.ended {
		return
	}
	c.ended = true
	answer := &httpAnswer{headers: headers.lower(), body: body}
	if trailers != nil {
		answer.trailers = trailers.lower()
	}
	c.vm.httpAnswer = answer
	c.answered(len(headers), len(body), len(trailers))
	c.vm.httpAnswer = nil
}

// Fail ends the call without an answer, as a reset connection does.
func (c *HTTPCall) Fail() {
	if c.ended {
		return
	}
	c.ended = true
	c.vm.statusCode, c.vm.statusText = uint32(brokenConnection), "reset"
	c.answered(0, 0, 0)
	c.vm.statusText = ""
}

// Ended reports that the call has been answered or has failed.
func (c *HTTPCall) Ended() bool { return c.ended }

func (c *HTTPCall) answered(headers, size, trailers int) {
	if c.vm.contexts[c.root.id] != c.root {
		return
	}
	c.vm.simple(c.root, "proxy_on_http_call_response",
		uint64(c.root.id), uint64(c.Token), uint64(headers), uint64(size), uint64(trailers))
}

// due is when the call times out; ok is false if it never does.
func (c *HTTPCall) due() (t time.Time, ok bool) {
	if c.ended || c.TimeoutMS == 0 {
		return time.Time{}, false
	}
	return c.started.Add(time.Duration(c.TimeoutMS) * time.Millisecond), true
}

// timeOut answers as Envoy's own HTTP client does.
func (c *HTTPCall) timeOut() {
	const text = "upstream request timeout"
	c.Respond(Headers{
		{":status", "504"},
		{"content-length", "24"},
		{"content-type", "text/plain"},
	}, []byte(text), nil)
}
