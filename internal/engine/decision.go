package engine

import (
	"bytes"

	"sluice/internal/call"
	"sluice/internal/config"
	"sluice/internal/source"
	"sluice/redisproto"
)

// Step is what a decision wants next.
type Step uint8

const (
	Decide Step = iota // done: see the verdict
	Send               // send AppendCommand's bytes, then call Reply or Fail
	Wait               // after redis.retry.after: send AppendCommand's bytes
)

// Failure is why Redis didn't decide.
type Failure uint8

const (
	NoFailure   Failure = iota
	Lost                // the connection broke while the call was out
	Unavailable         // no connection, or the link refused the call
	TimedOut            // no reply within the timeout
	Failover            // Redis is changing its master, loading or not ready
	RedisError          // another error reply
	BadReply            // a reply that isn't the script's
	AuthRefused         // Redis refused the credentials or the command
	Broken              // the plugin itself failed
	BreakerOpen         // not asked: Redis failed several times in a row
)

var failureNames = [...]string{"none", "lost", "unavailable", "timeout", "failover", "error_reply", "bad_reply", "auth", "internal", "breaker_open"}

// NumFailures is one more than the largest Failure.
const NumFailures = len(failureNames)

// String is the failure's kind in metrics.
func (f Failure) String() string { return failureNames[f] }

// again reports whether another attempt may help: a call that timed out may
// have been carried out, so it never does there.
func (f Failure) again() bool { return f == Lost || f == Failover || f == Unavailable }

// Decision is one request on its way through the engine. It is reused.
type Decision struct {
	Plan    Plan
	Verdict Verdict
	Failure Failure
	// FailureText is the link's or Redis's own words; never a secret.
	FailureText string
	Loads       int // how often the script had to be sent whole

	// Turns is the worker's; nil where a request's turn makes no difference. Start
	// reads it.
	Turns *Turns

	e           *Engine
	full        bool  // the next command holds the script itself
	apart       bool  // Redis refuses calls that several requests share
	retries     int64 // attempts left after a failure
	corrections int64 // the same, of a call that corrects a charge
	byProxy     bool  // the failure is in the words of the proxy before Redis
}

// Clear forgets the request and keeps the memory.
func (d *Decision) Clear() {
	d.Plan.reset()
	*d = Decision{Plan: d.Plan}
}

// Start plans the request and says whether Redis must be asked.
func (d *Decision) Start(e *Engine, v *source.View) Step {
	d.e = e
	d.Failure, d.FailureText, d.Loads, d.full, d.apart = NoFailure, "", 0, false, false
	d.retries = e.policy.Redis.Retry.Times
	d.Verdict = Verdict{Outcome: Admitted, Closest: -1}
	var turn uint32
	if d.Turns != nil {
		turn = d.Turns.Shard
	}
	e.plan(v, &d.Plan, turn)
	if d.Plan.Missing != nil {
		d.Verdict.Outcome = MissingKey
		return Decide
	}
	if d.Plan.Block != nil {
		d.Verdict = Verdict{Outcome: Rejected, Mode: ModeOverride}
		return Decide
	}
	if len(d.Plan.Charges) == 0 {
		return Decide
	}
	if e.divides {
		e.place(&d.Plan, d.Turns)
	}
	return Send
}

// Ask puts into r what the last step asks the script for, n times the cost.
// Where WantsScript, the call must bring the script itself.
func (d *Decision) Ask(r *call.Request, requestID []byte, now int64, n int) {
	if n != 1 {
		d.scale(int64(n))
	}
	d.e.Ask(r, &d.Plan, requestID, now)
	if n != 1 {
		d.unscale(int64(n))
	}
}

// WantsScript reports whether the last step was asked for because Redis lacks the
// script.
func (d *Decision) WantsScript() bool { return d.full }

// Apart reports whether the request must make a call of its own: a limit's
// hot.batch is off, or Redis refused a shared one.
func (d *Decision) Apart() bool {
	if d.apart {
		return true
	}
	for i := range d.Plan.Charges {
		if h := d.Plan.Charges[i].Limit.Hot; h != nil && !h.Batch {
			return true
		}
	}
	return false
}

// AppendCommand appends the command that the last step asked for.
func (d *Decision) AppendCommand(dst []byte, requestID []byte, now int64) []byte {
	return d.e.AppendCommand(dst, &d.Plan, requestID, now, d.full)
}

// Reply takes Redis's reply. A Redis that lacks the script is sent it with the
// same decision.
func (d *Decision) Reply(v redisproto.Value) Step {
	if v.Kind == redisproto.Error {
		code := v.ErrorCode()
		if code == redisproto.CodeNoScript && !d.full {
			d.full = true
			d.Loads++
			return Send
		}
		if code == redisproto.CodeCrossSlot && !d.apart {
			d.apart = true // what it shared with others had keys of several slots
			return Send
		}
		if bytes.HasPrefix(v.Str, unauthenticated) {
			return d.Fail(AuthRefused, "NOAUTH this Redis wants a password: set redis.password_env")
		}
		d.byProxy = code == redisproto.CodeUpstream
		return d.Fail(classify(code), string(v.Str))
	}
	verdict, err := read(&d.Plan, v)
	if err != nil {
		return d.Fail(BadReply, err.Error())
	}
	d.Failure, d.FailureText = NoFailure, ""
	d.Verdict = verdict
	return Decide
}

// unauthenticated is how Redis 7 answers a long command before AUTH, before it
// closes the connection.
var unauthenticated = []byte("ERR Protocol error: unauthenticated")

// classify tells an error reply's kind by its code.
func classify(code string) Failure {
	switch code {
	case redisproto.CodeReadOnly, redisproto.CodeLoading, redisproto.CodeMasterDown,
		redisproto.CodeClusterDown, redisproto.CodeTryAgain, redisproto.CodeUpstream, redisproto.CodeMoved, redisproto.CodeAsk:
		return Failover
	case redisproto.CodeNoAuth, redisproto.CodeWrongPass, redisproto.CodeNoPerm:
		return AuthRefused
	}
	return RedisError
}

// Fail ends an attempt without a decision, and the request's wait too unless
// another attempt may help. The verdict is then the limits' on_error.
func (d *Decision) Fail(f Failure, text string) Step {
	d.Failure, d.FailureText = f, text
	d.full = false
	if f.again() && d.retries > 0 {
		d.retries--
		return Wait
	}
	d.GiveUp()
	return Decide
}

// LastTry makes a failure final: another attempt would do harm.
func (d *Decision) LastTry() { d.retries = 0 }

// GiveUp ends a decision that failed and that nobody wants another attempt for:
// the verdict is the limits' on_error.
func (d *Decision) GiveUp() {
	d.Verdict = Verdict{Outcome: FailedOpen, Closest: -1}
	for i := range d.Plan.Charges {
		c := &d.Plan.Charges[i]
		if c.Op.Votes() && c.Limit.OnError == config.OnErrorDeny {
			d.Verdict.Outcome = FailedClosed
			d.Verdict.Closest = i
			break
		}
	}
}
