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
