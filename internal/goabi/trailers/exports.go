//go:build wasip1 && tinygo && gc

package trailers

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id, n uint32) (action uint32) {
	defer goabi.Recover("proxy_on_request_trailers", id, &action)
	return uint32(sdk.OnRequestTrailers(id, int(n)))
}

//go:wasmexport proxy_on_response_trailers
func onResponseTrailers(id, n uint32) (action uint32) {
	defer goabi.Recover("proxy_on_response_trailers", id, &action)
	return uint32(sdk.OnResponseTrailers(id, int(n)))
}
