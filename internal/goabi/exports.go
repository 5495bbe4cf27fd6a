//go:build wasip1

package goabi

// contexts are the program's.
var contexts Contexts

// Serve has a program take the host's callbacks. An init function calls it.
func Serve(vm VM) { contexts.VM = vm }

// StreamOf is for the packages below: the stream of a number; nil for none.
func StreamOf(id uint32) Stream { return contexts.Stream(id) }

// PluginOf is for the packages below: the configuration of a number; nil for none.
func PluginOf(id uint32) Plugin { return contexts.Plugin(id) }

// End is for the packages below: it ends a stream.
func End(id uint32) { contexts.End(id) }

// Forget is for package deleted: it forgets a context.
func Forget(id uint32) { contexts.Delete(id) }

// EndOrAsk is for package done: it ends a stream, or asks a configuration whether
// it may go.
func EndOrAsk(id uint32) bool { return contexts.Done(id) }

// The gRPC callbacks. Both get the root context's identifier first. Tokens may be
// unknown: a stream that fails while it is opened is closed under a token that its
// opener never got.
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

//go:wasmexport proxy_on_context_create
func proxyOnContextCreate(id, parentID uint32) {
	defer Recover("proxy_on_context_create", id, nil)
	contexts.Create(id, parentID)
}

//go:wasmexport proxy_on_configure
func proxyOnConfigure(rootID, size uint32) (ok uint32) {
	defer Recover("proxy_on_configure", rootID, nil)
	if p := contexts.Plugin(rootID); p != nil {
		ok = Bool(p.OnPluginStart(int(size)))
	}
	return ok
}

//go:wasmexport proxy_on_tick
func proxyOnTick(rootID uint32) {
	defer Recover("proxy_on_tick", rootID, nil)
	if p := contexts.Plugin(rootID); p != nil {
		p.OnTick()
	}
}

//go:wasmexport proxy_on_request_headers
func proxyOnRequestHeaders(id, n, endOfStream uint32) (action uint32) {
	defer Recover("proxy_on_request_headers", id, &action)
	if s := contexts.Stream(id); s != nil {
		action = uint32(s.OnHttpRequestHeaders(int(n), endOfStream != 0))
	}
	return action
}

//go:wasmexport proxy_on_response_headers
func proxyOnResponseHeaders(id, n, endOfStream uint32) (action uint32) {
	defer Recover("proxy_on_response_headers", id, &action)
	if s := contexts.Stream(id); s != nil {
		action = uint32(s.OnHttpResponseHeaders(int(n), endOfStream != 0))
	}
	return action
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
