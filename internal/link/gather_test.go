package link

import (
	"errors"
	"slices"
	"testing"
)

func (r *rig) went(want ...string) {
	r.t.Helper()
	if !slices.Equal(r.wire.sent, want) {
		r.t.Errorf("sent %q, want %q", r.wire.sent, want)
	}
	r.wire.sent = nil
}

// newBusyRig is a pipe with four calls out, that gathers for 500 µs.
func newBusyRig(t *testing.T) *rig {
	r := newRig(t, Options{Gather: 500})
	r.send("a")
	r.recv(":1\r\n")
	r.send("b", "c", "d", "e")
	r.went("a", "b", "c", "d", "e")
	r.calls.is("a=1")
	return r
}

func TestGatheredCallsGoOutWithTheNextReply(t *testing.T) {
	r := newBusyRig(t)
	r.send("f", "g")
	r.went()
	r.recv(":2\r\n")
	r.went("fg")
	r.recv(":3\r\n:4\r\n:5\r\n:6\r\n:7\r\n")
	r.calls.is("b=2", "c=3", "d=4", "e=5", "f=6", "g=7")
	r.send("h")
	r.went("h")
}

func TestGatheredCallsGoOutWithALaterOne(t *testing.T) {
	r := newBusyRig(t)
	r.send("f")
	r.now += 499
	r.send("g")
	r.went()
	r.now++
	r.send("h")
	r.went("fgh")
}

func TestGatheredCallsGoOutWithATick(t *testing.T) {
	r := newBusyRig(t)
	r.send("f")
	r.tick()
	r.went("f")
}

func TestFewCallsDontWait(t *testing.T) {
	r := newRig(t, Options{Gather: 500})
	r.send("a", "b", "c", "d", "e", "f") // nothing came yet: the connection may be refused
	r.went("a", "b", "c", "d", "e", "f")
	r.recv(":1\r\n:2\r\n:3\r\n")
	r.send("g")
	r.went("g")
}

func TestMuchDoesNotWait(t *testing.T) {
	r := newBusyRig(t)
	long := string(make([]byte, mostHeld))
	r.send(long, "f")
	r.went(long + "f")
}

func TestGatheredCallsEndWithTheirConnection(t *testing.T) {
	r := newBusyRig(t)
	r.send("f")
	r.Closed(r.now, 1, "")
	r.calls.is("b!lost", "c!lost", "d!lost", "e!lost", "f!lost")
	r.now += 1000 * ms
	r.send("g")
	r.went("g") // and nothing of the old ones
}

func TestGatheredCallsThatCannotBeSent(t *testing.T) {
	r := newBusyRig(t)
	r.send("f")
	r.wire.sendErr = errors.New("no")
	r.recv(":2\r\n")
	r.tick()
	r.calls.is("b=2", "c!lost", "d!lost", "e!lost", "f!lost")
}

// A Transport that panics may have sent or not: what waits can't be matched to
// replies any more.
func TestTransportThatPanicsEndsTheConnection(t *testing.T) {
	r := newBusyRig(t)
	r.send("f")
	r.wire.onSend = func(uint32) { panic("no") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nobody hears of the panic")
			}
		}()
		r.recv(":2\r\n")
	}()
	r.tick()
	r.calls.is("b=2", "c!lost", "d!lost", "e!lost", "f!lost")
}
