//go:build wasip1

package requesttrailers

import "sluice/internal/goabi"

// Watcher is a goabi.Stream that sees its request's trailers, n fields.
type Watcher interface {
	OnHttpRequestTrailers(n int) goabi.Action
}

//go:wasmexport proxy_on_request_trailers
func onRequestTrailers(id, n uint32) (action uint32) {
	defer goabi.Recover("proxy_on_request_trailers", id, &action)
	if w, ok := goabi.StreamOf(id).(Watcher); ok {
		action = uint32(w.OnHttpRequestTrailers(int(n)))
	}
	return action
}
