//go:build wasip1

package goabi

// Callouts belong to the root context, whichever context is effective.

// HTTPCall sends one HTTP request to a cluster; headers must hold :method, :path
// and :authority. Its answer comes through proxy_on_http_call_response (package
// goabi/httpcall). BadArgument: no such cluster, or a header is missing.
// timeoutMS 0 is none.
func HTTPCall(upstream string, headers, body, trailers []byte, timeoutMS uint32) (token uint32, s Status) {
	return word(proxyHTTPCall(upstream, text(headers), text(body), text(trailers), timeoutMS, &out.word))
}

// GrpcCall starts a unary call. service is an envoy.config.core.v3.GrpcService
// message, or a cluster's name if it can't be parsed as one. The reply comes
// through OnGrpcReceive, a failure through OnGrpcClose.
func GrpcCall(service []byte, name, method string, metadata, message []byte, timeoutMS uint32) (token uint32, s Status) {
	return word(proxyGrpcCall(text(service), name, method, text(metadata), text(message), timeoutMS, &out.word))
}

// GrpcStream opens a bidirectional stream; service as in GrpcCall.
func GrpcStream(service []byte, name, method string, metadata []byte) (token uint32, s Status) {
	return word(proxyGrpcStream(text(service), name, method, text(metadata), &out.word))
}

// GrpcSend sends one message of a stream; endStream says it is the last.
// NotFound: the token is not open.
func GrpcSend(token uint32, message []byte, endStream bool) Status {
	return proxyGrpcSend(token, text(message), Bool(endStream))
}

// GrpcCancel resets a stream or call at once; the token is dead afterwards.
func GrpcCancel(token uint32) Status { return proxyGrpcCancel(token) }

// GrpcClose ends this side of a stream; the other side may still send.
func GrpcClose(token uint32) Status { return proxyGrpcClose(token) }

// GrpcMessage reads the message that OnGrpcReceive announced, size bytes long.
func GrpcMessage(size uint32) ([]byte, Status) { return GetBufferBytes(BufferGrpcReceive, 0, size) }

// GetStatus explains a failed callout, during its callback only: a gRPC status
// or, for HTTP, a Status, and the host's words.
func GetStatus() (code uint32, message string, s Status) {
	b, s := take(proxyGetStatus(&out.word, &out.ptr, &out.size))
	code, s = word(s)
	return code, text(b), s
}
