//go:build wasip1

package httpcall

import "sluice/internal/goabi"

// OnResponse takes the answers to calls that goabi.HTTPCall made. headers and
// trailers are counts, size is the body's in bytes; all three are 0 when no answer
// came (goabi.GetStatus tells why). The effective context is the root. Tokens may be
// unknown, as those of goabi.OnGrpcClose.
var OnResponse func(rootID, token, headers, size, trailers uint32)

//go:wasmexport proxy_on_http_call_response
func onHTTPCallResponse(rootID, token, headers, size, trailers uint32) {
	defer goabi.Recover("proxy_on_http_call_response", rootID, nil)
	if OnResponse != nil {
		OnResponse(rootID, token, headers, size, trailers)
	}
}
