// Package plugin joins the engine to a proxy: it holds a request while Redis is
// asked, lets it go on or answers it, and counts what happened. It makes no
// decision of its own.
package plugin

import (
	"sluice/internal/goabi"
	"sluice/internal/host"
	"sluice/internal/link"
)

// VM is one worker's virtual machine. Several configurations may live in one
// while the proxy changes from one to the next.
type VM struct {
	host    host.Host
	streams map[uint32]*link.Pipe // by stream token
	calls   []callLink
	copies  copies
	now     int64 // what steady said last
}

// NewVM makes the machine's context over a host.
func NewVM(h host.Host) *VM {
	return &VM{host: h, streams: make(map[uint32]*link.Pipe)}
}

// steady reads the steady clock, once a callback: for what comes after, now is
// exact enough.
func (vm *VM) steady() int64 {
	vm.now = vm.host.Steady()
	return vm.now
}

// NewPluginContext makes one configuration's context.
func (vm *VM) NewPluginContext(id uint32) goabi.Plugin {
	return &worker{vm: vm, host: vm.host, id: id}
}

// StreamMessage takes n bytes that came on a stream; unknown tokens are old
// streams' and are ignored.
func (vm *VM) StreamMessage(token uint32, n int) {
	p := vm.streams[token]
	if p == nil {
		return
	}
	b, s := vm.host.StreamMessage(n)
	if s != host.OK || len(b) == 0 {
		return
	}
	p.Received(vm.steady(), token, b)
}

// StreamClosed takes the end of a stream. The link then has the transport close
// it, which frees the proxy's side.
func (vm *VM) StreamClosed(token uint32, code uint32) {
	if p := vm.streams[token]; p != nil {
		p.Closed(vm.steady(), token, closeReason(code))
	}
}

// closeReason names the gRPC status that a stream ended with.
func closeReason(code uint32) string {
	switch code {
	case 0:
		return "closed"
	case 13:
		return "connection lost"
	case 14:
		return "cluster unavailable"
	}
	return "closed by the proxy"
}
