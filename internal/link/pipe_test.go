package link

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRepliesMatchInOrder(t *testing.T) {
	r := newRig(t, Options{})
	if r.wire.last != 0 {
		t.Fatal("connected before it was used")
	}
	r.send("a", "b", "c")
	if want := []string{"a", "b", "c"}; !slices.Equal(r.wire.sent, want) {
		t.Errorf("sent %q, want %q", r.wire.sent, want)
	}
	r.recv(":1\r\n:2")
	r.calls.is("a=1")
	if n := r.Pending(); n != 2 {
		t.Errorf("%d pending, want 2", n)
	}
	r.recv("2\r")
	r.calls.is()
	r.recv("\n+OK\r\n")
	r.calls.is("b=22", "c=OK")
	r.send("d")
	r.recv("-ERR no\r\n")
	r.calls.is("d=ERR no")
	r.events.is(t, "connected 1")
	if next := r.tick(); next != 0 || r.Pending() != 0 {
		t.Errorf("next tick at %d with %d pending, want none", next, r.Pending())
	}
	if r.wire.last != 1 {
		t.Errorf("%d connections were made, want 1", r.wire.last)
	}
}

func TestDeadlines(t *testing.T) {
	r := newRig(t, Options{})
	r.send("a")
	r.now += 5 * ms
	r.send("b")
	if next := r.tick(); next != 1_000_000+20*ms {
		t.Errorf("next tick at %d", next)
	}
	r.now = 1_000_000 + 20*ms - 1
	r.tick()
	r.calls.is()
	r.now++
	if next := r.tick(); next != 1_000_000+25*ms {
		t.Errorf("next tick at %d", next)
	}
	r.calls.is("a!timeout")
	if n := r.Pending(); n != 2 {
		t.Errorf("%d pending, want 2: a late call still waits for its reply", n)
	}
	// a's reply is late, b's is not.
	r.recv(":1\r\n:2\r\n")
	r.calls.is("b=2")
	r.events.is(t, "connected 1", "late")
	if next := r.tick(); next != 0 {
		t.Errorf("next tick at %d, want none", next)
	}
}

func TestReplyAtTheDeadlineIsInTime(t *testing.T) {
	r := newRig(t, Options{})
	r.send("a", "b")
	r.now += 20 * ms
	r.recv(":1\r\n")
	r.tick()
	r.calls.is("a=1", "b!timeout")
}

func TestDeadlinesNeedNotBeInOrder(t *testing.T) {
	r := newRig(t, Options{})
	for _, c := range []struct {
		name string
		in   int64
	}{{"slow", 50}, {"fast", 5}, {"middle", 20}, {"fast2", 5}} {
		if err := r.Send(r.now, nil, r.now+c.in*ms, r.calls.new(c.name)); err != nil {
			t.Fatal(err)
		}
	}
	start := r.now
	r.now = start + 5*ms
	if next := r.tick(); next != start+20*ms {
		t.Errorf("next tick after %d ms, want 20", (next-start)/ms)
	}
	r.calls.is("fast!timeout", "fast2!timeout")
	r.now = start + 20*ms
	if next := r.tick(); next != start+50*ms {
		t.Errorf("next tick after %d ms, want 50", (next-start)/ms)
	}
	r.calls.is("middle!timeout")
	r.recv(":1\r\n:2\r\n:3\r\n:4\r\n")
	r.calls.is("slow=1")
}

func TestDeadlineInThePast(t *testing.T) {
	r := newRig(t, Options{})
	for _, d := range []int64{0, r.now - 1, r.now} {
		if err := r.Send(r.now, nil, d, r.calls.new("a")); err != ErrTimeout {
			t.Errorf("deadline %d: got %v, want %v", d, err, ErrTimeout)
		}
	}
	if r.wire.last != 0 {
		t.Error("connected for a call that is already late")
	}
}

func TestCallWithoutADeadline(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.Send(r.now, nil, forever, r.calls.new("a")); err != nil {
		t.Fatal(err)
	}
	r.now += 1e12
	r.tick()
	r.calls.is()
	r.recv(":1\r\n")
	r.calls.is("a=1")
}

func TestPendingIsCapped(t *testing.T) {
	r := newRig(t, Options{MaxPending: 3})
	r.send("a", "b", "c")
	if err := r.try("d"); err != ErrFull {
		t.Errorf("got %v, want %v", err, ErrFull)
	}
	r.now += 20 * ms
	r.tick()
	r.calls.is("a!timeout", "b!timeout", "c!timeout")
	if err := r.try("d"); err != ErrFull {
		t.Errorf("late calls count: got %v, want %v", err, ErrFull)
	}
	r.recv(":1\r\n")
	r.send("d")
	r.recv(":2\r\n:3\r\n:4\r\n")
	r.calls.is("d=4")
}

