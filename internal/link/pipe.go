package link

import (
	"sluice/internal/call"
	"sluice/redisproto"
)

// Pipe is a Link over one Transport: commands go out one after another without
// waiting, and replies are matched in order. It connects when it is first used
// and again, after a back-off, when the connection is lost; meanwhile Send fails
// at once.
//
// A call's fate is decided by Received, Closed, Tick or Close, never by a Send:
// Done isn't called inside any Send. Done may call Send, Pending and Close; the
// other methods, called from within a Done or by a Transport from within its
// own methods, take note and leave the work to the outer call or to the next
// Tick. A Done that panics costs no other call its own: the next Tick goes on.
//
// The owner calls Tick, as often as deadlines are to be exact, for as long as
// Pending isn't 0. A reply that is received before the Tick that would have
// expired its call counts as in time. A Pipe is not safe for concurrent use.
type Pipe struct {
	t     Transport
	o     Options
	hello handshake
	clock clock

	conn     uint32
	state    state
	openedAt int64
	helloed  int    // handshake replies received
	proved   bool   // the connection answered
	good     uint64 // connections that answered
	retry    backoff

	// What broke the connection while it was in use; state is broken then.
	broke       Reason
	brokeDetail string

	dec   redisproto.Decoder
	early []byte // received while busy

	held    gathered // waits for the next message; see gather.go
	sentAt  int64    // when the last message went out
	sending bool     // inside Transport.Send, which may read held
	asking  []byte   // reused for what is sent at once
	apart   bool     // Redis refuses calls that several requests share

	common redisproto.Value // a shared call's reply
	owed   int              // requests that haven't had their part of it

	calls   queue
	doomed  uint64 // calls before this one were lost with their connection
	doom    error  // what they end with
	busy    bool   // inside the Transport or a Done
	leftOff bool   // a Done panicked: there may be more to deliver
	opening bool   // inside Transport.Open
	stale   uint32 // a connection that was closed during its own Open
	isStale bool
	closed  bool // Close was called
}

type state uint8

const (
	idle   state = iota // no connection
	open                // in use
	broken              // unusable, not yet given up
)

var _ Link = (*Pipe)(nil)

// NewPipe returns a Pipe over t, which isn't opened before the first Send.
func NewPipe(t Transport, o Options) *Pipe {
	o = o.withDefaults()
	p := &Pipe{
		t:     t,
		o:     o,
		hello: newHandshake(&o),
		apart: o.Apart,
		retry: backoff{min: o.BackoffMin, max: o.BackoffMax, rand: o.Rand},
		dec:   *redisproto.NewDecoder(o.Limits),
	}
	p.o.Password = "" // only the encoded handshake needs it
	return p
}

// Send implements Link. It fails with ErrTimeout when the deadline isn't in the
// future, ErrFull when too many calls wait, and ErrUnavailable when there is no
// connection and it is too early to try for one. A nil c is a command whose
// reply nobody wants.
func (p *Pipe) Send(now int64, cmd []byte, deadline int64, c Call) error {
	now, deadline, err := p.admit(now, deadline)
	if err != nil {
		return err
	}
	if p.gathers(now) {
		p.hold(cmd)
	} else if !p.transmit(now, p.release(now, cmd)) {
		return ErrUnavailable
	}
	p.calls.push(orNobody(c), deadline)
	return nil
}

// Ask implements Link, with the errors of Send.
func (p *Pipe) Ask(now int64, r *call.Request, deadline int64, c Call) error {
	now, deadline, err := p.admit(now, deadline)
	if err != nil {
		return err
	}
	switch {
	case p.gathers(now):
		p.share(r)
	case p.held.n > 0 && !p.sending:
		p.share(r)
		if !p.transmit(now, p.release(now, nil)) {
			return ErrUnavailable
		}
	default:
		var cmd []byte
		if p.sending {
			cmd = r.AppendCall(nil, false)
		} else {
			p.asking = r.AppendCall(p.asking[:0], false)
			cmd = p.asking
		}
		if !p.transmit(now, p.release(now, cmd)) {
			return ErrUnavailable
		}
	}
	p.calls.push(orNobody(c), deadline)
	return nil
}

// admit connects for a call, or says why there can't be one.
func (p *Pipe) admit(now, deadline int64) (int64, int64, error) {
	now = p.clock.read(now)
	deadline = p.clock.convert(deadline)
	switch {
	case p.closed:
		return now, deadline, ErrUnavailable
	case deadline <= now:
		return now, deadline, ErrTimeout
	case p.calls.len() >= p.o.MaxPending:
		return now, deadline, ErrFull
	}
	return now, deadline, p.connect(now)
}

// Pending implements Link.
func (p *Pipe) Pending() int { return p.calls.len() }

// Received takes bytes that came on a connection; b isn't kept. Tokens of
// connections that are no longer in use are ignored.
func (p *Pipe) Received(now int64, conn uint32, b []byte) {
	now = p.clock.read(now)
	if p.state != open || conn != p.conn {
		return
	}
	if p.busy || len(p.early) > 0 || p.owed > 0 {
		// The decoder's last reply may still be in use.
		p.early = append(p.early, b...)
	} else {
		p.dec.Feed(b)
	}
	p.pump(now)
	if !p.busy {
		p.flush(now)
	}
}

// Closed says that a connection has ended. reason goes to the Observer. Tokens
// of connections that are no longer in use are ignored.
func (p *Pipe) Closed(now int64, conn uint32, reason string) {
	now = p.clock.read(now)
	if p.opening {
		p.stale, p.isStale = conn, true
		return
	}
	if p.state != open || conn != p.conn {
		return
	}
	p.breakUp(PeerClosed, reason)
	p.pump(now)
}

