//go:build wasip1 && tinygo && gc

package goabi

import "sluice/internal/goabi/internal/sdk"

// The gRPC callbacks, which the SDK lacks. Both get the root context's
// identifier first. Tokens may be unknown: a stream that fails while it is
// opened is closed under a token that its opener never got.
var (
	// OnGrpcReceive says that a message of size bytes came; GrpcMessage reads
	// it, during this callback only.
	OnGrpcReceive func(rootID, token, size uint32)
	// OnGrpcClose says that the other side ended the stream or call with a gRPC
	// status. GrpcCancel must follow for a stream, and ends the token's life.
	OnGrpcClose func(rootID, token, status uint32)
)

// Its presence tells the host which ABI this is.
//
//go:wasmexport proxy_abi_version_0_2_1
func proxyABIVersion() {}

//go:wasmexport proxy_on_vm_start
func proxyOnVMStart(rootID, size uint32) (ok uint32) {
	defer Recover("proxy_on_vm_start", rootID, nil)
	return Bool(bool(sdk.OnVMStart(rootID, int(size))))
}

//go:wasmexport proxy_on_context_create
func proxyOnContextCreate(id, parentID uint32) {
	defer Recover("proxy_on_context_create", id, nil)
	sdk.OnContextCreate(id, parentID)
}

//go:wasmexport proxy_on_configure
func proxyOnConfigure(rootID, size uint32) (ok uint32) {
	defer Recover("proxy_on_configure", rootID, nil)
	return Bool(bool(sdk.OnConfigure(rootID, int(size))))
}

//go:wasmexport proxy_on_tick
func proxyOnTick(rootID uint32) {
	defer Recover("proxy_on_tick", rootID, nil)
	sdk.OnTick(rootID)
}

//go:wasmexport proxy_on_request_headers
func proxyOnRequestHeaders(id, n, endOfStream uint32) (action uint32) {
	defer Recover("proxy_on_request_headers", id, &action)
	return uint32(sdk.OnRequestHeaders(id, int(n), endOfStream != 0))
}

//go:wasmexport proxy_on_response_headers
func proxyOnResponseHeaders(id, n, endOfStream uint32) (action uint32) {
	defer Recover("proxy_on_response_headers", id, &action)
	return uint32(sdk.OnResponseHeaders(id, int(n), endOfStream != 0))
}

//go:wasmexport proxy_on_delete
func proxyOnDelete(id uint32) {
	defer Recover("proxy_on_delete", id, nil)
	sdk.OnDelete(id)
}

//go:wasmexport proxy_on_grpc_receive
func proxyOnGrpcReceive(rootID, token, size uint32) {
	defer Recover("proxy_on_grpc_receive", rootID, nil)
	if OnGrpcReceive != nil {
		OnGrpcReceive(rootID, token, size)
	}
}

//go:wasmexport proxy_on_grpc_close
func proxyOnGrpcClose(rootID, token, status uint32) {
	defer Recover("proxy_on_grpc_close", rootID, nil)
	if OnGrpcClose != nil {
		OnGrpcClose(rootID, token, status)
	}
}

// Bool is how a callback answers yes or no.
func Bool(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}
