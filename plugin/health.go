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

// noteBreaker counts that the lane's breaker opened or closed, and has it logged.
func (w *worker) noteBreaker(l *lane, now int64, was bool) {
	is := l.breaker.IsOpen()
	if is == was {
		return
	}
	if is {
		w.metrics.breakerOpen.add(1)
		w.tick(min(w.tickMS, probeTickMS))
	} else {
		w.metrics.breakerOpen.add(-1)
	}
	w.tellBreaker(now)
}

// tellBreaker logs that Redis fails or answers again, where the last line says
// otherwise. A Redis that comes and goes gets a line of each kind in five seconds;
// what was held back is said by a later tick, unless it is over by then, so that
// the last line is true. In a cluster it is about all nodes together: the shares
// of slots open and close one by one.
func (w *worker) tellBreaker(now int64) {
	switch open := w.anyOpen(); {
	case open == w.toldOpen:
	case open && w.logs.allow(now, "breaker opened"):
		w.toldOpen = true
		w.host.Log(host.Warn, "sluice: Redis failed several times in a row: requests follow on_error at once until it answers again")
	case !open && w.logs.allow(now, "breaker closed"):
		w.toldOpen = false
		w.host.Log(host.Info, "sluice: Redis answers again")
	}
}

// probe sends the breakers' probes when their time has come. No request waits
// for them.
func (w *worker) probe(now int64) {
	w.tellBreaker(now)
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