// Tick implements Link.
func (p *Pipe) Tick(now int64) (next int64) {
	now = p.clock.read(now)
	if !p.busy {
		p.flush(now)
		p.pump(now)
		p.expire(now)
		if p.overdue() <= now {
			p.breakUp(Stalled, "")
		}
		p.pump(now)
	}
	if next = p.next(now); next != 0 {
		next = max(1, next-p.clock.ahead)
	}
	return next
}

// Close implements Link.
func (p *Pipe) Close(now int64) {
	now = p.clock.read(now)
	p.closed = true
	if p.state == open {
		p.breakUp(ShutDown, "")
	}
	p.pump(now)
}

// next is when Tick has something to do, or 0.
func (p *Pipe) next(now int64) int64 {
	switch {
	case p.leftOff, p.state == broken, len(p.early) > 0, p.owed > 0, p.calls.head < p.doomed:
		return now
	case p.calls.len() == 0:
		return 0
	}
	next := p.overdue()
	if p.calls.live > 0 {
		next = min(next, p.calls.soonest)
	}
	return next
}

// overdue is when the connection counts as stuck.
func (p *Pipe) overdue() int64 {
	if p.state != open || p.calls.len() == 0 {
		return forever
	}
	oldest := p.calls.at(p.calls.head)
	if oldest.deadline > forever-p.o.StallAfter {
		return forever
	}
	return oldest.deadline + p.o.StallAfter
}

// pump delivers what has been received, in order, and fails what is lost.
func (p *Pipe) pump(now int64) {
	if p.busy {
		return
	}
	p.busy, p.leftOff = true, true
	defer func() { p.busy = false }()
	for p.step(now) {
	}
	p.leftOff = false
}

// step does the next thing there is to do. Anything may have happened since the
// one before: each ends with at most one Done.
func (p *Pipe) step(now int64) (more bool) {
	if p.calls.head < p.doomed {
		if c := p.calls.pop(); c != nil {
			c.Done(redisproto.Value{}, p.doom)
		}
		return true
	}
	if p.owed > 0 {
		p.pass(now, p.part())
		return true
	}
	if p.state == idle {
		return false
	}
	if len(p.early) > 0 {
		p.dec.Feed(p.early)
		p.early = p.early[:0]
	}
	v, ok, err := p.dec.Next()
	switch {
	case err != nil:
		p.drop(now, Malformed, err.Error(), ErrProtocol)
		return true
	case ok:
		p.reply(now, v)
		return true
	case p.state == broken:
		p.drop(now, p.broke, p.brokeDetail, ErrLost)
		return true
	}
	return false
}

// reply passes one reply on.
func (p *Pipe) reply(now int64, v redisproto.Value) {
	if p.helloed < len(p.hello.names) {
		p.welcome(now, v)
		return
	}
	if p.calls.len() == 0 {
		p.drop(now, Malformed, "a reply that nothing asked for", ErrProtocol)
		return
	}
	if !p.proved {
		p.proven(now)
	}
	if n := p.calls.at(p.calls.head).shared; n > 0 {
		if !p.unshare(v, n) {
			p.drop(now, Malformed, "a reply of another shape than the call's", ErrProtocol)
		}
		return
	}
	p.pass(now, v)
}

// pass ends the oldest call with its reply.
func (p *Pipe) pass(now int64, v redisproto.Value) {
	if p.o.LeaveReadOnly && p.state == open && v.ErrorCode() == redisproto.CodeReadOnly {
		p.breakUp(ReadOnly, "") // once what it has answered is passed on
	}
	c := p.calls.pop()
	if c == nil {
		p.o.Observer.Late(now)
		return
	}
	c.Done(v, nil)
}

// welcome takes a reply to the handshake.
func (p *Pipe) welcome(now int64, v redisproto.Value) {
	name := p.hello.names[p.helloed]
	switch v.Kind {
	case redisproto.SimpleString:
		p.helloed++
		if p.helloed == len(p.hello.names) {
			p.proven(now)
		}
	case redisproto.Error:
		e := refusal(name, v)
		p.o.Observer.HandshakeFailed(now, e)
		p.drop(now, Refused, e.Error(), e)
	default:
		p.drop(now, Malformed, "the reply to "+name+" is no status", ErrProtocol)
	}
}

func (p *Pipe) proven(now int64) {
	p.proved = true
	p.good++
	p.o.Observer.Connected(now, p.good)
}

// expire ends the calls whose deadline has come. They stay in the queue.
func (p *Pipe) expire(now int64) {
	q := &p.calls
	if q.live == 0 || q.soonest > now {
		return
	}
	p.busy = true
	defer func() { p.busy = false }()
	// A call sent by a Done from here on waits for the next Tick at least, so
	// that this one ends.
	sentBefore := q.tail
	soonest, liveFrom := int64(forever), q.tail
	// Should a Done panic, q.soonest is still past and the next Tick goes on.
	for n := max(q.head, q.liveFrom); n != q.tail; n++ {
		w := q.at(n)
		switch {
		case w.call == nil:
			continue
		case w.deadline <= now && n < sentBefore:
			q.take(n).Done(redisproto.Value{}, ErrTimeout)
			continue
		}
		soonest = min(soonest, w.deadline)
		liveFrom = min(liveFrom, n)
	}
	q.soonest, q.liveFrom = soonest, liveFrom
}

type nobody struct{}

func (nobody) Done(redisproto.Value, error) {}
