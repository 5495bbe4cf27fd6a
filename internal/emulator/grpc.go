package emulator

import (
	"slices"
)

// Stream is a gRPC stream that the module opened, seen from its other end.
type Stream struct {
	Token                    uint32
	Cluster, Service, Method string
	Metadata                 Headers

	vm           *VM
	root         *vmContext
	sent         [][]byte
	localClosed  bool
	remoteClosed bool
	cancelled    bool
	gone         bool // the token means nothing any more
	tcp          *bridge
}

// Streams are all streams ever opened, the oldest first.
func (vm *VM) Streams() []*Stream { return vm.streams }

// Stream returns the i-th stream ever opened; nil when there is none.
func (vm *VM) Stream(i int) *Stream {
	if i < 0 || i >= len(vm.streams) {
		return nil
	}
	return vm.streams[i]
}

func (vm *VM) stream(token uint32) *Stream {
	for _, s := range vm.streams {
		if s.Token == token && !s.gone {
			return s
		}
	}
	return nil
}

// Sent are the messages that the module sent and that weren't taken.
func (s *Stream) Sent() [][]byte { return s.sent }

// TakeSent returns the bytes of all messages since it was last called, joined.
func (s *Stream) TakeSent() []byte {
	b := slices.Concat(s.sent...)
	s.sent = nil
	return b
}

// LocalClosed reports that the module has said it sends no more.
func (s *Stream) LocalClosed() bool { return s.localClosed }

// Cancelled reports that the module reset the stream.
func (s *Stream) Cancelled() bool { return s.cancelled }

// Open reports whether messages can still go to the module.
func (s *Stream) Open() bool { return !s.gone && !s.remoteClosed }

// Receive sends one message to the module; it does nothing on an ended stream.
func (s *Stream) Receive(message []byte) {
	if !s.Open() {
		return
	}
	s.vm.grpcReceived(s.root, s.Token, message)
}

// ReceiveInitialMetadata sends the header fields that come before messages.
func (s *Stream) ReceiveInitialMetadata(h Headers) {
	if !s.Open() {
		return
	}
	s.vm.grpcInitial = h.lower()
	s.vm.simple(s.root, "proxy_on_grpc_receive_initial_metadata", uint64(s.root.id), uint64(s.Token), uint64(len(h)))
	s.vm.grpcInitial = nil
}

// ReceiveTrailingMetadata sends the header fields that come before the end.
func (s *Stream) ReceiveTrailingMetadata(h Headers) {
	if !s.Open() {
		return
	}
	s.vm.grpcTrailer = h.lower()
	s.vm.simple(s.root, "proxy_on_grpc_receive_trailing_metadata", uint64(s.root.id), uint64(s.Token), uint64(len(h)))
	s.vm.grpcTrailer = nil
}

// Close ends the stream from its other end with a gRPC status. The module must
// cancel it thereupon; its token is of no use until then.
func (s *Stream) Close(status uint32, message string) {
	if !s.Open() {
		return
	}
	s.unbridge()
	s.remoteClosed = true
	s.vm.grpcClosed(s.root, s.Token, status, message)
	if s.localClosed {
		s.gone = true
	}
}

func (s *Stream) send(message []byte, end bool) {
	if s.remoteClosed || s.localClosed {
		s.vm.misused("proxy_grpc_send on stream %d, which has ended", s.Token)
		return
	}
	if s.tcp != nil {
		s.tcp.write(message)
	}
	s.sent = append(s.sent, message)
	if end {
		s.localClosed = true
		s.halfClose()
	}
}

// drop forgets the stream.
func (s *Stream) drop() {
	s.gone = true
	s.unbridge()
}

func (vm *VM) grpcReceived(root *vmContext, token uint32, message []byte) {
	if vm.contexts[root.id] != root {
		return
	}
	vm.grpcBuffer = message
	vm.simple(root, "proxy_on_grpc_receive", uint64(root.id), uint64(token), uint64(len(message)))
	vm.grpcBuffer = nil
}

func (vm *VM) grpcClosed(root *vmContext, token, code uint32, message string) {
	if vm.contexts[root.id] != root {
		return
	}
	vm.statusCode, vm.statusText = code, message
	vm.simple(root, "proxy_on_grpc_close", uint64(root.id), uint64(token), uint64(code))
	vm.statusText = ""
}

// GRPCCall is a unary gRPC call of the module.
type GRPCCall struct {
	Token                    uint32
	Cluster, Service, Method string
	Metadata                 Headers
	Message                  []byte
	TimeoutMS                uint32

	vm               *VM
	root             *vmContext
	ended, cancelled bool
}

// GRPCCalls are all unary calls ever made, the oldest first.
func (vm *VM) GRPCCalls() []*GRPCCall { return vm.grpcCalls }

// Cancelled reports that the module gave the call up.
func (c *GRPCCall) Cancelled() bool { return c.cancelled }

// Reply answers the call; it does nothing if it has ended.
func (c *GRPCCall) Reply(message []byte) {
	if c.ended {
		return
	}
	c.ended = true
	c.vm.grpcReceived(c.root, c.Token, message)
}

// Fail ends the call with a gRPC status.
func (c *GRPCCall) Fail(status uint32, message string) {
	if c.ended {
		return
	}
	c.ended = true
	c.vm.grpcClosed(c.root, c.Token, status, message)
}
