package plugin

import (
	"encoding/binary"
	"strconv"

	"sluice/internal/engine"
	"sluice/internal/host"
	"sluice/internal/override"
	"sluice/redisproto"
)

// A change of the overrides in Redis reaches every worker within controlWithinUS:
// the time between two polls of a gateway, a worker's own tick before it takes
// its turn, and the tick on which the others read what that one was told. Calls
// that Redis answers late come on top.
const (
	// pollEveryUS is how long a worker's turn to poll lasts.
	pollEveryUS = 700_000
	// controlEveryUS is how often a worker looks whether anything is due.
	controlEveryUS = 450_000
	// controlWithinUS bounds the sum; nothing here is later than a slow tick.
	controlWithinUS = pollEveryUS + 2*slowTickMS*1000
	// pollTimeoutUS is the least time that a poll waits for: no request does.
	pollTimeoutUS = 250_000
)

// control learns from Redis what operators said at run time, and what time it is
// there. One worker a gateway polls; the others read what it was told from the
// proxy's shared data. While Redis is away the last overrides hold until each
// ends.
type control struct {
	w     *worker
	names [4]string

	nextAt  int64 // steady: when something is due
	polls   uint64
	refused bool // Redis answered the last poll by an error
	// offset is Redis's time less the steady clock, us. It is known once measured
	// is true.
	offset   int64
	measured bool
	skew     skew

	base   *engine.Engine // without overrides
	nextID int            // of the next run-time rate
	digest string         // of list
	list   string         // the overrides that hold, as override.Each reads them
	ends   int64          // ms of Redis's clock: when the first of them ends; 0 for never
}

// Names of the control's shared data: whose turn to poll it is, what the last
// poll measured, the list, and whether the gateway's clock is known to be wrong.
const (
	controlTurn = iota
	controlState
	controlList
	controlDegraded
)

func newControl(w *worker) *control {
	c := &control{w: w, base: w.engine, nextID: w.engine.NumRates(), digest: digestOfNone}
	r := &w.policy.Redis
	scope := strconv.FormatUint(fingerprint([]byte(r.Cluster+"\x00"+r.Prefix+"\x00"+strconv.FormatInt(r.DB, 10))), 16)
	for i, name := range [...]string{"poll", "state", "overrides", "degraded"} {
		c.names[i] = "sluice." + name + "." + scope
	}
	if !w.policy.RuntimeOverrides {
		c.skew.unknown = true
		return c
	}
	c.read()
	return c
}

// tick reads what another worker was told, ends what is over and, in its turn,
// polls. It runs on every tick and does something a few times a second.
func (c *control) tick(now int64) {
	if now < c.nextAt || !c.w.policy.RuntimeOverrides {
		return
	}
	c.nextAt = now + controlEveryUS
	c.read()
	if c.ends != 0 && c.serverMS(now) >= c.ends {
		c.apply(false)
	}
	// The pipe opens with a worker's first request: the proxy's main thread, which
	// gets none, can't open it.
	if c.w.served && !c.w.breaker.IsOpen() && c.turn(now) {
		c.poll(now)
	}
}

// serverMS is Redis's time at a moment of the steady clock.
func (c *control) serverMS(steady int64) int64 { return (steady + c.offset) / 1000 }

// turn takes the turn to poll, when it is due and no other worker was quicker.
func (c *control) turn(now int64) bool {
	h := c.w.host
	v, cas, s := h.SharedData(c.names[controlTurn])
	if s == host.OK && len(v) == 8 && now-int64(binary.LittleEndian.Uint64(v)) < pollEveryUS {
		return false
	}
	if s != host.OK {
		cas = createOnly
	}
	return h.SetSharedData(c.names[controlTurn], binary.LittleEndian.AppendUint64(nil, uint64(now)), cas) == host.OK
}

func (c *control) poll(now int64) {
	w := c.w
	cmd := redisproto.AppendCommand(nil, "EVAL", override.ReadScript, "1", override.Key(w.policy.Redis.Prefix), c.digest)
	if w.pipe.Send(now, cmd, now+max(w.policy.Redis.TimeoutUS, pollTimeoutUS), polled{c, now}) != nil {
		c.failed()
		return
	}
	w.tick(fastTickMS)
}

// failed lets any worker poll on its next tick.
func (c *control) failed() {
	c.w.host.SetSharedData(c.names[controlTurn], make([]byte, 8), 0)
}

// polled is a poll's continuation.
type polled struct {
	c    *control
	sent int64
}

