package hosttest

import (
	"slices"

	"sluice/internal/host"
)

// Request is one HTTP request and what was done to it.
type Request struct {
	ID          uint32
	Maps        map[host.Map][][2]string
	Bodies      map[host.Buffer][]byte
	Properties  map[string][]byte // by path, its elements joined by NUL
	FilterState map[string][]byte // by name, without wasm.
	Resumed     map[host.Direction]int
	Answer      *Answer // the first; nil: none
	Answers     int     // how often it was answered
}

// Answer is a local reply.
type Answer struct {
	Code       uint32
	Details    string
	Body       []byte
	Headers    [][2]string
	GRPCStatus int32
}

func newRequest(id uint32) *Request {
	return &Request{
		ID:          id,
		Maps:        map[host.Map][][2]string{},
		Bodies:      map[host.Buffer][]byte{},
		Properties:  map[string][]byte{},
		FilterState: map[string][]byte{},
		Resumed:     map[host.Direction]int{},
	}
}

// Header returns the first value of a field, "" when there is none.
func (r *Request) Header(m host.Map, name string) string { return first(r.Maps[m], name) }

// Header returns the first value of a field of the answer.
func (a *Answer) Header(name string) string { return first(a.Headers, name) }

func first(fields [][2]string, name string) string {
	for _, f := range fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

func (h *Host) HeaderPairs(m host.Map) ([]byte, host.Status) {
	h.Calls["HeaderPairs"]++
	r := h.request()
	if r == nil || len(r.Maps[m]) == 0 {
		return nil, host.OK
	}
	return host.AppendPairs(nil, r.Maps[m]), host.OK
}

func (h *Host) HeaderValue(m host.Map, name string) (string, host.Status) {
	h.Calls["HeaderValue"]++
	if m == host.HTTPAnswerHeaders && name == ":status" && h.HTTP.answer != nil {
		return h.HTTP.answer.status, host.OK
	}
	r := h.request()
	if r == nil || r.Maps[m] == nil {
		return "", host.BadArgument
	}
	for _, f := range r.Maps[m] {
		if f[0] == name {
			return f[1], host.OK
		}
	}
	return "", host.NotFound
}

func (h *Host) AddHeader(m host.Map, name, value string) host.Status {
	h.Calls["AddHeader"]++
	r := h.request()
	if r == nil {
		return host.BadArgument
	}
	r.Maps[m] = append(r.Maps[m], clone(name, value))
	return host.OK
}

func (h *Host) ReplaceHeader(m host.Map, name, value string) host.Status {
	h.Calls["ReplaceHeader"]++
	r := h.request()
	if r == nil {
		return host.BadArgument
	}
	r.remove(m, name)
	r.Maps[m] = append(r.Maps[m], clone(name, value))
	return host.OK
}

func (h *Host) RemoveHeader(m host.Map, name string) host.Status {
	h.Calls["RemoveHeader"]++
	r := h.request()
	if r == nil {
		return host.BadArgument
	}
	r.remove(m, name)
	return host.OK
}

func (r *Request) remove(m host.Map, name string) {
	r.Maps[m] = slices.DeleteFunc(r.Maps[m], func(f [2]string) bool { return f[0] == name })
}

// clone copies what goes in, since a caller may write to it afterwards.
func clone(name, value string) [2]string {
	return [2]string{string([]byte(name)), string([]byte(value))}
}

func (h *Host) Property(path string) ([]byte, host.Status) {
	h.Calls["Property"]++
	r := h.request()
	if r == nil {
		return nil, host.NotFound
	}
	if v, ok := r.Properties[path]; ok {
		return slices.Clone(v), host.OK
	}
	if v, ok := r.FilterState[path]; ok {
		return slices.Clone(v), host.OK
	}
	return nil, host.NotFound
}

func (h *Host) SetProperty(name string, value []byte) host.Status {
	h.Calls["SetProperty"]++
	r := h.request()
	if r == nil {
		return host.NotFound
	}
	r.FilterState[string([]byte(name))] = slices.Clone(value)
	return host.OK
}

func (h *Host) BodyBytes(b host.Buffer, start, max int) ([]byte, host.Status) {
	h.Calls["BodyBytes"]++
	r := h.request()
	if r == nil {
		return nil, host.NotFound
	}
	if start < 0 || max < 0 {
		return nil, host.BadArgument
	}
	body, ok := r.Bodies[b]
	if !ok {
		return nil, host.NotFound
	}
	body = body[min(start, len(body)):]
	return slices.Clone(body[:min(max, len(body))]), host.OK
}

func (h *Host) Resume(d host.Direction) host.Status {
	h.Calls["Resume"]++
	if r := h.request(); r != nil {
		r.Resumed[d]++
	}
	return host.OK
}

func (h *Host) Answer(code uint32, details string, body []byte, headers []byte, grpcStatus int32) host.Status {
	h.Calls["Answer"]++
	r := h.request()
	if r == nil {
		return host.OK
	}
	r.Answers++
	if r.Answer != nil { // as in Envoy, only the first counts
		return host.OK
	}
	a := &Answer{
		Code:       code,
		Details:    string([]byte(details)),
		Body:       slices.Clone(body),
		GRPCStatus: grpcStatus,
	}
	p := host.ReadPairs(headers)
	for name, value, ok := p.Next(); ok; name, value, ok = p.Next() {
		a.Headers = append(a.Headers, clone(name, value))
	}
	r.Answer = a
	return host.OK
}
