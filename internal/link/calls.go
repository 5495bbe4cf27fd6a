package link

import (
	"bytes"

	"sluice/internal/call"
	"sluice/redisproto"
)

// Caller makes exchanges with Redis that stand by themselves: bytes go, and an
// answer comes. The one who owns it passes answers to Calls.Answered and
// Calls.Failed.
type Caller interface {
	// Call starts an exchange and returns its token, which no other has that is
	// under way. body isn't kept. timeout, microseconds, is after when the caller
	// may give the exchange up by itself. An error means that nothing was sent.
	Call(body []byte, timeout int64) (token uint32, err error)
}

// Authenticator is a Caller that logs in by itself, on connections of its own.
type Authenticator interface {
	Caller
	// Login says how, for all connections from now on. Connections that there are
	// may be closed by it, and their calls fail.
	Login() error
}

// How often a Calls logs in anew without being told to, µs: a proxy may forget
// its settings without a word. A moment is waited for in which no call is out,
// but not for ever where what is forgotten is the database.
const (
	loginAfter  = 15_000_000
	loginLatest = 60_000_000
)

// Calls is a Link over a Caller: each command is an exchange of its own. Over a
// plain Caller each begins with AUTH and SELECT where they are used.
//
// As with a Pipe, Done is never called inside a Send, a call's fate is decided by
// Answered, Failed, Tick or Close, and a reply that comes before the Tick which
// would have expired its call is in time. What comes later is ignored. Done may
// call Send; over a plain Caller the command then goes out with the next Tick. A Calls
// is not safe for concurrent use.
type Calls struct {
	c     Caller
	auth  Authenticator // c, where it is one
	o     Options
	hello handshake
	clock clock
	dec   redisproto.Decoder

	out    map[uint32]*exchange // by token
	order  []*exchange          // those that are out, and ended ones, oldest first
	free   []*exchange
	body   []byte // reused
	asking []byte // reused

	logins  uint32 // so many times logged in
	loginAt int64
	good    uint64 // how often Redis answered after it hadn't
	bad     bool   // the last exchange failed
	closed  bool
	busy    bool // going through order

	inside bool        // an answer is being passed on
	later  []*exchange // sent meanwhile: they go out with the next Tick
}

// exchange is one command that waits for its reply.
type exchange struct {
	token    uint32
	call     Call // nil once it ended
	deadline int64
	cmd      []byte // kept where it may be sent again
	login    uint32 // Calls.logins when it was sent
	again    bool   // this is the second time
	refused  bool   // the Caller wouldn't have it, after Send took it
}

var _ Link = (*Calls)(nil)

// NewCalls returns a Calls over c. Of the options, those about one lasting
// connection aren't used.
func NewCalls(c Caller, o Options) *Calls {
	o = o.withDefaults()
	l := &Calls{c: c, o: o, dec: *redisproto.NewDecoder(o.Limits), out: map[uint32]*exchange{}}
	if l.auth, _ = c.(Authenticator); l.auth == nil {
		l.hello = newHandshake(&o)
	}
	l.o.Password = ""
	return l
}

// Send implements Link. It fails with ErrTimeout when the deadline isn't in the
// future, ErrFull when too many calls wait, and ErrUnavailable when the Caller
// can't.
func (l *Calls) Send(now int64, cmd []byte, deadline int64, c Call) error {
	now = l.clock.read(now)
	deadline = l.clock.convert(deadline)
	switch {
	case l.closed:
		return ErrUnavailable
	case deadline <= now:
		return ErrTimeout
	case l.Pending() >= l.o.MaxPending:
		return ErrFull
	}
	if l.inside && l.auth == nil {
		// The connection that brought the answer isn't gone yet, and a proxy would give
		// it to the next call (Envoy does), which then ends with it.
		x := l.get()
		x.call, x.deadline, x.cmd = orNobody(c), deadline, append(x.cmd[:0], cmd...)
		l.order, l.later = append(l.order, x), append(l.later, x)
		return nil
	}
	if l.loginDue(now) && !l.login(now) {
		return ErrUnavailable
	}
	x := l.get()
	x.call, x.deadline = orNobody(c), deadline
	if l.auth != nil {
		x.cmd = append(x.cmd[:0], cmd...)
	}
	if !l.start(now, x, cmd) {
		l.put(x)
		return ErrUnavailable
	}
	l.order = append(l.order, x)
	return nil
}

