package plugin

import (
	"sluice/internal/breaker"
	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/link"
	"sluice/internal/slot"
)

const (
	// clusterPipes is how many pipes a worker has to a Redis Cluster. Envoy's
	// redis_proxy answers a pipe's calls in order, so that a node which stalls holds
	// up what is behind it in the same pipe.
	clusterPipes = 4
	// clusterLanes is into how many breakers' shares the hash slots are divided,
	// each next to the other, as they usually are among nodes: a node that fails
	// opens those of its own slots. 12 parts fall together with those of 2, 3, 4, 6
	// and 12 equal nodes.
	clusterLanes = 12
)

// lane is a share of the hash slots, with a breaker of its own. Several may use
// one pipe.
type lane struct {
	pipe    link.Link
	breaker breaker.Breaker
}

// openLanes makes so many pipes and lanes.
func (w *worker) openLanes(pipes, lanes int) {
	o := w.pipeOptions()
	for range pipes {
		w.pipes = append(w.pipes, w.newLink(o))
	}
	w.lanes = make([]lane, lanes)
	for i := range w.lanes {
		w.lanes[i] = lane{pipe: w.pipes[i*pipes/lanes], breaker: breaker.New(breaker.Options{Rand: w.random})}
	}
	w.pipe, w.breaker = w.pipes[0], &w.lanes[0].breaker
}

// newLink makes a way to Redis of the configured kind.
func (w *worker) newLink(o link.Options) link.Link {
	switch w.policy.Redis.Link {
	case config.HTTPLink:
		return w.newHTTPLink(o)
	case config.HostLink:
		return w.newHostLink(o)
	}
	t := &transport{w: w}
	t.pipe = link.NewPipe(t, o)
	return t.pipe
}

// lane is the way to a hash slot.
func (w *worker) lane(s uint16) *lane {
	return &w.lanes[int(s)*len(w.lanes)/slot.Count]
}

// laneOf is the way to a decision's counters.
func (w *worker) laneOf(d *engine.Decision) *lane { return w.lane(d.Slot()) }

// laneTo is the way to a key.
func (w *worker) laneTo(key []byte) *lane {
	if len(w.lanes) == 1 {
		return &w.lanes[0]
	}
	return w.lane(slot.Of(key))
}

// anyOpen reports whether some breaker is open.
func (w *worker) anyOpen() bool {
	for i := range w.lanes {
		if w.lanes[i].breaker.IsOpen() {
			return true
		}
	}
	return false
}
