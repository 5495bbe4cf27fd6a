//go:build wasip1 && tinygo && gc

package body

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

//go:wasmexport proxy_on_request_body
func onRequestBody(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_request_body", id, &action)
	return uint32(sdk.OnRequestBody(id, int(size), endOfStream != 0))
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_response_body", id, &action)
	return uint32(sdk.OnResponseBody(id, int(size), endOfStream != 0))
}
