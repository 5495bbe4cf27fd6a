//go:build !wasip1

package sdkhost

import (
	"slices"
	"unsafe"

	_ "github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm" // holds the linked functions

	"sluice/internal/host"
)

// The SDK's host calls, which outside a module go to the proxytest emulator. They
// are used directly because the SDK's public functions lose the response code
// details, the numbers of statuses and generic maps.

//go:linkname proxyLog github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyLog
func proxyLog(level uint32, msg *byte, n int) uint32

//go:linkname proxyGetHeaderMapPairs github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetHeaderMapPairs
func proxyGetHeaderMapPairs(m uint32, data **byte, size *int) uint32

//go:linkname proxyAddHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyAddHeaderMapValue
func proxyAddHeaderMapValue(m uint32, name *byte, nameN int, value *byte, valueN int) uint32

//go:linkname proxyReplaceHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyReplaceHeaderMapValue
func proxyReplaceHeaderMapValue(m uint32, name *byte, nameN int, value *byte, valueN int) uint32

//go:linkname proxyRemoveHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyRemoveHeaderMapValue
func proxyRemoveHeaderMapValue(m uint32, name *byte, nameN int) uint32

//go:linkname proxyGetProperty github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetProperty
func proxyGetProperty(path *byte, pathN int, data **byte, size *int) uint32

//go:linkname proxySetProperty github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetProperty
func proxySetProperty(path *byte, pathN int, value *byte, valueN int) uint32

//go:linkname proxyGetBufferBytes github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetBufferBytes
func proxyGetBufferBytes(b uint32, start, length int, data **byte, size *int) uint32

//go:linkname proxyContinueStream github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyContinueStream
func proxyContinueStream(stream uint32) uint32

//go:linkname proxySendLocalResponse github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySendLocalResponse
func proxySendLocalResponse(code uint32, details *byte, detailsN int, body *byte, bodyN int, headers *byte, headersN int, grpcStatus int32) uint32

//go:linkname proxySetEffectiveContext github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetEffectiveContext
func proxySetEffectiveContext(id uint32) uint32

//go:linkname proxySetTickPeriodMilliseconds github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetTickPeriodMilliseconds
func proxySetTickPeriodMilliseconds(ms uint32) uint32

//go:linkname proxyDefineMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyDefineMetric
func proxyDefineMetric(kind uint32, name *byte, nameN int, id *uint32) uint32

//go:linkname proxyIncrementMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyIncrementMetric
func proxyIncrementMetric(id uint32, delta int64) uint32

//go:linkname proxyRecordMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyRecordMetric
func proxyRecordMetric(id uint32, value uint64) uint32

//go:linkname proxyGetSharedData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetSharedData
func proxyGetSharedData(key *byte, keyN int, data **byte, size *int, cas *uint32) uint32

//go:linkname proxySetSharedData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetSharedData
func proxySetSharedData(key *byte, keyN int, value *byte, valueN int, cas uint32) uint32

//go:linkname proxyHTTPCall github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyHttpCall
func proxyHTTPCall(upstream *byte, upstreamN int, headers *byte, headersN int, body *byte, bodyN int, trailers *byte, trailersN int, timeoutMS uint32, token *uint32) uint32

// result copies what a call returns, since proxytest returns views of its state.
func result(call func(data **byte, size *int) uint32) ([]byte, host.Status) {
	var data *byte
	var size int
	s := host.Status(call(&data, &size))
	if s != host.OK || data == nil {
		return nil, s
	}
	return slices.Clone(unsafe.Slice(data, size)), s
}

func buffer(b uint32, start, max int) ([]byte, host.Status) {
	return result(func(data **byte, size *int) uint32 {
		return proxyGetBufferBytes(b, start, max, data, size)
	})
}

func ptr(s string) *byte { return unsafe.StringData(s) }

func first(b []byte) *byte { return unsafe.SliceData(b) }
