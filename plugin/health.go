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

// report tells the lane's breaker how a call went.
func (w *worker) report(l *lane, now int64, f engine.Failure) {
	was := l.breaker.IsOpen()
	if f == engine.NoFailure {
		l.breaker.Success()
	} else {
		l.breaker.Failure(now)
	}
	w.noteBreaker(l, now, was)
}

// noteBreaker counts and logs that the lane's breaker opened or closed.
func (w *worker) noteBreaker(l *lane, now int64, was bool) {
	is := l.breaker.IsOpen()
	if is == was {
		return
	}
	log := func(level host.Level, kind, text string) {
		// A cluster's lanes open and close one by one.
		if len(w.lanes) == 1 || w.logs.allow(now, kind) {
			w.host.Log(level, text)
		}
	}
	if is {
		w.metrics.breakerOpen.add(1)
		log(host.Warn, "breaker opened", "sluice: Redis failed several times in a row: requests follow on_error at once until it answers again")
		w.tick(min(w.tickMS, probeTickMS))
		return
	}
	w.metrics.breakerOpen.add(-1)
	log(host.Info, "breaker closed", "sluice: Redis answers again")
}

// probe sends the breakers' probes when their time has come. No request waits
// for them.
func (w *worker) probe(now int64) {
	for i := range w.lanes {
		l := &w.lanes[i]
		was := l.breaker.IsOpen()
		due := l.breaker.ProbeDue(now)
		w.noteBreaker(l, now, was)
		if !due {
			continue
		}
		if err := l.pipe.Send(now, ping, now+w.policy.Redis.TimeoutUS, probe{w, l}); err != nil {
			l.breaker.ProbeFailed(now)
			continue
		}
		w.tick(fastTickMS)
	}
}

// probe is the probe's continuation.
type probe struct {
	w *worker
	l *lane
}

// Done is link.Call.
func (p probe) Done(reply redisproto.Value, err error) {
	now := p.w.host.Steady()
	if err != nil || reply.Kind == redisproto.Error {
		p.l.breaker.ProbeFailed(now)
		return
	}
	p.l.breaker.Probed(now)
}
