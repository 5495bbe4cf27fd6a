//go:build wasip1

package goabi

// Every proxy-wasm 0.2.1 host call, as the host knows it. A string argument
// travels as address and length; a *uint32 or *uint64 is written by the host.
//
// None of them is go:noescape on purpose: a host call that returns bytes calls
// back into this module for memory, on the caller's own stack, which may then
// grow and move. An address into that stack would be stale when the host writes
// to it, so arguments live on the heap and results in package variables.

//go:wasmimport env proxy_log
func proxyLog(level uint32, msg string) Status

//go:wasmimport env proxy_get_log_level
func proxyGetLogLevel(level *uint32) Status

//go:wasmimport env proxy_get_current_time_nanoseconds
func proxyGetCurrentTimeNanoseconds(ns *uint64) Status

//go:wasmimport env proxy_set_tick_period_milliseconds
func proxySetTickPeriodMilliseconds(ms uint32) Status

//go:wasmimport env proxy_set_effective_context
func proxySetEffectiveContext(id uint32) Status

//go:wasmimport env proxy_done
func proxyDone() Status

//go:wasmimport env proxy_get_status
func proxyGetStatus(code, ptr, size *uint32) Status

//go:wasmimport env proxy_call_foreign_function
func proxyCallForeignFunction(name, arg string, ptr, size *uint32) Status

//go:wasmimport env proxy_get_property
func proxyGetProperty(path string, ptr, size *uint32) Status

//go:wasmimport env proxy_set_property
func proxySetProperty(path, value string) Status

//go:wasmimport env proxy_get_header_map_pairs
func proxyGetHeaderMapPairs(m uint32, ptr, size *uint32) Status

//go:wasmimport env proxy_set_header_map_pairs
func proxySetHeaderMapPairs(m uint32, pairs string) Status

//go:wasmimport env proxy_get_header_map_size
func proxyGetHeaderMapSize(m uint32, size *uint32) Status

//go:wasmimport env proxy_get_header_map_value
func proxyGetHeaderMapValue(m uint32, name string, ptr, size *uint32) Status

//go:wasmimport env proxy_add_header_map_value
func proxyAddHeaderMapValue(m uint32, name, value string) Status

//go:wasmimport env proxy_replace_header_map_value
func proxyReplaceHeaderMapValue(m uint32, name, value string) Status

//go:wasmimport env proxy_remove_header_map_value
func proxyRemoveHeaderMapValue(m uint32, name string) Status

//go:wasmimport env proxy_get_buffer_bytes
func proxyGetBufferBytes(b, start, length uint32, ptr, size *uint32) Status

//go:wasmimport env proxy_get_buffer_status
func proxyGetBufferStatus(b uint32, length, flags *uint32) Status

//go:wasmimport env proxy_set_buffer_bytes
func proxySetBufferBytes(b, start, length uint32, data string) Status

//go:wasmimport env proxy_continue_stream
func proxyContinueStream(stream uint32) Status

//go:wasmimport env proxy_close_stream
func proxyCloseStream(stream uint32) Status

//go:wasmimport env proxy_send_local_response
func proxySendLocalResponse(code uint32, details, body, headers string, grpcStatus int32) Status

//go:wasmimport env proxy_http_call
func proxyHTTPCall(upstream, headers, body, trailers string, timeoutMS uint32, token *uint32) Status

//go:wasmimport env proxy_grpc_call
func proxyGrpcCall(service, name, method, metadata, message string, timeoutMS uint32, token *uint32) Status

//go:wasmimport env proxy_grpc_stream
func proxyGrpcStream(service, name, method, metadata string, token *uint32) Status

//go:wasmimport env proxy_grpc_send
func proxyGrpcSend(token uint32, message string, endStream uint32) Status

//go:wasmimport env proxy_grpc_cancel
func proxyGrpcCancel(token uint32) Status

//go:wasmimport env proxy_grpc_close
func proxyGrpcClose(token uint32) Status

//go:wasmimport env proxy_define_metric
func proxyDefineMetric(kind uint32, name string, id *uint32) Status

//go:wasmimport env proxy_increment_metric
func proxyIncrementMetric(id uint32, delta int64) Status

//go:wasmimport env proxy_record_metric
func proxyRecordMetric(id uint32, value uint64) Status

//go:wasmimport env proxy_get_metric
func proxyGetMetric(id uint32, value *uint64) Status

//go:wasmimport env proxy_get_shared_data
func proxyGetSharedData(key string, ptr, size, cas *uint32) Status

//go:wasmimport env proxy_set_shared_data
func proxySetSharedData(key, value string, cas uint32) Status

//go:wasmimport env proxy_register_shared_queue
func proxyRegisterSharedQueue(name string, id *uint32) Status

//go:wasmimport env proxy_resolve_shared_queue
func proxyResolveSharedQueue(vmID, name string, id *uint32) Status

//go:wasmimport env proxy_enqueue_shared_queue
func proxyEnqueueSharedQueue(id uint32, value string) Status

//go:wasmimport env proxy_dequeue_shared_queue
func proxyDequeueSharedQueue(id uint32, ptr, size *uint32) Status

//go:wasmimport wasi_snapshot_preview1 random_get
func randomGet(buf *byte, size uint32) uint32

//go:wasmimport wasi_snapshot_preview1 clock_time_get
func clockTimeGet(clock uint32, precision uint64, ns *uint64) uint32

//go:wasmimport wasi_snapshot_preview1 environ_sizes_get
func environSizesGet(count, size *uint32) uint32

//go:wasmimport wasi_snapshot_preview1 environ_get
func environGet(places *uint32, text *byte) uint32
