package hosttest

import (
	"slices"

	"sluice/internal/host"
)

// Streams are the gRPC streams that were opened. It is part of Host, and serves
// other test doubles that have none of their own.
type Streams struct {
	// OnMessage and OnClose are what the plugin would have exported.
	OnMessage func(token uint32, n int)
	OnClose   func(token uint32, status uint32)
	// Refuse, if not OK, is what opening answers.
	Refuse host.Status
	// Opened holds every stream ever opened, the oldest first.
	Opened []*Stream

	message []byte
}

// Stream is one stream, seen from its other end.
type Stream struct {
	Token                    uint32
	Cluster, Service, Method string
	Sent                     [][]byte // messages that the plugin sent
	Cancelled                bool     // by the plugin
	Closed                   bool     // by this end

	all *Streams
}

// Last is the stream opened last, nil when there is none.
func (s *Streams) Last() *Stream {
	if len(s.Opened) == 0 {
		return nil
	}
	return s.Opened[len(s.Opened)-1]
}

// Receive sends a message to the plugin. It reports false, and does nothing, if
// the stream has ended.
func (st *Stream) Receive(msg []byte) bool {
	if st.Cancelled || st.Closed {
		return false
	}
	st.all.message = msg
	defer func() { st.all.message = nil }()
	if st.all.OnMessage != nil {
		st.all.OnMessage(st.Token, len(msg))
	}
	return true
}

// Close ends the stream with a gRPC status. It reports false if it had ended.
func (st *Stream) Close(status uint32) bool {
	if st.Cancelled || st.Closed {
		return false
	}
	st.Closed = true
	if st.all.OnClose != nil {
		st.all.OnClose(st.Token, status)
	}
	return true
}

// TakeSent returns the bytes sent since it was last called, joined.
func (st *Stream) TakeSent() []byte {
	b := slices.Concat(st.Sent...)
	st.Sent = nil
	return b
}

// OpenStream, SendStream, CancelStream and StreamMessage are those of host.Host.
func (s *Streams) OpenStream(cluster, service, method string) (uint32, host.Status) {
	if s.Refuse != host.OK {
		return 0, s.Refuse
	}
	st := &Stream{
		Token:   uint32(len(s.Opened)+1)*4 + 2, // as Envoy numbers them
		Cluster: string([]byte(cluster)),
		Service: string([]byte(service)),
		Method:  string([]byte(method)),
		all:     s,
	}
	s.Opened = append(s.Opened, st)
	return st.Token, host.OK
}

func (s *Streams) SendStream(token uint32, msg []byte) host.Status {
	st := s.find(token)
	if st == nil || st.Cancelled {
		return host.NotFound
	}
	if !st.Closed { // Envoy takes messages for a closed stream and drops them
		st.Sent = append(st.Sent, slices.Clone(msg))
	}
	return host.OK
}

func (s *Streams) CancelStream(token uint32) host.Status {
	st := s.find(token)
	if st == nil || st.Cancelled {
		return host.NotFound
	}
	st.Cancelled = true
	return host.OK
}

func (s *Streams) StreamMessage(n int) ([]byte, host.Status) {
	if n < 0 {
		return nil, host.BadArgument
	}
	return slices.Clone(s.message[:min(n, len(s.message))]), host.OK
}

func (s *Streams) find(token uint32) *Stream {
	for _, st := range s.Opened {
		if st.Token == token {
			return st
		}
	}
	return nil
}

func (h *Host) OpenStream(cluster, service, method string) (uint32, host.Status) {
	h.Calls["OpenStream"]++
	return h.Streams.OpenStream(cluster, service, method)
}

func (h *Host) SendStream(token uint32, msg []byte) host.Status {
	h.Calls["SendStream"]++
	return h.Streams.SendStream(token, msg)
}

func (h *Host) CancelStream(token uint32) host.Status {
	h.Calls["CancelStream"]++
	return h.Streams.CancelStream(token)
}

func (h *Host) StreamMessage(n int) ([]byte, host.Status) {
	h.Calls["StreamMessage"]++
	return h.Streams.StreamMessage(n)
}
