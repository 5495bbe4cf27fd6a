//go:build wasip1

package plugin

import (
	"sluice/internal/goabi"
	_ "sluice/internal/goabi/body"
	_ "sluice/internal/goabi/done"
	"sluice/internal/goabi/httpcall"
	_ "sluice/internal/goabi/trailers"
	"sluice/internal/host"
)

// Run joins the plugin to the proxy that loads the module. It is called while
// the module initialises: main never runs in a proxy.
func Run() {
	vm := NewVM(host.Wasm{})
	goabi.Serve(contextsOf(vm))
	goabi.OnGrpcReceive = func(_, token, size uint32) { vm.StreamMessage(token, int(size)) }
	goabi.OnGrpcClose = func(_, token, code uint32) { vm.StreamClosed(token, code) }
	httpcall.OnResponse = func(_, token, headers, size, _ uint32) {
		vm.HTTPAnswered(token, int(headers), int(size))
	}
}
