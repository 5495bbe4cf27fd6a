//go:build wasip1 && tinygo && gc

package goabi

import _ "unsafe" // for go:linkname

// Each function here is the body of one declaration in the SDK, of the same
// name but for its first letters.

//go:linkname sdkLog github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyLog
func sdkLog(level uint32, msg *byte, n int) Status {
	return proxyLog(level, view(msg, n))
}

//go:linkname sdkSetTickPeriodMilliseconds github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetTickPeriodMilliseconds
func sdkSetTickPeriodMilliseconds(ms uint32) Status {
	return proxySetTickPeriodMilliseconds(ms)
}

//go:linkname sdkSetEffectiveContext github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetEffectiveContext
func sdkSetEffectiveContext(id uint32) Status {
	return proxySetEffectiveContext(id)
}

//go:linkname sdkDone github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyDone
func sdkDone() Status {
	return proxyDone()
}

//go:linkname sdkCallForeignFunction github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyCallForeignFunction
func sdkCallForeignFunction(name *byte, nameN int, arg *byte, argN int, data **byte, size *int) Status {
	return takeInto(proxyCallForeignFunction(view(name, nameN), view(arg, argN), &out.ptr, &out.size), data, size)
}

//go:linkname sdkGetProperty github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetProperty
func sdkGetProperty(path *byte, pathN int, data **byte, size *int) Status {
	return takeInto(proxyGetProperty(view(path, pathN), &out.ptr, &out.size), data, size)
}

//go:linkname sdkSetProperty github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetProperty
func sdkSetProperty(path *byte, pathN int, value *byte, valueN int) Status {
	return proxySetProperty(view(path, pathN), view(value, valueN))
}

//go:linkname sdkGetHeaderMapPairs github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetHeaderMapPairs
func sdkGetHeaderMapPairs(m uint32, data **byte, size *int) Status {
	return takeInto(proxyGetHeaderMapPairs(m, &out.ptr, &out.size), data, size)
}

//go:linkname sdkSetHeaderMapPairs github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetHeaderMapPairs
func sdkSetHeaderMapPairs(m uint32, pairs *byte, n int) Status {
	return proxySetHeaderMapPairs(m, view(pairs, n))
}

//go:linkname sdkGetHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetHeaderMapValue
func sdkGetHeaderMapValue(m uint32, name *byte, nameN int, data **byte, size *int) Status {
	return takeInto(proxyGetHeaderMapValue(m, view(name, nameN), &out.ptr, &out.size), data, size)
}

//go:linkname sdkAddHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyAddHeaderMapValue
func sdkAddHeaderMapValue(m uint32, name *byte, nameN int, value *byte, valueN int) Status {
	return proxyAddHeaderMapValue(m, view(name, nameN), view(value, valueN))
}

//go:linkname sdkReplaceHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyReplaceHeaderMapValue
func sdkReplaceHeaderMapValue(m uint32, name *byte, nameN int, value *byte, valueN int) Status {
	return proxyReplaceHeaderMapValue(m, view(name, nameN), view(value, valueN))
}

//go:linkname sdkRemoveHeaderMapValue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyRemoveHeaderMapValue
func sdkRemoveHeaderMapValue(m uint32, name *byte, nameN int) Status {
	return proxyRemoveHeaderMapValue(m, view(name, nameN))
}

//go:linkname sdkGetBufferBytes github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetBufferBytes
func sdkGetBufferBytes(b uint32, start, length int, data **byte, size *int) Status {
	return takeInto(proxyGetBufferBytes(b, uint32(start), uint32(length), &out.ptr, &out.size), data, size)
}

//go:linkname sdkSetBufferBytes github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetBufferBytes
func sdkSetBufferBytes(b uint32, start, length int, value *byte, valueN int) Status {
	return proxySetBufferBytes(b, uint32(start), uint32(length), view(value, valueN))
}

//go:linkname sdkContinueStream github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyContinueStream
func sdkContinueStream(stream uint32) Status {
	return proxyContinueStream(stream)
}

//go:linkname sdkCloseStream github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyCloseStream
func sdkCloseStream(stream uint32) Status {
	return proxyCloseStream(stream)
}

//go:linkname sdkSendLocalResponse github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySendLocalResponse
func sdkSendLocalResponse(code uint32, details *byte, detailsN int, body *byte, bodyN int, headers *byte, headersN int, grpcStatus int32) Status {
	return proxySendLocalResponse(code, view(details, detailsN), view(body, bodyN), view(headers, headersN), grpcStatus)
}

//go:linkname sdkHttpCall github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyHttpCall
func sdkHttpCall(upstream *byte, upstreamN int, headers *byte, headersN int, body *byte, bodyN int, trailers *byte, trailersN int, timeoutMS uint32, token *uint32) Status {
	v, s := word(proxyHTTPCall(view(upstream, upstreamN), view(headers, headersN), view(body, bodyN), view(trailers, trailersN), timeoutMS, &out.word))
	*token = v
	return s
}

//go:linkname sdkDefineMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyDefineMetric
func sdkDefineMetric(kind uint32, name *byte, n int, id *uint32) Status {
	v, s := word(proxyDefineMetric(kind, view(name, n), &out.word))
	*id = v
	return s
}

//go:linkname sdkIncrementMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyIncrementMetric
func sdkIncrementMetric(id uint32, delta int64) Status {
	return proxyIncrementMetric(id, delta)
}

//go:linkname sdkRecordMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyRecordMetric
func sdkRecordMetric(id uint32, value uint64) Status {
	return proxyRecordMetric(id, value)
}

//go:linkname sdkGetMetric github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetMetric
func sdkGetMetric(id uint32, value *uint64) Status {
	v, s := long(proxyGetMetric(id, &out.long))
	*value = v
	return s
}

//go:linkname sdkGetSharedData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyGetSharedData
func sdkGetSharedData(key *byte, keyN int, data **byte, size *int, cas *uint32) Status {
	v, s := word(takeInto(proxyGetSharedData(view(key, keyN), &out.ptr, &out.size, &out.word), data, size))
	*cas = v
	return s
}

//go:linkname sdkSetSharedData github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxySetSharedData
func sdkSetSharedData(key *byte, keyN int, value *byte, valueN int, cas uint32) Status {
	return proxySetSharedData(view(key, keyN), view(value, valueN), cas)
}

//go:linkname sdkRegisterSharedQueue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyRegisterSharedQueue
func sdkRegisterSharedQueue(name *byte, n int, id *uint32) Status {
	v, s := word(proxyRegisterSharedQueue(view(name, n), &out.word))
	*id = v
	return s
}

//go:linkname sdkResolveSharedQueue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyResolveSharedQueue
func sdkResolveSharedQueue(vmID *byte, vmIDN int, name *byte, nameN int, id *uint32) Status {
	v, s := word(proxyResolveSharedQueue(view(vmID, vmIDN), view(name, nameN), &out.word))
	*id = v
	return s
}

//go:linkname sdkEnqueueSharedQueue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyEnqueueSharedQueue
func sdkEnqueueSharedQueue(id uint32, value *byte, n int) Status {
	return proxyEnqueueSharedQueue(id, view(value, n))
}

//go:linkname sdkDequeueSharedQueue github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal.ProxyDequeueSharedQueue
func sdkDequeueSharedQueue(id uint32, data **byte, size *int) Status {
	return takeInto(proxyDequeueSharedQueue(id, &out.ptr, &out.size), data, size)
}
