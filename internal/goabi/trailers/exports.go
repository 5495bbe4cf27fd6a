//go:build wasip1

package trailers

import "sluice/internal/goabi"

//go:wasmexport proxy_on_response_trailers
func onResponseTrailers(id, n uint32) (action uint32) {
	defer goabi.Recover("proxy_on_response_trailers", id, &action)
	if s := goabi.StreamOf(id); s != nil {
		action = uint32(s.OnHttpResponseTrailers(int(n)))
	}
	return action
}