func TestLossFailsAllThatWaits(t *testing.T) {
	r := newRig(t, Options{})
	r.send("a", "b", "c")
	r.recv(":1\r\n:2")
	r.Closed(r.now, r.wire.last, "gRPC 14")
	r.calls.is("a=1", "b!lost", "c!lost")
	r.events.is(t, "connected 1", "lost: closed by peer: gRPC 14")
	if len(r.wire.isOpen) != 0 {
		t.Error("the connection's token was not closed")
	}
	if r.Pending() != 0 || r.tick() != 0 {
		t.Error("something still waits")
	}
	// Late calls of the old connection don't eat the new one's replies.
	r.now += 50 * ms
	r.send("d")
	r.now += 20 * ms
	r.tick()
	r.Closed(r.now, r.wire.last, "")
	r.calls.is("d!timeout")
	r.now += 100 * ms
	r.send("e")
	r.recv(":5\r\n")
	r.calls.is("e=5")
}

func TestOtherTokensAreIgnored(t *testing.T) {
	r := newRig(t, Options{})
	r.Received(r.now, 0, []byte("?"))
	r.Closed(r.now, 0, "")
	r.send("a")
	for _, conn := range []uint32{0, 2, 77} {
		r.Received(r.now, conn, []byte(":9\r\n"))
		r.Closed(r.now, conn, "")
	}
	r.calls.is()
	r.Closed(r.now, 1, "")
	r.calls.is("a!lost")
	r.Received(r.now, 1, []byte(":9\r\n"))
	r.Closed(r.now, 1, "")
	r.now += 50 * ms
	r.send("b")
	r.Received(r.now, 1, []byte(":9\r\n"))
	r.Closed(r.now, 1, "")
	r.calls.is()
	r.recv(":2\r\n")
	r.calls.is("b=2")
}

func TestMalformedReplyResets(t *testing.T) {
	for _, bad := range []string{
		"HTTP/1.1 400 Bad Request\r\n", ":x\r\n", "$5\r\nabcdefg\r\n", "*9999999\r\n", ":1\n", strings.Repeat("*1\r\n", 100),
	} {
		r := newRig(t, Options{})
		r.send("a", "b", "c")
		r.recv(":1\r\n" + bad + ":2\r\n:3\r\n")
		r.calls.is("a=1", "b!protocol", "c!protocol")
		if len(*r.events) != 2 || !strings.HasPrefix((*r.events)[1], "lost: malformed reply: ") {
			t.Errorf("events: %q", *r.events)
		}
		if len(r.wire.isOpen) != 0 {
			t.Errorf("%q: the connection is still open", bad)
		}
		r.now += 50 * ms
		r.send("d")
		r.recv(":4\r\n")
		r.calls.is("d=4")
	}
}

func TestReplyToNothingResets(t *testing.T) {
	r := newRig(t, Options{})
	r.send("a")
	r.recv(":1\r\n:2\r\n")
	r.calls.is("a=1")
	r.events.is(t, "connected 1", "lost: malformed reply: a reply that nothing asked for")
	r.now += 50 * ms
	r.send("b")
	r.recv(":3\r\n")
	r.calls.is("b=3")
}

func TestOpenFails(t *testing.T) {
	r := newRig(t, Options{})
	r.wire.openErr = errors.New("no such cluster")
	if err := r.try("a"); err != ErrUnavailable {
		t.Errorf("got %v, want %v", err, ErrUnavailable)
	}
	r.events.is(t, "lost: open failed: no such cluster")
	if r.Pending() != 0 || r.tick() != 0 {
		t.Error("something waits")
	}
}

