package hosttest

import (
	"slices"

	"sluice/internal/host"
)

// HTTPCalls are the HTTP requests that the plugin made.
type HTTPCalls struct {
	// Refuse, if not OK, is what a call answers.
	Refuse host.Status
	Made   []*HTTPCall

	answer *httpAnswer
}

// httpAnswer is what can be read of an answer while it is delivered.
type httpAnswer struct {
	status string
	body   []byte
}

// HTTPHook is the embedder's hook for an answer: headers and
// size are 0 when none came.
type HTTPHook func(token uint32, headers, size int) bool

// Deliver hands an answer to the plugin; status "" is none: the call was reset.
func (h *Host) Deliver(hook HTTPHook, token uint32, status string, body []byte) {
	was := h.effective
	h.effective = RootID
	h.HTTP.answer = &httpAnswer{status, body}
	defer func() { h.HTTP.answer, h.effective = nil, was }()
	if status == "" {
		hook(token, 0, 0)
		return
	}
	hook(token, 1, len(body))
}

func (h *Host) HTTPAnswer(n int) ([]byte, host.Status) {
	h.Calls["HTTPAnswer"]++
	if h.HTTP.answer == nil {
		return nil, host.NotFound
	}
	return slices.Clone(h.HTTP.answer.body[:min(n, len(h.HTTP.answer.body))]), host.OK
}

// HTTPCall is one of them.
type HTTPCall struct {
	Token     uint32
	Cluster   string
	Headers   [][2]string
	Body      []byte
	TimeoutMS uint32
}

func (h *Host) HTTPCall(cluster string, headers, body []byte, timeoutMS uint32) (uint32, host.Status) {
	h.Calls["HTTPCall"]++
	if h.HTTP.Refuse != host.OK {
		return 0, h.HTTP.Refuse
	}
	c := &HTTPCall{
		Token:     uint32(len(h.HTTP.Made)+1) * 4,
		Cluster:   string([]byte(cluster)),
		Body:      slices.Clone(body),
		TimeoutMS: timeoutMS,
	}
	p := host.ReadPairs(headers)
	for name, value, ok := p.Next(); ok; name, value, ok = p.Next() {
		c.Headers = append(c.Headers, clone(name, value))
	}
	// As Envoy does, which can't route a request without them.
	if first(c.Headers, ":method") == "" || first(c.Headers, ":path") == "" || first(c.Headers, ":authority") == "" {
		return 0, host.BadArgument
	}
	h.HTTP.Made = append(h.HTTP.Made, c)
	return c.Token, host.OK
}
