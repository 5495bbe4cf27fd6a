//go:build wasip1 && tinygo && gc

package httpcall

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

// OnResponse, if set, is asked before the SDK: it takes the answers to calls
// that goabi.HTTPCall made, reports true for those, and leaves the others to the
// SDK. headers and trailers are counts, size is the body's in bytes; all three
// are 0 when no answer came (goabi.GetStatus tells why). The effective context
// is the root.
var OnResponse func(rootID, token, headers, size, trailers uint32) bool

//go:wasmexport proxy_on_http_call_response
func onHTTPCallResponse(rootID, token, headers, size, trailers uint32) {
	defer goabi.Recover("proxy_on_http_call_response", rootID, nil)
	if OnResponse != nil && OnResponse(rootID, token, headers, size, trailers) {
		return
	}
	sdk.OnHTTPCallResponse(rootID, token, int(headers), int(size), int(trailers))
}
