//go:build wasip1

package body

import "sluice/internal/goabi"

//go:wasmexport proxy_on_request_body
func onRequestBody(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_request_body", id, &action)
	if s := goabi.StreamOf(id); s != nil {
		action = uint32(s.OnHttpRequestBody(int(size), endOfStream != 0))
	}
	return action
}

//go:wasmexport proxy_on_response_body
func onResponseBody(id, size, endOfStream uint32) (action uint32) {
	defer goabi.Recover("proxy_on_response_body", id, &action)
	if s := goabi.StreamOf(id); s != nil {
		action = uint32(s.OnHttpResponseBody(int(size), endOfStream != 0))
	}
	return action
}
