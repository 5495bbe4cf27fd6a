package link

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"sluice/internal/call"
	"sluice/redisproto"
)

// world is a Pipe between a hostile network and a careless caller. Each command
// carries its own number, and its reply is that number, so that a reply given to
// the wrong call shows.
type world struct {
	rand *rand.Rand
	pipe *Pipe
	now  int64
	o    Options

	// The network.
	harm    int  // how rare mishaps are; 0 = there are none
	sync    bool // the Transport calls back from within its methods
	conn    uint32
	isOpen  bool
	arrived [][]int // who made the commands that the server hasn't answered, in order
	hello   int     // handshake commands it hasn't answered
	back    []byte  // replies on their way

	// The caller.
	nextID   int
	waiting  map[int]*pcall // accepted, not yet done
	inSend   int            // how many Sends are running
	answers  int            // replies delivered
	lastID   int            // the newest call that got a reply
	panics   bool           // Dones may panic
	depth    int
	gathered int // commands that went out behind another
	shared   int // calls that share another's
	events   worldEvents
}

type pcall struct {
	w        *world
	id       int
	deadline int64
	conn     uint32 // the connection it went out on
}

type worldEvents struct{ connected, lost, opens, late int }

func (w *world) Connected(_ int64, n uint64) {
	w.events.connected++
	if int(n) != w.events.connected {
		w.fail("connection %d is called number %d", w.events.connected, n)
	}
}
func (w *world) Lost(_ int64, r Reason, _ string)       { w.events.lost++ }
func (w *world) HandshakeFailed(int64, *HandshakeError) {}
func (w *world) Late(int64)                             { w.events.late++ }

func (w *world) oneIn(n int) bool { return w.rand.IntN(n) == 0 }

// mishap is oneIn for what goes wrong: in some histories often, in some never.
func (w *world) mishap(n int) bool { return w.harm > 0 && w.oneIn(n*w.harm) }

func (w *world) between(low, high int64) int64 { return low + w.rand.Int64N(high-low+1) }

// fail ends the run.
func (w *world) fail(format string, args ...any) { panic(failure(fmt.Sprintf(format, args...))) }

type failure string

var garbage = []string{"?", ":\r\n", "*1000000\r\n", ":7\n", "$-7\r\n"}

func (w *world) Open() (uint32, error) {
	w.events.opens++
	if w.isOpen {
		w.fail("two connections at once")
	}
	if w.mishap(4) {
		return 0, errors.New("no")
	}
	w.conn++
	w.isOpen = true
	w.arrived, w.back = nil, nil
	w.hello = len(w.pipe.hello.names)
	if w.sync && w.mishap(4) {
		w.pipe.Closed(w.now, w.conn, "while it opened")
	}
	return w.conn, nil
}

func (w *world) Send(conn uint32, p []byte) error {
	if !w.isOpen || conn != w.conn {
		w.fail("Send on connection %d, open is %d, %v", conn, w.conn, w.isOpen)
	}
	if w.sync && w.oneIn(3) {
		defer w.answer()
		defer w.deliver()
	}
	if w.sync && w.mishap(10) {
		w.pipe.Closed(w.now, conn, "while it sent")
		return nil
	}
	if w.mishap(20) {
		return errors.New("no")
	}
	if bytes.Contains(p, []byte("AUTH")) {
		return nil // the handshake
	}
	commands := 0
	for _, cmd := range commandsOf(w, p) { // several went out together
		var ids []int
		for _, who := range askedBy(w, cmd) {
			id, err := strconv.Atoi(who)
			if err != nil {
				w.fail("sent %q", p)
			}
			ids = append(ids, id)
		}
		w.arrived = append(w.arrived, ids)
		w.shared += len(ids) - 1
		commands++
	}
	w.gathered += max(0, commands-1)
	return nil
}

// fail is what commandsOf and askedBy say.
type failer interface{ fail(string, ...any) }

