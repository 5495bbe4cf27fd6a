package link

import (
	"errors"
	"testing"
)

// A Done may send again, whatever called it.

func TestSendInDone(t *testing.T) {
	t.Run("of a reply", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["a"] = func() { r.send("a2") }
		r.send("a", "b")
		r.recv("-NOSCRIPT x\r\n:2\r\n:3\r\n")
		r.calls.is("a=NOSCRIPT x", "b=2", "a2=3")
	})
	t.Run("of a timeout", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["a"] = func() { r.send("a2") }
		r.send("a", "b")
		r.now += 20 * ms
		if next := r.tick(); next != r.now+20*ms {
			t.Errorf("next tick in %d ms, want 20", (next-r.now)/ms)
		}
		r.calls.is("a!timeout", "b!timeout")
		r.recv(":1\r\n:2\r\n:3\r\n")
		r.calls.is("a2=3")
	})
	t.Run("of a loss", func(t *testing.T) {
		r := newRig(t, Options{BackoffMax: 10 * ms})
		r.send("a")
		r.recv(":1\r\n")
		r.now += 10 * ms // long enough to count as good: no back-off
		r.calls.then["b"] = func() { r.send("b2") }
		r.calls.then["c"] = func() { r.send("c2") }
		r.send("b", "c")
		r.Closed(r.now, 1, "")
		r.calls.is("a=1", "b!lost", "c!lost")
		r.recv(":2\r\n:3\r\n")
		r.calls.is("b2=2", "c2=3")
	})
	t.Run("of a loss, while backing off", func(t *testing.T) {
		r := newRig(t, Options{})
		var err error
		r.calls.then["a"] = func() { err = r.try("a2") }
		r.send("a")
		r.Closed(r.now, 1, "")
		if err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
	})
	t.Run("of a malformed reply", func(t *testing.T) {
		r := newRig(t, Options{BackoffMax: 1})
		r.now++
		r.calls.then["b"] = func() { r.send("b2") }
		r.send("a", "b")
		r.now++
		r.recv(":1\r\n?")
		r.calls.is("a=1", "b!protocol")
		r.recv(":2\r\n")
		r.calls.is("b2=2")
	})
	t.Run("which fails", func(t *testing.T) {
		r := newRig(t, Options{})
		var err error
		r.calls.then["a"] = func() {
			r.wire.sendErr = errors.New("bad token")
			err = r.try("a2")
			r.wire.sendErr = nil
			if err := r.try("a3"); err != ErrUnavailable {
				t.Errorf("Send on the broken connection: got %v, want %v", err, ErrUnavailable)
			}
		}
		r.send("a", "b", "c")
		r.recv(":1\r\n:2\r\n") // b's reply is here already, c's will never come
		if err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.calls.is("a=1", "b=2", "c!lost")
	})
	t.Run("which fails, of a timeout", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["a"] = func() {
			r.wire.sendErr = errors.New("bad token")
			_ = r.try("a2")
		}
		r.send("a")
		r.now += 10 * ms
		r.send("b")
		r.now += 10 * ms
		r.tick()
		r.calls.is("a!timeout", "b!lost")
	})
	t.Run("until the pipe is full", func(t *testing.T) {
		r := newRig(t, Options{MaxPending: 2})
		var err error
		r.calls.then["a"] = func() { r.send("a2"); err = r.try("a3") }
		r.send("a", "b")
		r.recv(":1\r\n")
		if err != ErrFull {
			t.Errorf("got %v, want %v", err, ErrFull)
		}
	})
}

func TestManySendsInDoneGrowTheQueue(t *testing.T) {
	r := newRig(t, Options{})
	var want []string
	grow := func() {
		for i := range 500 {
			r.send("x" + string(rune('0'+i)))
		}
	}
	for i := range 500 {
		want = append(want, "x"+string(rune('0'+i))+"!timeout")
	}
	r.calls.then["a"] = grow
	r.send("a")
	r.now += 20 * ms
	r.tick()
	r.calls.is("a!timeout")
	r.now += 20 * ms
	r.tick()
	r.calls.is(want...)
}

func TestCloseInDone(t *testing.T) {
	r := newRig(t, Options{})
	r.calls.then["a"] = func() { r.Close(r.now) }
	r.send("a", "b", "c")
	r.recv(":1\r\n:2\r\n")
	r.calls.is("a=1", "b=2", "c!lost")

	r = newRig(t, Options{})
	r.calls.then["a"] = func() { r.Close(r.now) }
	r.send("a")
	r.now += 10 * ms
	r.send("b")
	r.now += 10 * ms
	r.tick()
	r.calls.is("a!timeout", "b!lost")
	r.events.is(t, "lost: shut down: ")
}

