package chaos

import (
	"time"

	"sluice/chaos/faultproxy"
)

// network breaks the way to Redis for a while.
func network(r *run, f faultproxy.Faults, d time.Duration) {
	r.bed.proxy.Set(f)
	time.Sleep(d)
	r.bed.proxy.Set(faultproxy.Faults{})
}

// cuts resets all connections to Redis again and again.
func cuts(r *run, times int, pause time.Duration) {
	for range times {
		r.bed.proxy.Cut()
		time.Sleep(pause)
	}
}
