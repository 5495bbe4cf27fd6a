//go:build wasip1 && higress

package redis

import (
	"unsafe"

	"sluice/internal/goabi"
)

// BufferReply is the buffer with the reply while OnReply runs.
const BufferReply uint32 = 9

// OnReply is told of each reply: a RESP2 value of size bytes, an error reply too.
// Status 0 is a reply; anything else is none: a timeout, a lost connection. The
// effective context is the root.
var OnReply func(rootID, token, status, size uint32)

//go:wasmimport env proxy_redis_init
func proxyRedisInit(cluster, username, password string, timeoutMS uint32) goabi.Status

//go:wasmimport env proxy_redis_call
func proxyRedisCall(cluster, command string, token *uint32) goabi.Status

// outToken receives a token; a package variable, because it never moves.
var outToken uint32

// Init sets how connections to a cluster's Redis log in, and after how many
// milliseconds a connected one that owes a reply is given up. It opens none.
// BadArgument: no such cluster.
func Init(cluster, username, password string, timeoutMS uint32) goabi.Status {
	return proxyRedisInit(cluster, username, password, timeoutMS)
}

// Call sends one encoded command. Some hosts end the whole proxy on an empty one,
// so that is refused here. BadArgument: no such cluster. InternalFailure: it has no
// host.
func Call(cluster string, command []byte) (token uint32, s goabi.Status) {
	if len(command) == 0 {
		return 0, goabi.BadArgument
	}
	s = proxyRedisCall(cluster, unsafe.String(unsafe.SliceData(command), len(command)), &outToken)
	token, outToken = outToken, 0
	if s != goabi.OK {
		return 0, s
	}
	return token, goabi.OK
}

//go:wasmexport proxy_on_redis_call_response
func onRedisCallResponse(rootID, token, status, size uint32) {
	defer goabi.Recover("proxy_on_redis_call_response", rootID, nil)
	if OnReply != nil {
		OnReply(rootID, token, status, size)
	}
}
