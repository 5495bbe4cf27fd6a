package engine

import (
	"errors"

	"sluice/internal/limit"
	"sluice/redisproto"
)

// Outcome is how a request was decided.
type Outcome uint8

const (
	Admitted     Outcome = iota
	Rejected             // a limit has no room
	FailedOpen           // Redis couldn't say, and every limit allows that
	FailedClosed         // Redis couldn't say, and a limit denies that
	MissingKey           // a limit's key has an absent part, and it denies that
)

// String is the outcome's name in metrics and logs.
func (o Outcome) String() string {
	return [...]string{"admitted", "rejected", "failed_open", "failed_closed", "missing_key"}[o]
}

// Mode says where a decision was made.
type Mode uint8

// ModeRedis is a decision by Redis; ModeNone one that needed no counter or got none.
const (
	ModeNone Mode = iota
	ModeRedis
	ModeMemory // a rejection of Redis's that still holds
	ModeLocal  // the gateway's own counters, while Redis can't answer
	// ModeOverride is a rejection by a run-time override, which asks nobody.
	ModeOverride
	ModeLease // Redis charged it in advance
)

// String is the mode's name in metrics and logs.
func (m Mode) String() string {
	return [...]string{"none", "redis", "memory", "local", "override", "lease"}[m]
}

// Verdict is the decision on one request.
type Verdict struct {
	Outcome Outcome
	Mode    Mode
	AtUS    int64 // Redis's time of the decision, microseconds since the epoch; 0 when it made none
	// Closest is the charge nearest to rejecting among those that show headers,
	// or, of a rejected request, the one that it must wait longest for; -1 for none.
	Closest int
	// RetryAfterMS is the latest of the violated limits', or limit.Never.
	RetryAfterMS int64
	// DelayMS is how long an admitted request is held by queues, milliseconds.
	DelayMS int64
}

// errReply is a reply that isn't what the script returns.
var errReply = errors.New("reply of a wrong shape")

// perCharge is how many integers of a reply belong to one counter.
const perCharge = 5

// read takes a script's reply into the plan and finds the verdict.
func read(p *Plan, v redisproto.Value) (Verdict, error) {
	n := len(p.Charges)
	if v.Kind != redisproto.Array || len(v.Elems) != 2+perCharge*n {
		return Verdict{}, errReply
	}
	for i := range v.Elems {
		if v.Elems[i].Kind != redisproto.Integer {
			return Verdict{}, errReply
		}
	}
	for i := range p.Charges {
		e := v.Elems[2+perCharge*i:]
		p.Charges[i].Result = limit.Decision{
			Admitted:     e[0].Int == 1,
			Current:      e[1].Int,
			Remaining:    e[2].Int,
			ResetMS:      e[3].Int,
			RetryAfterMS: e[4].Int,
		}
	}
	admitted := v.Elems[1].Int == 1
	out := Verdict{Mode: ModeRedis, AtUS: v.Elems[0].Int, Outcome: Admitted}
	if admitted {
		out.Closest = closest(p)
		out.DelayMS = delay(p)
		return out, nil
	}
	out.Outcome = Rejected
	out.Closest, out.RetryAfterMS = violated(p)
	if out.Closest < 0 {
		return Verdict{}, errReply // no voter rejected, yet the script did
	}
	return out, nil
}

// delay is how long queues hold an admitted request.
func delay(p *Plan) (ms int64) {
	for i := range p.Charges {
		if c := &p.Charges[i]; c.Op.Votes() && c.Result.Admitted {
			ms = max(ms, c.Result.RetryAfterMS)
		}
	}
	return ms
}

// closest finds the live charge with room for the fewest further requests.
func closest(p *Plan) int {
	best := -1
	for i := range p.Charges {
		c := &p.Charges[i]
		if !c.Shown() {
			continue
		}
		if best < 0 || nearer(c, &p.Charges[best]) {
			best = i
		}
	}
	return best
}

// nearer compares how many more such requests each admits; the later reset
// breaks a tie.
func nearer(a, b *Charge) bool {
	x := float64(a.Result.Remaining) / float64(max(a.Cost, 1))
	y := float64(b.Result.Remaining) / float64(max(b.Cost, 1))
	if x != y {
		return x < y
	}
	return a.Result.ResetMS > b.Result.ResetMS
}

// violated finds the rejecting charge that asks for the longest wait; a limit
// that waiting doesn't help beats every other.
func violated(p *Plan) (int, int64) {
	best, wait := -1, int64(0)
	for i := range p.Charges {
		c := &p.Charges[i]
		if !c.Op.Votes() || c.Result.Admitted {
			continue
		}
		w := c.Result.RetryAfterMS
		if best < 0 || (wait != limit.Never && (w == limit.Never || w > wait)) {
			best, wait = i, w
		}
	}
	return best, wait
}
