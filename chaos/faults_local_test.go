package chaos

import (
	"time"

	"sluice/chaos/load"
	"sluice/internal/history"
)

// shared are requests for the limit whose gateways decide by themselves while
// Redis is away.
func shared() *load.Stream {
	s := hot(share, "", 130)
	s.Header = func(_ int, set func(k, v string)) {
		set("X-Key", "shared")
		set("X-Debug", debugSecret)
	}
	return s
}

// localShares kills Redis, and checks what gateways admitted by themselves.
func localShares(r *run) {
	killRedis(r, time.Second)
	r.check = func(answers []load.Answer, _ []admission) {
		const shares = sharing * (limit / sharing) // a share is rounded down
		var all, local []history.Admission
		for i := range answers {
			a := &answers[i]
			if a.Stream.Name != share || a.Err != nil {
				continue
			}
			if a.Status != 200 && a.Status != 429 || mode(a) != "local" && !known(a) {
				r.wrong("share", "%s answered %d in mode %q %v after the fault began", a.Stream.Path, a.Status, mode(a), a.Sent.Sub(r.begun))
			}
			if a.Status != 200 {
				continue
			}
			x := history.Admission{At: us(a.Received), Cost: 1}
			if at := a.Int("X-Sluice-At"); at > 0 && byRedis(a) {
				x.At = at
			}
			all = append(all, x)
			if mode(a) == "local" {
				local = append(local, x)
			}
		}
		if len(local) == 0 {
			r.Error("no gateway admitted anything by itself")
		}
		// An answer's time is a little later than its decision's, so that a window may
		// seem to hold what the next one does.
		if n := most(local, window-20*time.Millisecond); n > shares {
			r.Errorf("a window holds %d that gateways admitted by themselves, and their shares are %d", n, shares)
		}
		// Those of Redis's first life were forgotten with it.
		if n := most(all, window); n > 2*limit {
			r.Errorf("a window holds %d of all, more than twice the limit of %d", n, limit)
		}
		r.Logf("by themselves gateways admitted %d, at most %d in a window; of all a window held %d", len(local), most(local, window), most(all, window))
		var charged float64
		for i, s := range r.bed.stats(r.T) {
			charged += s.Sum("sluice_reconciled_units_total", nil) - r.before[i].Sum("sluice_reconciled_units_total", nil)
		}
		if charged == 0 {
			r.Error("nothing was charged to Redis afterwards")
		}
	}
}
