//go:build wasip1 && tinygo && gc

package sdk

import (
	_ "unsafe" // for go:linkname

	_ "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm" // holds the linked functions
	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"
)

// Lifecycle.

//go:linkname OnVMStart github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnVMStart
func OnVMStart(rootID uint32, size int) types.OnVMStartStatus

//go:linkname OnContextCreate github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnContextCreate
func OnContextCreate(id, parentID uint32)

//go:linkname OnConfigure github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnConfigure
func OnConfigure(rootID uint32, size int) types.OnPluginStartStatus

//go:linkname OnTick github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnTick
func OnTick(rootID uint32)

//go:linkname OnQueueReady github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnQueueReady
func OnQueueReady(rootID, queueID uint32)

//go:linkname OnLog github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnLog
func OnLog(id uint32)

//go:linkname OnDone github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnDone
func OnDone(id uint32) bool

//go:linkname OnDelete github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnDelete
func OnDelete(id uint32)

// HTTP streams.

//go:linkname OnRequestHeaders github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnRequestHeaders
func OnRequestHeaders(id uint32, n int, endOfStream bool) types.Action

//go:linkname OnRequestBody github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnRequestBody
func OnRequestBody(id uint32, size int, endOfStream bool) types.Action

//go:linkname OnRequestTrailers github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnRequestTrailers
func OnRequestTrailers(id uint32, n int) types.Action

//go:linkname OnResponseHeaders github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnResponseHeaders
func OnResponseHeaders(id uint32, n int, endOfStream bool) types.Action

//go:linkname OnResponseBody github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnResponseBody
func OnResponseBody(id uint32, size int, endOfStream bool) types.Action

//go:linkname OnResponseTrailers github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnResponseTrailers
func OnResponseTrailers(id uint32, n int) types.Action

//go:linkname OnHTTPCallResponse github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnHttpCallResponse
func OnHTTPCallResponse(rootID, token uint32, headers, bodySize, trailers int)

// TCP connections.

//go:linkname OnNewConnection github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnNewConnection
func OnNewConnection(id uint32) types.Action

//go:linkname OnDownstreamData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnDownstreamData
func OnDownstreamData(id uint32, size int, endOfStream bool) types.Action

//go:linkname OnUpstreamData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnUpstreamData
func OnUpstreamData(id uint32, size int, endOfStream bool) types.Action

//go:linkname OnDownstreamConnectionClose github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnDownstreamConnectionClose
func OnDownstreamConnectionClose(id uint32, peer types.PeerType)

//go:linkname OnUpstreamConnectionClose github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.proxyOnUpstreamConnectionClose
func OnUpstreamConnectionClose(id uint32, peer types.PeerType)