// commandsOf are the commands in a message.
func commandsOf(t failer, p []byte) (out [][]string) {
	d := redisproto.NewDecoder(redisproto.Limits{})
	d.Feed(p)
	for {
		v, ok, err := d.Next()
		if err != nil {
			t.fail("sent %q: %v", p, err)
		}
		if !ok {
			return out
		}
		var cmd []string
		for _, e := range v.Elems {
			cmd = append(cmd, string(e.Str))
		}
		out = append(out, cmd)
	}
}

// askedBy are the ids of those who make a command: its name, unless it is a call of
// the script.
func askedBy(t failer, cmd []string) (ids []string) {
	if cmd[0] != "EVALSHA" {
		return cmd[:1]
	}
	keys, err := strconv.Atoi(cmd[2])
	if err != nil || cmd[1] != testSHA || len(cmd) < 3+keys+2 {
		t.fail("sent %q", cmd)
	}
	args := cmd[3+keys+1:]
	if args[0] != "+" {
		return args[:1]
	}
	for args = args[1:]; len(args) > 0; {
		n, err := strconv.Atoi(args[1])
		if err != nil || args[0] != "1" || len(args) < 3+n {
			t.fail("sent %q", cmd)
		}
		if want := "key-" + args[2]; cmd[3+len(ids)] != want {
			t.fail("key %s is %s", want, cmd[3+len(ids)])
		}
		ids = append(ids, args[2])
		args = args[3+n:]
	}
	if len(ids) != keys {
		t.fail("sent %q", cmd)
	}
	return ids
}

// testScript is what the tests' pipes call.
var testScript = call.NewScript("return", testSHA)

const testSHA = "0123456789012345678901234567890123456789"

// asking is what a request asks for.
func asking(id string) *call.Request {
	r := &call.Request{Clock: -1}
	r.Begin(testScript, []byte(id))
	r.Key([]byte("key-" + id))
	for n := range int64(len(id)) {
		r.Number(n)
	}
	return r
}

func (w *world) Close(conn uint32) {
	if !w.isOpen || conn != w.conn {
		w.fail("Close of connection %d, open is %d, %v", conn, w.conn, w.isOpen)
	}
	w.isOpen = false
}

func (w *world) call() {
	id := w.nextID
	w.nextID++
	c := &pcall{w: w, id: id, deadline: w.now + w.between(-2, 40)*ms}
	w.inSend++
	w.waiting[id] = c
	var err error
	if name := strconv.Itoa(id); w.oneIn(3) {
		err = w.pipe.Send(w.now, redisproto.AppendCommand(nil, name), c.deadline, c)
	} else {
		err = w.pipe.Ask(w.now, asking(name), c.deadline, c)
	}
	w.inSend--
	if err != nil {
		if w.waiting[id] != c {
			w.fail("call %d was refused (%v) and done", id, err)
		}
		delete(w.waiting, id)
		// It may have reached the server's queue only if the Transport took it.
		switch err {
		case ErrUnavailable, ErrFull:
		case ErrTimeout:
			if c.deadline > w.now {
				w.fail("call %d was refused as late %d µs early", id, c.deadline-w.now)
			}
		default:
			w.fail("Send: %v", err)
		}
		if n := len(w.arrived); w.isOpen && n > 0 && slices.Contains(w.arrived[n-1], id) {
			w.fail("call %d was sent and refused: %v", id, err)
		}
		return
	}
	c.conn = w.conn
	if !w.isOpen {
		w.fail("call %d was accepted without a connection", id)
	}
	if w.pipe.Pending() > w.o.MaxPending {
		w.fail("%d pending, the most is %d", w.pipe.Pending(), w.o.MaxPending)
	}
}

