//go:build wasip1

package done

import "sluice/internal/goabi"

//go:wasmexport proxy_on_done
func onDone(id uint32) (done uint32) {
	// A context that panics here has nothing left to wait for.
	done = 1
	defer goabi.Recover("proxy_on_done", id, nil)
	done = goabi.Bool(goabi.EndOrAsk(id))
	return done
}
