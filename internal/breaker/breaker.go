// Package breaker keeps requests from waiting for a Redis that doesn't answer.
// Closed, it lets every call through. After a run of failures it opens: calls
// are refused at once, and only probes go out, which no request waits for. A
// probe that is answered admits one call on trial; that one's success closes the
// breaker, its failure opens it again for longer.
//
// It has no clock and does no I/O; times are microseconds of a steady clock.
package breaker

// Options say when a breaker opens. A field that is zero means its default.
type Options struct {
	Failures int           // failures in a row that open it; default 5
	MinWait  int64         // from opening to the first probe; default 100 ms
	MaxWait  int64         // longest time between probes; default 500 ms
	Rand     func() uint32 // for the jitter of the wait; nil for none
}

type state uint8

const (
	closed  state = iota
	open          // waiting for the next probe's time
	probing       // a probe is out
	ready         // a probe was answered: the next call is the trial
	trial         // the trial is out
)

// Breaker is one breaker. The zero value is closed, with default options.
type Breaker struct {
	o        Options
	state    state
	failures int // in a row
	wait     int64
	probeAt  int64 // when the next probe is due; while one or a trial is out, when it counts as failed
}

// New makes a closed breaker.
func New(o Options) Breaker { return Breaker{o: o} }

func (b *Breaker) limits() (failures int, minWait, maxWait int64) {
	failures, minWait, maxWait = b.o.Failures, b.o.MinWait, b.o.MaxWait
	if failures <= 0 {
		failures = 5
	}
	if minWait <= 0 {
		minWait = 100_000
	}
	if maxWait <= 0 {
		maxWait = 500_000
	}
	return failures, minWait, max(maxWait, minWait)
}

// IsOpen reports whether calls are refused, but for probes and trials.
func (b *Breaker) IsOpen() bool { return b.state != closed }

// Allow reports whether a call may go out now. A call that may must be followed
// by Success, Failure or Abandon.
func (b *Breaker) Allow() bool {
	switch b.state {
	case closed:
		return true
	case ready:
		b.state = trial
		return true
	}
	return false
}

// Success notes an answered call.
func (b *Breaker) Success() {
	switch b.state {
	case closed:
		b.failures = 0
	case ready, trial:
		*b = Breaker{o: b.o}
	}
}

// Failure notes a call that got no answer, or none worth having.
func (b *Breaker) Failure(now int64) {
	switch b.state {
	case closed:
		failures, minWait, _ := b.limits()
		if b.failures++; b.failures >= failures {
			b.wait = minWait
			b.open(now)
		}
	case ready, trial:
		b.reopen(now)
	}
}

// Abandon notes an allowed call that was not made after all.
func (b *Breaker) Abandon() {
	if b.state == trial {
		b.state = ready
	}
}

// ProbeDue reports whether a probe must go out now; Probed or ProbeFailed must
// follow. A trial that nobody reported on is given up here too, and a breaker
// that waited for a trial in vain, because nobody calls, closes; one failure then
// opens it again.
func (b *Breaker) ProbeDue(now int64) bool {
	switch b.state {
	case open:
		if now < b.probeAt {
			return false
		}
		b.state = probing
		b.probeAt = now + b.wait
		return true
	case trial:
		if now >= b.probeAt {
			b.reopen(now)
		}
	case ready:
		if now >= b.probeAt {
			failures, _, _ := b.limits()
			*b = Breaker{o: b.o, failures: failures - 1}
		}
	}
	return false
}

// Probed notes that a probe was answered.
func (b *Breaker) Probed(now int64) {
	if b.state == probing {
		_, _, maxWait := b.limits()
		b.state = ready
		b.probeAt = now + maxWait
	}
}

// ProbeFailed notes that a probe was not answered.
func (b *Breaker) ProbeFailed(now int64) {
	if b.state == probing {
		b.reopen(now)
	}
}

// reopen waits longer than the last time.
func (b *Breaker) reopen(now int64) {
	_, _, maxWait := b.limits()
	b.wait = min(b.wait*2, maxWait)
	b.open(now)
}

// open waits for b.wait, of which up to a quarter is left out by chance, so that
// many gateways don't probe together.
func (b *Breaker) open(now int64) {
	b.state, b.failures = open, 0
	wait := b.wait
	if b.o.Rand != nil {
		wait -= int64(b.o.Rand()) * (wait / 4) >> 32
	}
	b.probeAt = now + wait
}
