package link

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"sluice/redisproto"
)

const ms = 1000 // µs

// fakeWire is a Transport that does nothing but remember.
type fakeWire struct {
	t       testing.TB
	last    uint32 // newest token
	isOpen  map[uint32]bool
	sent    []string // one entry a Send
	openErr error
	sendErr error
	onOpen  func(conn uint32) // runs inside Open
	onSend  func(conn uint32) // runs inside Send
}

func newWire(t testing.TB) *fakeWire { return &fakeWire{t: t, isOpen: map[uint32]bool{}} }

func (w *fakeWire) Open() (uint32, error) {
	if w.openErr != nil {
		return 0, w.openErr
	}
	if len(w.isOpen) > 0 {
		w.t.Error("Open while a connection is open")
	}
	w.last++
	w.isOpen[w.last] = true
	if w.onOpen != nil {
		w.onOpen(w.last)
	}
	return w.last, nil
}

func (w *fakeWire) Send(conn uint32, p []byte) error {
	if !w.isOpen[conn] {
		w.t.Errorf("Send on connection %d, which isn't open", conn)
	}
	if w.onSend != nil {
		w.onSend(conn)
	}
	if w.sendErr != nil {
		return w.sendErr
	}
	w.sent = append(w.sent, string(p))
	return nil
}

func (w *fakeWire) Close(conn uint32) {
	if !w.isOpen[conn] {
		w.t.Errorf("Close of connection %d, which isn't open", conn)
	}
	delete(w.isOpen, conn)
}

// events is an Observer that writes down what it hears.
type events []string

func (e *events) add(format string, args ...any) { *e = append(*e, fmt.Sprintf(format, args...)) }

func (e *events) Connected(_ int64, n uint64)                  { e.add("connected %d", n) }
func (e *events) Lost(_ int64, r Reason, detail string)        { e.add("lost: %v: %s", r, detail) }
func (e *events) HandshakeFailed(_ int64, err *HandshakeError) { e.add("handshake: %v", err) }
func (e *events) Late(int64)                                   { e.add("late") }

func (e *events) is(t *testing.T, want ...string) {
	t.Helper()
	if fmt.Sprint(*e) != fmt.Sprint(events(want)) {
		t.Errorf("events:\n got %q\nwant %q", *e, want)
	}
	*e = nil
}

// calls writes down the ends of calls, in order: "name=reply" or "name!error".
type calls struct {
	t    testing.TB
	ends []string
	live map[string]bool
	then map[string]func() // runs in a call's Done
}

func newCalls(t testing.TB) *calls {
	return &calls{t: t, live: map[string]bool{}, then: map[string]func(){}}
}

type namedCall struct {
	c    *calls
	name string
}

func (n namedCall) Done(v redisproto.Value, err error) {
	if !n.c.live[n.name] {
		n.c.t.Errorf("Done for call %s, which isn't waiting", n.name)
	}
	delete(n.c.live, n.name)
	end := n.name
	switch {
	case err != nil:
		end += "!" + short(err)
	case v.Kind == redisproto.Integer:
		end += "=" + strconv.FormatInt(v.Int, 10)
	default:
		end += "=" + string(v.Str)
	}
	n.c.ends = append(n.c.ends, end)
	if f := n.c.then[n.name]; f != nil {
		f()
	}
}

func short(err error) string {
	var h *HandshakeError
	switch {
	case errors.As(err, &h):
		return "refused"
	case err == ErrTimeout:
		return "timeout"
	case err == ErrLost:
		return "lost"
	case err == ErrUnavailable:
		return "unavailable"
	case err == ErrProtocol:
		return "protocol"
	case err == ErrFull:
		return "full"
	}
	return err.Error()
}

func (c *calls) new(name string) Call { c.live[name] = true; return namedCall{c, name} }

// is checks what ended since the last check.
func (c *calls) is(want ...string) {
	c.t.Helper()
	if fmt.Sprint(c.ends) != fmt.Sprint(want) {
		c.t.Errorf("ends:\n got %q\nwant %q", c.ends, want)
	}
	c.ends = nil
}

// rig is a Pipe on a fake wire.
type rig struct {
	*Pipe
	t      *testing.T
	wire   *fakeWire
	calls  *calls
	events *events
	now    int64
}

func newRig(t *testing.T, o Options) *rig {
	r := &rig{t: t, wire: newWire(t), calls: newCalls(t), events: &events{}, now: 1_000_000}
	o.Observer = r.events
	if o.Rand == nil {
		o.Rand = func() uint32 { return 1 << 31 } // the middle of each wait
	}
	r.Pipe = NewPipe(r.wire, o)
	return r
}

// try sends a command with a deadline 20 ms from now.
func (r *rig) try(name string) error {
	c := r.calls.new(name)
	before := len(r.calls.ends)
	err := r.Send(r.now, []byte(name), r.now+20*ms, c)
	if err != nil {
		delete(r.calls.live, name)
	}
	if len(r.calls.ends) != before {
		r.t.Errorf("a Done came during the Send of %s", name)
	}
	return err
}

func (r *rig) send(names ...string) {
	r.t.Helper()
	for _, n := range names {
		if err := r.try(n); err != nil {
			r.t.Fatalf("send %s: %v", n, err)
		}
	}
}

func (r *rig) recv(b string) { r.Received(r.now, r.wire.last, []byte(b)) }

func (r *rig) tick() int64 { return r.Tick(r.now) }
