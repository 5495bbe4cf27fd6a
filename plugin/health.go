package plugin

import (
	"errors"

	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/redisproto"
)

// probeTickMS is the tick while the breaker is open.
const probeTickMS = 52

// errOpen is a call that the breaker refused.
var errOpen = errors.New("calls to Redis failed several times in a row")

// ping is the breaker's probe. Redis answers it even while it loads its data or
// follows a master; the call on trial after it tells whether it decides.
var ping = redisproto.AppendCommand(nil, "PING")

// report tells the breaker how a call went.
func (w *worker) report(now int64, f engine.Failure) {
	was := w.breaker.IsOpen()
	if f == engine.NoFailure {
		w.breaker.Success()
	} else {
		w.breaker.Failure(now)
	}
	w.noteBreaker(was)
}

// noteBreaker counts and logs that the breaker opened or closed.
func (w *worker) noteBreaker(was bool) {
	is := w.breaker.IsOpen()
	if is == was {
		return
	}
	if is {
		w.metrics.breakerOpen.add(1)
		w.host.Log(host.Warn, "sluice: Redis failed several times in a row: requests follow on_error at once until it answers again")
		w.tick(min(w.tickMS, probeTickMS))
		return
	}
	w.metrics.breakerOpen.add(-1)
	w.host.Log(host.Info, "sluice: Redis answers again")
}

// probe sends the breaker's probe when its time has come. No request waits for
// it.
func (w *worker) probe(now int64) {
	was := w.breaker.IsOpen()
	due := w.breaker.ProbeDue(now)
	w.noteBreaker(was)
	if !due {
		return
	}
	if err := w.pipe.Send(now, ping, now+w.policy.Redis.TimeoutUS, probe{w}); err != nil {
		w.breaker.ProbeFailed(now)
		return
	}
	w.tick(fastTickMS)
}

// probe is the probe's continuation.
type probe struct{ w *worker }

// Done is link.Call.
func (p probe) Done(reply redisproto.Value, err error) {
	now := p.w.host.Steady()
	if err != nil || reply.Kind == redisproto.Error {
		p.w.breaker.ProbeFailed(now)
		return
	}
	p.w.breaker.Probed(now)
}