// Done is link.Call.
func (p polled) Done(reply redisproto.Value, err error) {
	c, w := p.c, p.c.w
	defer w.recoverIn("poll", nil)
	if err != nil {
		c.failed()
		return
	}
	if reply.Kind == redisproto.Error && passes(reply.ErrorCode()) {
		c.failed()
		return
	}
	if reply.Kind == redisproto.Error {
		c.skew.unknown = !c.measured
		w.metrics.overrideErrors.add(1)
		if !c.refused {
			c.refused = true // one line, until it is answered again
			w.host.Log(host.Warn, "sluice: Redis doesn't tell the run-time overrides: "+string(reply.Str))
		}
		return
	}
	now := w.host.Steady()
	at, ok := readPoll(reply)
	if !ok {
		w.metrics.overrideErrors.add(1)
		return
	}
	// Redis read its clock somewhere between sending and now.
	c.offset = at - p.sent - (now-p.sent)/2
	c.measured, c.skew.unknown, c.refused = true, false, false
	c.polls++
	changed := string(reply.Elems[1].Str) != c.digest
	if changed {
		c.digest, c.list = string(reply.Elems[1].Str), string(reply.Elems[3].Str)
		w.host.SetSharedData(c.names[controlList], []byte(c.list), 0)
	}
	c.publish()
	c.measure(now)
	if changed {
		c.apply(true)
		c.tell(reply.Elems[2].Int)
	}
}

// passes reports whether an error reply is of a Redis that is changing its master,
// loading or out of the proxy's reach: that says nothing about overrides.
func passes(code string) bool {
	switch code {
	case redisproto.CodeLoading, redisproto.CodeMasterDown, redisproto.CodeClusterDown, redisproto.CodeTryAgain, redisproto.CodeUpstream:
		return true
	}
	return false
}

// digestOfNone is the digest of an empty list.
const digestOfNone = "da39a3ee5e6b4b0d3255bfef95601890afd80709"

// digestLen is the length of a SHA-1 in hex.
const digestLen = 40

// readPoll checks a poll's reply and returns Redis's time, us.
func readPoll(v redisproto.Value) (at int64, ok bool) {
	if v.Kind != redisproto.Array || len(v.Elems) != 4 {
		return 0, false
	}
	e := v.Elems
	at, err := strconv.ParseInt(string(e[0].Str), 10, 64)
	return at, err == nil && at > 0 && len(e[1].Str) == digestLen && e[2].Kind == redisproto.Integer && len(e[3].Str) <= 2*override.MaxBytes
}

// publish tells the other workers what was measured, and which list holds.
func (c *control) publish() {
	b := binary.LittleEndian.AppendUint64(nil, uint64(c.offset))
	b = binary.LittleEndian.AppendUint64(b, c.polls)
	c.w.host.SetSharedData(c.names[controlState], append(b, c.digest...), 0)
}

// read takes what a worker of this gateway was told last.
func (c *control) read() {
	h := c.w.host
	v, _, s := h.SharedData(c.names[controlState])
	if s != host.OK || len(v) != 16+digestLen {
		return
	}
	polls := binary.LittleEndian.Uint64(v[8:])
	if polls == c.polls {
		return
	}
	c.offset, c.polls = int64(binary.LittleEndian.Uint64(v)), polls
	c.measured, c.skew.unknown = true, false
	c.measure(h.Steady())
	if digest := string(v[16:]); digest != c.digest {
		list, _, s := h.SharedData(c.names[controlList])
		if s != host.OK && s != host.NotFound {
			return
		}
		c.digest, c.list = digest, string(list)
		c.apply(false)
	}
}

// apply compiles the list for the policy. Of the workers of a gateway the one
// that polled reports what is wrong with it.
func (c *control) apply(report bool) {
	w := c.w
	bad := 0
	e, nextID := c.base.Overridden(c.list, c.serverMS(w.host.Steady()), c.nextID, func(field string, err error) {
		if !report {
			return
		}
		if bad++; bad <= maxBadLines {
			target, _ := override.ParseField(field)
			w.host.Log(host.Warn, "sluice: a run-time override of "+printable(target.Name)+" is skipped: "+err.Error())
		}
	})
	w.metrics.overrideErrors.add(int64(bad))
	w.engine, c.nextID = e, nextID
	w.leases.drop(w.host.Steady()) // of other numbers
	n, ends := e.Overrides()
	c.ends = ends
	w.metrics.overrides.record(uint64(n))
}

// maxBadLines bounds what one reading of the list logs.
const maxBadLines = 5

// maxNames bounds how many limits one line names.
const maxNames = 10

// tell logs that the overrides changed. It names limits; callers' keys may be
// secrets.
func (c *control) tell(skipped int64) {
	w := c.w
	n, _ := w.engine.Overrides()
	line := "sluice: run-time overrides changed: " + strconv.Itoa(n) + " in force"
	named := 0
	w.engine.EachOverridden(func(name string, n int) {
		if named++; named <= maxNames {
			line += ", " + strconv.Itoa(n) + " of " + name
		}
	})
	w.host.Log(host.Info, line)
	if skipped > 0 {
		w.metrics.overrideErrors.add(skipped)
		w.host.Log(host.Warn, "sluice: "+strconv.FormatInt(skipped, 10)+" run-time overrides are skipped: malformed, or more than 1000 or 256 kB in all")
	}
}

// printable is a name that somebody wrote, fit for a log line.
func printable(name string) string {
	if name == "" || len(name) > 80 {
		return "an unknown limit"
	}
	return name
}

// blocked completes the rejection of a request that an override blocks.
func (r *request) blocked() {
	if r.decision.Plan.Block != nil {
		r.decision.BlockedAt(r.w.host.Steady() + r.w.control.offset)
	}
}
