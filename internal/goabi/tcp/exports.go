//go:build wasip1 && tinygo && gc

package tcp

import (
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

//go:wasmexport proxy_on_new_connection
func onNewConnection(id uint32) (action uint32) {
	defer goabi.Recover("proxy_on_new_connection", id, &action)
	return uint32(sdk.OnNewConnection(id))
}

//go:wasmexport proxy_on_downstream_data
func onDownstreamData(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_downstream_data", id, &action)
	return uint32(sdk.OnDownstreamData(id, int(size), endOfStream != 0))
}

//go:wasmexport proxy_on_upstream_data
func onUpstreamData(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_upstream_data", id, &action)
	return uint32(sdk.OnUpstreamData(id, int(size), endOfStream != 0))
}

//go:wasmexport proxy_on_downstream_connection_close
func onDownstreamConnectionClose(id, peer uint32) {
	defer goabi.Recover("proxy_on_downstream_connection_close", id, nil)
	sdk.OnDownstreamConnectionClose(id, types.PeerType(peer))
}

//go:wasmexport proxy_on_upstream_connection_close
func onUpstreamConnectionClose(id, peer uint32) {
	defer goabi.Recover("proxy_on_upstream_connection_close", id, nil)
	sdk.OnUpstreamConnectionClose(id, types.PeerType(peer))
}