// Not asked for, but nothing may break.
func TestEventsInDone(t *testing.T) {
	r := newRig(t, Options{})
	r.calls.then["a"] = func() {
		r.recv(":2\r\n:3\r\n")
		if next := r.tick(); next != r.now {
			t.Errorf("a tick inside a Done: next at %d, want now", next)
		}
		r.calls.is("a=1")
	}
	r.send("a", "b", "c", "d")
	r.recv(":1\r\n")
	r.calls.is("b=2", "c=3")
	r.calls.then["d"] = func() { r.Closed(r.now, 1, "x") }
	r.send("e")
	r.recv(":4\r\n")
	r.calls.is("d=4", "e!lost")
}

// A panic in a Done is the embedder's to recover from. No other call may suffer.
func TestPanicInDone(t *testing.T) {
	boom := func() { panic("on purpose") }
	survive := func(f func()) {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		f()
	}
	t.Run("of a reply", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["a"] = boom
		r.send("a", "b", "c")
		survive(func() { r.recv(":1\r\n:2\r\n:3") })
		r.calls.is("a=1")
		if next := r.Tick(r.now); next != r.now+20*ms {
			t.Errorf("next tick at %d", next)
		}
		r.calls.is("b=2")
		r.recv("3\r\n")
		r.calls.is("c=33")
	})
	t.Run("of a timeout", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["b"] = boom
		r.send("a", "b", "c", "d")
		r.now += 20 * ms
		survive(func() { r.tick() })
		r.calls.is("a!timeout", "b!timeout")
		r.tick()
		r.calls.is("c!timeout", "d!timeout")
		r.recv(":1\r\n:2\r\n:3\r\n:4\r\n")
		r.send("e")
		r.recv(":5\r\n")
		r.calls.is("e=5")
	})
	t.Run("of a loss", func(t *testing.T) {
		r := newRig(t, Options{})
		r.calls.then["a"] = boom
		r.calls.then["b"] = boom
		r.send("a", "b", "c")
		survive(func() { r.Closed(r.now, 1, "") })
		survive(func() { r.tick() })
		r.now += 50 * ms
		r.send("d")
		r.tick()
		r.calls.is("a!lost", "b!lost", "c!lost")
		r.recv(":4\r\n")
		r.calls.is("d=4")
	})
}

// A Transport that calls back from within its own methods is not what Envoy is,
// but an emulator may be.

func TestTransportThatAnswersAtOnce(t *testing.T) {
	r := newRig(t, Options{Password: "x"})
	n := 0
	r.wire.onSend = func(conn uint32) {
		n++
		if n == 1 {
			r.Received(r.now, conn, []byte("+OK\r\n"))
		} else {
			r.Received(r.now, conn, []byte(":1\r\n"))
		}
	}
	r.send("a", "b")
	r.calls.is() // not during a Send
	if next := r.tick(); next != 0 {
		t.Errorf("next tick at %d, want none", next)
	}
	r.calls.is("a=1", "b=1")
	r.send("c")
	r.wire.onSend = nil
	r.send("d")
	r.recv(":2\r\n")
	r.calls.is("c=1", "d=2")
}

func TestTransportThatClosesAtOnce(t *testing.T) {
	t.Run("in Open", func(t *testing.T) {
		r := newRig(t, Options{})
		r.wire.onOpen = func(conn uint32) { r.Closed(r.now, conn, "14") }
		if err := r.try("a"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		if len(r.wire.isOpen) != 0 {
			t.Error("the connection's token was not closed")
		}
		r.wire.onOpen = func(conn uint32) { r.Closed(r.now, conn-1, "14") }
		r.now += 50 * ms
		r.send("b")
	})
	t.Run("in Send", func(t *testing.T) {
		r := newRig(t, Options{})
		r.send("a")
		r.wire.onSend = func(conn uint32) { r.Closed(r.now, conn, "14") }
		if err := r.try("b"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.calls.is()
		r.events.is(t, "lost: closed by peer: 14")
		r.tick()
		r.calls.is("a!lost")
	})
	t.Run("in the first Send", func(t *testing.T) {
		r := newRig(t, Options{})
		r.wire.onSend = func(conn uint32) { r.Closed(r.now, conn, "14") }
		if err := r.try("a"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.wire.onSend = nil
		r.now += 50 * ms
		r.send("b")
	})
}