// Ask implements Link. Each request's call is an exchange of its own.
func (l *Calls) Ask(now int64, r *call.Request, deadline int64, c Call) error {
	l.asking = r.AppendCall(l.asking[:0], false)
	return l.Send(now, l.asking, deadline, c)
}

// spare is how much later than the call's own deadline the Caller may give up, µs:
// whatever it then says, the time is over.
const spare = 2_000

// start sends a command.
func (l *Calls) start(now int64, x *exchange, cmd []byte) bool {
	body := cmd
	if len(l.hello.bytes) > 0 {
		l.body = append(append(l.body[:0], l.hello.bytes...), cmd...)
		body = l.body
	}
	token, err := l.c.Call(body, x.deadline-now+spare)
	if err != nil {
		l.lost(now, OpenFailed, err.Error())
		return false
	}
	x.token, x.login = token, l.logins
	l.out[token] = x
	return true
}

// loginDue reports whether it is time to log in, or to do so again.
func (l *Calls) loginDue(now int64) bool {
	if l.auth == nil {
		return false
	}
	since := now - l.loginAt
	return l.logins == 0 || since >= loginAfter && len(l.out) == 0 || since >= loginLatest && l.o.DB != 0
}

func (l *Calls) login(now int64) bool {
	if err := l.auth.Login(); err != nil {
		l.lost(now, OpenFailed, err.Error())
		return false
	}
	l.logins++
	l.loginAt = now
	return true
}

// Owns reports whether an exchange of this Calls has the token.
func (l *Calls) Owns(token uint32) bool { return l.out[token] != nil }

// Answered takes all that Redis sent for an exchange; body isn't kept. Unknown
// tokens are ignored.
func (l *Calls) Answered(now int64, token uint32, body []byte) {
	now = l.clock.read(now)
	x := l.take(token)
	if x == nil {
		return
	}
	l.dec.Reset()
	l.dec.Feed(body)
	for _, name := range l.hello.names {
		v, ok, err := l.dec.Next()
		if !ok || err != nil {
			l.unread(now, x, err)
			return
		}
		if v.Kind == redisproto.Error {
			e := refusal(name, v)
			l.o.Observer.HandshakeFailed(now, e)
			l.lost(now, Refused, e.Error())
			l.end(x, redisproto.Value{}, e)
			return
		}
	}
	v, ok, err := l.dec.Next()
	if !ok || err != nil {
		l.unread(now, x, err)
		return
	}
	if l.auth != nil && unauthenticated(v) && l.sendAgain(now, x) {
		return
	}
	if l.bad || l.good == 0 {
		l.bad = false
		l.good++
		l.o.Observer.Connected(now, l.good)
	}
	l.end(x, v, nil)
}

// unread ends an exchange whose answer isn't one.
func (l *Calls) unread(now int64, x *exchange, err error) {
	if err != nil {
		l.lost(now, Malformed, err.Error())
		l.end(x, redisproto.Value{}, ErrProtocol)
		return
	}
	l.lost(now, PeerClosed, "closed before the reply")
	l.end(x, redisproto.Value{}, l.late(now, x, ErrLost))
}

// Failed says that an exchange came to nothing; err is one of this package's
// errors. Unknown tokens are ignored.
func (l *Calls) Failed(now int64, token uint32, r Reason, detail string, err error) {
	now = l.clock.read(now)
	x := l.take(token)
	if x == nil {
		return
	}
	if x.again && x.deadline > now {
		// Redis closed the connection on which it had refused a long command: the
		// proxy has logged in anew, and in vain.
		e := &HandshakeError{Command: "AUTH", Code: redisproto.CodeNoAuth, Detail: "the proxy can't log in: wrong user name or password"}
		l.o.Observer.HandshakeFailed(now, e)
		r, detail, err = Refused, e.Error(), e
	}
	l.lost(now, r, detail)
	l.end(x, redisproto.Value{}, l.late(now, x, err))
}

// late is err, or ErrTimeout where the time was over: the Caller may have given
// up for that.
func (l *Calls) late(now int64, x *exchange, err error) error {
	if x.deadline <= now {
		return ErrTimeout
	}
	return err
}