func (c *pcall) Done(v redisproto.Value, err error) {
	w := c.w
	if w.inSend > 0 {
		w.fail("Done of call %d inside a Send", c.id)
	}
	if w.waiting[c.id] != c {
		w.fail("second Done for call %d: %v, %v", c.id, v, err)
	}
	delete(w.waiting, c.id)
	switch {
	case err == nil:
		if string(v.Str) != strconv.Itoa(c.id) {
			w.fail("call %d got %v", c.id, v)
		}
		if c.id <= w.lastID {
			w.fail("call %d got its reply after call %d", c.id, w.lastID)
		}
		w.lastID = c.id
		w.answers++
		if c.conn != w.conn {
			w.fail("call %d of connection %d got its reply on %d", c.id, c.conn, w.conn)
		}
	case err == ErrTimeout:
		if w.now < c.deadline {
			w.fail("call %d timed out %d µs early", c.id, c.deadline-w.now)
		}
	case w.harm == 0 && err != ErrLost: // stalled, at worst
		w.fail("call %d ended with %v, but nothing went wrong", c.id, err)
	case err == ErrLost, err == ErrProtocol, errors.Is(err, ErrUnavailable):
		if c.conn == w.conn && w.isOpen {
			w.fail("call %d ended with %v, but its connection is open", c.id, err)
		}
	default:
		w.fail("call %d ended with %v", c.id, err)
	}
	if w.depth > 3 {
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	for range w.between(0, 2) {
		w.call()
	}
	if err == nil && string(v.Str) != strconv.Itoa(c.id) {
		w.fail("the reply to call %d changed while its Done ran", c.id)
	}
	if w.panics && w.oneIn(6) {
		panic(onPurpose)
	}
}

const onPurpose = "on purpose"

// guarded runs an event as the embedder does.
func (w *world) guarded(f func()) {
	defer func() {
		w.depth = 0
		if r := recover(); r != nil && r != onPurpose {
			panic(r)
		}
	}()
	f()
}

// The server answers the next command or two, in full or in part.
func (w *world) answer() {
	if !w.isOpen {
		return
	}
	for range w.between(1, 4) {
		switch {
		case w.hello > 0:
			w.hello--
			if w.mishap(8) {
				w.back = append(w.back, "-WRONGPASS no\r\n"...)
				continue
			}
			w.back = append(w.back, "+OK\r\n"...)
		case len(w.arrived) > 0:
			ids := w.arrived[0]
			if len(ids) > 1 {
				w.back = redisproto.AppendArray(w.back, len(ids))
			}
			for _, id := range ids {
				w.back = append(w.back, fmt.Sprintf("+%d\r\n", id)...)
			}
			w.arrived = w.arrived[1:]
		}
	}
	if w.mishap(20) {
		w.back = append(w.back, garbage[w.rand.IntN(len(garbage))]...)
	}
}

func (w *world) deliver() {
	n := w.rand.IntN(len(w.back) + 1)
	part := w.back[:n]
	w.back = w.back[n:]
	conn := w.conn
	if w.oneIn(10) {
		w.pipe.Received(w.now, conn+1, []byte(":666\r\n"))
		w.pipe.Closed(w.now, conn+1, "")
	}
	w.pipe.Received(w.now, conn, part)
}

func (w *world) check() {
	n := w.pipe.Pending()
	if n > w.o.MaxPending {
		w.fail("%d pending, the most is %d", n, w.o.MaxPending)
	}
	if n < len(w.waiting) {
		w.fail("%d pending, but %d calls wait", n, len(w.waiting))
	}
	if len(w.waiting) != w.pipe.calls.live {
		w.fail("%d calls wait, the pipe knows %d", len(w.waiting), w.pipe.calls.live)
	}
}

func (w *world) tick() {
	next := w.pipe.Tick(w.now)
	for id, c := range w.waiting {
		if c.deadline <= w.now && c.conn == w.conn && w.isOpen {
			w.fail("call %d waits %d µs beyond its deadline", id, w.now-c.deadline)
		}
		if next == 0 || next > c.deadline {
			w.fail("next tick at %d, but call %d's deadline is %d", next, id, c.deadline)
		}
	}
	// A Transport that answers within Send may change what is overdue.
	if next != 0 && next <= w.now && !w.sync {
		w.fail("next tick at %d, which is not after %d", next, w.now)
	}
	if (next == 0) != (w.pipe.Pending() == 0) {
		w.fail("next tick at %d with %d pending", next, w.pipe.Pending())
	}
}

// run makes one history of so many steps. It panics with a failure.
func run(seed uint64, steps int, panics bool) *world {
	w := &world{rand: rand.New(rand.NewPCG(seed, 0)), now: 1_700_000_000_000_000, waiting: map[int]*pcall{}, nextID: 1, panics: panics}
	w.harm = []int{0, 1, 10, 100}[w.rand.IntN(4)]
	w.sync = w.oneIn(4)
	w.o = Options{
		MaxPending: int(w.between(1, 150)),
		BackoffMin: w.between(1, 20*ms),
		BackoffMax: w.between(1, 50*ms),
		StallAfter: w.between(1, 200*ms),
		Rand:       func() uint32 { return w.rand.Uint32() },
		Observer:   w,
	}
	if w.oneIn(2) {
		w.o.Gather = w.between(1, 10*ms)
	}
	if w.oneIn(2) {
		w.o.Username, w.o.Password, w.o.DB = "u", "p", 2
	}
	w.pipe = NewPipe(w, w.o)
	for range steps {
		switch w.between(0, 11) {
		case 0, 1, 2:
			for range w.between(1, 5) {
				w.call()
			}
		case 3, 4:
			w.answer()
		case 5, 6, 7:
			w.guarded(w.deliver)
		case 8:
			w.now += w.between(0, 15*ms)
		case 9, 10:
			if !panics {
				w.tick()
			} else {
				w.guarded(func() { w.pipe.Tick(w.now) })
			}
		case 11:
			if w.isOpen && w.mishap(2) {
				w.guarded(func() { w.pipe.Closed(w.now, w.conn, "x") })
			}
		}
		w.check()
	}
	// Whatever happened, nothing waits for ever: time alone ends every call.
	w.depth = 100 // no more sends
	w.panics = false
	w.now += 41 * ms
	w.pipe.Tick(w.now)
	w.check()
	if len(w.waiting) != 0 {
		w.fail("%d calls wait beyond every deadline", len(w.waiting))
	}
	w.now += w.o.StallAfter
	if next := w.pipe.Tick(w.now); next != 0 || w.pipe.Pending() != 0 {
		w.fail("after the last deadline and the stall: next tick at %d, %d pending", next, w.pipe.Pending())
	}
	w.depth = 0
	for range 3 {
		w.call()
	}
	w.depth = 100
	w.pipe.Close(w.now)
	if w.isOpen || len(w.waiting) != 0 || w.pipe.Pending() != 0 {
		w.fail("Close left a connection or a call")
	}
	w.call()
	w.check()
	if w.events.lost != w.events.opens {
		w.fail("%d attempts to connect, %d ends", w.events.opens, w.events.lost)
	}
	return w
}

// Each accepted call gets exactly one Done, never inside a Send, with its own
// reply, in order, whatever the network does.
func TestPipeProperties(t *testing.T) { histories(t, false) }

// The same, where the callers' Dones panic now and then.
func TestPipePropertiesWithPanics(t *testing.T) { histories(t, true) }

func histories(t *testing.T, panics bool) {
	const steps = 300
	var sum worldEvents
	var calls, answers, gathered, shared int
	for seed := range uint64(4000) {
		w, why := history(seed, steps, panics)
		if why == "" {
			calls += w.nextID
			answers += w.answers
			gathered += w.gathered
			shared += w.shared
			sum.connected += w.events.connected
			sum.lost += w.events.lost
			sum.late += w.events.late
			continue
		}
		// The same seed takes the same steps: find how few of them fail.
		few := steps
		for n := range steps {
			if _, s := history(seed, n, panics); s != "" {
				few, why = n, s
				break
			}
		}
		t.Fatalf("seed %d, %d steps: %s", seed, few, why)
	}
	t.Logf("%d calls, %d of them behind another, %d in another's, %d replies, %d late ones; %d connections answered, %d ended", calls, gathered, shared, answers, sum.late, sum.connected, sum.lost)
	if answers < calls/10 || gathered < calls/100 || shared < calls/100 || sum.late < calls/100 {
		t.Error("the histories are too dull to show anything")
	}
}

func history(seed uint64, steps int, panics bool) (w *world, why string) {
	defer func() {
		if r := recover(); r != nil {
			f, ok := r.(failure)
			if !ok {
				panic(r)
			}
			why = string(f)
		}
	}()
	return run(seed, steps, panics), ""
}
