//go:build wasip1 && tinygo && gc

package done

import (
	"sluice/internal/goabi"
	"sluice/internal/goabi/internal/sdk"
)

// OnRequest, if not nil, is told of every context that is done. The SDK has no
// callback for a request's, which over HTTP/3 is the only word of its end.
var OnRequest func(id uint32)

//go:wasmexport proxy_on_done
func onDone(id uint32) (done uint32) {
	// A context that panics here has nothing left to wait for.
	done = 1
	defer goabi.Recover("proxy_on_done", id, nil)
	if OnRequest != nil {
		OnRequest(id)
	}
	done = goabi.Bool(sdk.OnDone(id))
	return done
}