// unauthenticated reports whether Redis refused a command because nobody has
// logged in on the connection: it wasn't carried out. To a long command Redis 7
// says so in other words, and closes the connection.
func unauthenticated(v redisproto.Value) bool {
	return v.Kind == redisproto.Error &&
		(v.ErrorCode() == redisproto.CodeNoAuth || bytes.HasPrefix(v.Str, []byte("ERR Protocol error: unauthenticated")))
}

// sendAgain sends a command once more, after a login unless there was one since
// it was sent: the proxy forgot how to log in.
func (l *Calls) sendAgain(now int64, x *exchange) bool {
	if x.again || x.deadline <= now || l.closed {
		return false
	}
	if x.login == l.logins && !l.login(now) {
		return false
	}
	x.again = true
	return l.start(now, x, x.cmd)
}

// Tick implements Link.
func (l *Calls) Tick(now int64) (next int64) {
	now = l.clock.read(now)
	later := l.later
	l.later = nil
	for i, x := range later {
		if x.call != nil && x.deadline > now && !l.start(now, x, x.cmd) {
			x.deadline = now
			x.refused = true
		}
		later[i] = nil
	}
	l.endAll(ErrTimeout, func(x *exchange) bool { return x.deadline <= now })
	for _, x := range l.order {
		if next == 0 || x.deadline < next {
			next = x.deadline
		}
	}
	if len(l.later) > 0 {
		next = now
	}
	if next != 0 {
		next = max(1, next-l.clock.ahead)
	}
	return next
}

// endAll ends those exchanges for which which holds. A Done may send: what it adds
// isn't looked at. From within a Done it leaves the sweeping to the outer call.
func (l *Calls) endAll(err error, which func(x *exchange) bool) {
	defer func(was bool) { l.busy = was }(l.busy)
	outer := !l.busy
	l.busy = true
	for _, x := range l.order {
		if x.call != nil && which(x) {
			if l.out[x.token] == x {
				delete(l.out, x.token)
			}
			if x.refused {
				l.end(x, redisproto.Value{}, ErrUnavailable)
				continue
			}
			l.end(x, redisproto.Value{}, err)
		}
	}
	if outer {
		l.sweep()
	}
}

// sweep takes ended exchanges out of the order.
func (l *Calls) sweep() {
	kept := l.order[:0]
	for _, x := range l.order {
		if x.call != nil {
			kept = append(kept, x)
			continue
		}
		l.put(x)
	}
	clear(l.order[len(kept):])
	l.order = kept
}

// Pending implements Link.
func (l *Calls) Pending() int { return len(l.out) + len(l.later) }

// Close implements Link: calls that wait end with ErrLost.
func (l *Calls) Close(now int64) {
	l.clock.read(now)
	l.closed = true
	l.endAll(ErrLost, func(*exchange) bool { return true })
}

// take ends an exchange's waiting.
func (l *Calls) take(token uint32) *exchange {
	x := l.out[token]
	delete(l.out, token)
	return x
}

// end passes on how an exchange ended. It stays in the order until a sweep.
func (l *Calls) end(x *exchange, v redisproto.Value, err error) {
	c := x.call
	x.call = nil
	defer func(was bool) { l.inside = was }(l.inside)
	l.inside = !l.busy
	c.Done(v, err)
}

func orNobody(c Call) Call {
	if c == nil {
		return nobody{}
	}
	return c
}

func (l *Calls) lost(now int64, r Reason, detail string) {
	l.bad = true
	l.o.Observer.Lost(now, r, detail)
}

func (l *Calls) get() *exchange {
	if n := len(l.free); n > 0 {
		x := l.free[n-1]
		l.free = l.free[:n-1]
		return x
	}
	return new(exchange)
}

// mostKept bounds the exchanges and the bytes of each that are kept for reuse.
const (
	mostKept      = 1024
	mostKeptBytes = 4 << 10
)

func (l *Calls) put(x *exchange) {
	cmd := x.cmd[:0]
	if cap(cmd) > mostKeptBytes {
		cmd = nil
	}
	*x = exchange{cmd: cmd}
	if len(l.free) < mostKept {
		l.free = append(l.free, x)
	}
}