func TestSendFails(t *testing.T) {
	t.Run("first on its connection", func(t *testing.T) {
		r := newRig(t, Options{})
		r.wire.sendErr = errors.New("bad token")
		if err := r.try("a"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.events.is(t, "lost: send failed: bad token")
		if len(r.wire.isOpen) != 0 {
			t.Error("the connection is still open")
		}
		r.wire.sendErr = nil
		r.now += 50 * ms
		r.send("b")
	})
	t.Run("the handshake", func(t *testing.T) {
		r := newRig(t, Options{Password: "x"})
		r.wire.sendErr = errors.New("bad token")
		if err := r.try("a"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.events.is(t, "lost: send failed: bad token")
	})
	t.Run("while others wait", func(t *testing.T) {
		r := newRig(t, Options{})
		r.send("a", "b")
		r.wire.sendErr = errors.New("bad token")
		if err := r.try("c"); err != ErrUnavailable {
			t.Errorf("got %v, want %v", err, ErrUnavailable)
		}
		r.calls.is() // not during a Send
		if next := r.tick(); next != 0 {
			t.Errorf("next tick at %d, want none", next)
		}
		r.calls.is("a!lost", "b!lost")
	})
	t.Run("while others wait, and one goes out before the tick", func(t *testing.T) {
		r := newRig(t, Options{BackoffMin: 1})
		r.send("a")
		r.wire.sendErr = errors.New("bad token")
		_ = r.try("b")
		r.wire.sendErr = nil
		r.now += 10
		r.send("c")
		r.recv(":3\r\n")
		r.calls.is("a!lost", "c=3")
	})
}

func TestStalledConnectionIsGivenUp(t *testing.T) {
	r := newRig(t, Options{StallAfter: 100 * ms})
	start := r.now
	r.send("a")
	r.now = start + 20*ms
	if next := r.tick(); next != start+120*ms {
		t.Errorf("next tick after %d ms, want 120", (next-start)/ms)
	}
	r.now = start + 110*ms
	r.send("b") // 20 ms to live
	r.now = start + 120*ms
	if next := r.tick(); next != 0 {
		t.Errorf("next tick at %d, want none", next)
	}
	r.calls.is("a!timeout", "b!lost")
	r.events.is(t, "lost: stalled: ")
	if len(r.wire.isOpen) != 0 {
		t.Error("the stalled connection is still open")
	}
	r.now += 50 * ms
	r.send("c")
	if r.wire.last != 2 {
		t.Error("no new connection")
	}
}

// A connection to what was the master is given up for one that may lead to what is,
// once all that it has answered is passed on.
func TestReadOnlyConnectionIsGivenUp(t *testing.T) {
	for _, leave := range []bool{true, false} {
		r := newRig(t, Options{LeaveReadOnly: leave})
		r.send("a", "b", "c", "d")
		r.recv(":1\r\n-READONLY You can't write against a read only replica.\r\n:3\r\n")
		if !leave {
			r.calls.is("a=1", "b=READONLY You can't write against a read only replica.", "c=3")
			r.events.is(t, "connected 1")
			continue
		}
		r.calls.is("a=1", "b=READONLY You can't write against a read only replica.", "c=3", "d!lost")
		r.events.is(t, "connected 1", "lost: no longer the master: ")
		r.now += 1000 * ms
		r.send("e")
		r.recv(":5\r\n")
		r.calls.is("e=5")
		r.events.is(t, "connected 2")
	}
}

func TestSlowConnectionThatAnswersIsKept(t *testing.T) {
	r := newRig(t, Options{StallAfter: 100 * ms})
	for range 50 {
		r.send("a")
		r.now += 90 * ms
		r.tick()
		r.recv(":1\r\n")
	}
	if r.wire.last != 1 {
		t.Errorf("%d connections, want 1", r.wire.last)
	}
}

func TestClose(t *testing.T) {
	r := newRig(t, Options{})
	r.Close(r.now) // before it was ever open
	r = newRig(t, Options{})
	r.send("a", "b")
	r.Close(r.now)
	r.calls.is("a!lost", "b!lost")
	r.events.is(t, "lost: shut down: ")
	r.now += 1e9
	if err := r.try("c"); err != ErrUnavailable {
		t.Errorf("Send after Close: got %v, want %v", err, ErrUnavailable)
	}
	r.Close(r.now)
	r.Closed(r.now, 1, "")
	r.recv(":1\r\n")
	r.calls.is()
	if len(r.wire.isOpen) != 0 || r.tick() != 0 {
		t.Error("Close left something open")
	}
}

func TestNobodyWaits(t *testing.T) {
	r := newRig(t, Options{})
	if err := r.Send(r.now, []byte("x"), r.now+20*ms, nil); err != nil {
		t.Fatal(err)
	}
	r.send("a")
	r.recv(":1\r\n:2\r\n")
	r.calls.is("a=2")
	for range 2 {
		if err := r.Send(r.now, []byte("x"), r.now+20*ms, nil); err != nil {
			t.Fatal(err)
		}
	}
	r.now += 20 * ms
	r.tick()
	r.Closed(r.now, 1, "")
	if r.Pending() != 0 {
		t.Error("something still waits")
	}
}

func TestClockSetBack(t *testing.T) {
	r := newRig(t, Options{})
	r.now = 1_700_000_000_000_000
	r.send("a")
	r.now += 10 * ms
	r.tick()
	r.now -= 3600e6
	r.send("b")
	if next := r.tick(); next != r.now+10*ms {
		t.Errorf("next tick in %d µs, want 10 ms", next-r.now)
	}
	r.now += 10 * ms
	r.tick()
	r.calls.is("a!timeout")
	r.now += 10 * ms
	r.tick()
	r.calls.is("b!timeout")
	r.Closed(r.now, 1, "")
	r.now -= 3600e6
	_ = r.try("c") // backing off
	r.now += 50 * ms
	r.send("d")
	if err := r.Send(r.now, nil, forever, nil); err != nil {
		t.Errorf("a call without a deadline: %v", err)
	}
}

func TestOldNowChangesNothing(t *testing.T) {
	r := newRig(t, Options{})
	start := r.now
	for range 100 {
		if err := r.Send(start, nil, start+20*ms, r.calls.new("a")); err != nil {
			t.Fatal(err)
		}
		r.Tick(start + 19*ms)
		r.calls.is()
		r.recv(":1\r\n")
		r.calls.is("a=1")
	}
	if next := r.Tick(start + 19*ms); next != 0 {
		t.Errorf("next tick at %d", next)
	}
	r.send("b") // its now is 19 ms old
	r.Tick(start + 20*ms - 1)
	r.calls.is()
	r.Tick(start + 20*ms)
	r.calls.is("b!timeout")
}
