package emulator

import (
	"fmt"
	"strconv"
	"strings"
)

// LocalReply is the plugin's own answer to a request.
type LocalReply struct {
	Status     uint32
	Details    string
	Headers    Headers // those that the plugin added
	Body       []byte
	GRPCStatus int32 // -1: none
}

// LocalReply is how the plugin answered, nil if it didn't.
func (r *Request) LocalReply() *LocalReply { return r.local }

// Response is what the client has got so far; its Headers are nil before any.
func (r *Request) Response() Message { return r.client }

// ResponsePaused reports that the plugin holds the response back.
func (r *Request) ResponsePaused() bool { return r.resp.stopped && !r.resp.cut }

// Details are the response code details.
func (r *Request) Details() string { return r.details }

// Respond is the upstream's whole response. An empty body is none.
func (r *Request) Respond(headers Headers, body []byte) {
	r.RespondHeaders(headers, len(body) == 0)
	if len(body) > 0 {
		r.RespondBody(body, true)
	}
}

// RespondHeaders starts the upstream's response; end says nothing follows. The
// request must have been forwarded. On one that is over it does nothing.
func (r *Request) RespondHeaders(headers Headers, end bool) {
	if r.ended || r.resp.started {
		return
	}
	if !r.Forwarded() {
		r.vm.complain("the upstream answers request %d, which hasn't reached it", r.ID)
		return
	}
	if r.details == "" {
		r.details = "via_upstream"
	}
	r.resp.feedHeaders(headers.lower(), end)
}

// RespondBody goes on with a piece of body.
func (r *Request) RespondBody(b []byte, end bool) { r.resp.feedBody(b, end) }

// RespondTrailers ends the response with trailers.
func (r *Request) RespondTrailers(h Headers) { r.resp.feedTrailers(h.lower()) }

// answer is the plugin's local reply, which passes its own response callbacks.
func (r *Request) answer(reply *LocalReply) {
	if r.ended {
		return
	}
	if r.local != nil { // only the first counts
		return
	}
	r.local = reply
	r.details = reply.Details
	r.req.cut = true
	switch {
	case r.client.Headers != nil:
		// Too late: the client has a part of another response.
		r.reset()
	case r.resp.started:
		// A response is on its way: it is replaced, without more callbacks.
		r.direct()
	default:
		headers, body := r.localResponse()
		r.resp.feedHeaders(headers, len(body) == 0)
		if len(body) > 0 {
			r.resp.feedBody(body, true)
		}
	}
}

// direct sends the local reply past the filters.
func (r *Request) direct() {
	r.req.cut, r.resp.cut = true, true
	r.details = r.local.Details
	headers, body := r.localResponse()
	r.client = Message{Headers: headers, Body: body, Complete: true}
	r.finish()
}

// localResponse is the response that the proxy makes of the local reply. For a
// gRPC request that is headers alone, with the body as the message.
func (r *Request) localResponse() (Headers, []byte) {
	reply := r.local
	body := reply.Body
	if strings.HasPrefix(r.req.headers.Get("content-type"), "application/grpc") {
		grpc := reply.GRPCStatus
		if grpc < 0 {
			grpc = grpcStatusOf(reply.Status)
		}
		h := Headers{{":status", "200"}}
		for _, f := range reply.Headers {
			h.add(f[0], f[1])
		}
		h.set("content-type", "application/grpc")
		h.set("grpc-status", strconv.Itoa(int(grpc)))
		if len(body) > 0 {
			h.set("grpc-message", percentEncode(body))
		}
		return h, nil
	}
	h := Headers{{":status", strconv.Itoa(int(reply.Status))}}
	for _, f := range reply.Headers {
		h.add(f[0], f[1])
	}
	if len(body) > 0 {
		h.set("content-length", strconv.Itoa(len(body)))
		if !h.Has("content-type") {
			h.add("content-type", "text/plain")
		}
	}
	if r.req.headers.Get(":method") == "HEAD" {
		body = nil
	}
	return h, body
}

// grpcStatusOf is Envoy's translation of an HTTP status.
func grpcStatusOf(http uint32) int32 {
	switch http {
	case 400:
		return 13
	case 401:
		return 16
	case 403:
		return 7
	case 404:
		return 12
	case 429, 502, 503, 504:
		return 14
	}
	return 2
}

// percentEncode is gRPC's form of a message.
func percentEncode(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		if c >= ' ' && c <= '~' && c != '%' {
			s.WriteByte(c)
		} else {
			fmt.Fprintf(&s, "%%%02X", c)
		}
	}
	return s.String()
}

// underscores replaces white space, as Envoy does in response code details.
func underscores(s string) string {
	return strings.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\n\v\f\r", c) {
			return '_'
		}
		return c
	}, s)
}
