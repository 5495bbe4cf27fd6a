package link

import (
	"fmt"
	"strings"
	"testing"

	"sluice/internal/call"
)

// fail makes a rig a failer.
func (r *rig) fail(format string, args ...any) { r.t.Fatalf(format, args...) }

// ask asks for each name, with a deadline 20 ms from now.
func (r *rig) ask(names ...string) {
	r.t.Helper()
	for _, n := range names {
		r.askFor(n, asking(n))
	}
}

func (r *rig) askFor(name string, q *call.Request) {
	r.t.Helper()
	if err := r.Ask(r.now, q, r.now+20*ms, r.calls.new(name)); err != nil {
		r.t.Fatalf("ask %s: %v", name, err)
	}
}

// asked checks what went out: who asks in each command, joined by "+", and the
// commands of a message by a space.
func (r *rig) asked(want ...string) {
	r.t.Helper()
	var got []string
	for _, m := range r.wire.sent {
		var commands []string
		for _, cmd := range commandsOf(r, []byte(m)) {
			commands = append(commands, strings.Join(askedBy(r, cmd), "+"))
		}
		got = append(got, strings.Join(commands, " "))
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		r.t.Errorf("sent %q, want %q", got, want)
	}
	r.wire.sent = nil
}

// newBusyAsker is a pipe with four calls out, that gathers for 500 µs.
func newBusyAsker(t *testing.T, o Options) *rig {
	t.Helper()
	o.Gather = 500
	r := newRig(t, o)
	r.ask("1")
	r.recv("+1\r\n")
	r.ask("2", "3", "4", "5")
	r.asked("1", "2", "3", "4", "5")
	r.calls.is("1=1")
	*r.events = nil
	return r
}

func TestRequestsShareACall(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7", "8")
	r.asked()
	r.recv("+2\r\n")
	r.asked("6+7+8")
	r.ask("9")
	r.recv("+3\r\n+4\r\n+5\r\n*3\r\n+6\r\n-ERR of 7\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5")
	r.asked("9")
	r.recv("+8\r\n+9\r\n")
	r.calls.is("6=6", "7=ERR of 7", "8=8", "9=9")
	r.ask("10")
	r.asked("10") // few are out
}

func TestACommandKeepsItsPlaceAmongSharedCalls(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7")
	if err := r.Send(r.now, asking("8").AppendCall(nil, false), r.now+20*ms, r.calls.new("8")); err != nil {
		t.Fatal(err)
	}
	r.ask("9", "10")
	r.now += 500
	r.ask("11") // later, so that all go
	r.asked("6+7 8 9+10+11")
	r.recv("+2\r\n+3\r\n+4\r\n+5\r\n*2\r\n+6\r\n+7\r\n+8\r\n*3\r\n+9\r\n+10\r\n+11\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=6", "7=7", "8=8", "9=9", "10=10", "11=11")
}

func TestAnErrorOfASharedCallIsEachOnes(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7")
	r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
	r.recv("-NOSCRIPT no\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=NOSCRIPT no", "7=NOSCRIPT no")
}

func TestASharedCallsReplyOfAnotherShape(t *testing.T) {
	for _, reply := range []string{"*1\r\n+6\r\n", "*3\r\n+6\r\n+7\r\n+8\r\n", "+6\r\n", "*0\r\n", "*-1\r\n"} {
		r := newBusyAsker(t, Options{})
		r.ask("6", "7")
		r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
		r.recv(reply)
		r.tick()
		r.calls.is("2=2", "3=3", "4=4", "5=5", "6!protocol", "7!protocol")
		r.events.is(t, "lost: malformed reply: a reply of another shape than the call's")
	}
}

func TestALatePartOfASharedCall(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6")
	r.now += 400
	r.ask("7")
	r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
	r.now += 19_700
	r.tick() // 6 has no time left, 7 has
	r.recv("*2\r\n+6\r\n+7\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6!timeout", "7=7")
	r.events.is(t, "late")
}

func TestRedisThatRefusesSharedCalls(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7")
	r.recv("+2\r\n")
	r.asked("6+7")
	r.recv("+3\r\n+4\r\n+5\r\n-CROSSSLOT Keys in request don't hash to the same slot\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=CROSSSLOT Keys in request don't hash to the same slot", "7=CROSSSLOT Keys in request don't hash to the same slot")
	r.ask("8", "9", "10", "11", "12", "13")
	r.asked("8", "9", "10", "11")
	r.recv("+8\r\n")
	r.asked("12 13")
	r.recv("+9\r\n+10\r\n+11\r\n+12\r\n+13\r\n")
	r.calls.is("8=8", "9=9", "10=10", "11=11", "12=12", "13=13")
}

func TestRequestsApart(t *testing.T) {
	r := newBusyAsker(t, Options{Apart: true})
	r.ask("6", "7")
	r.recv("+2\r\n")
	r.asked("6 7")
}

// A new script is made when an operator adds a pool.
func TestRequestsOfTwoScriptsShareNoCall(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7")
	other := *testScript
	q := asking("8")
	q.Script = &other
	r.askFor("8", q)
	r.recv("+2\r\n")
	r.asked("6+7 8")
}

func TestRequestsOfTwoClocksShareNoCall(t *testing.T) {
	r := newBusyAsker(t, Options{})
	at := func(name string, us int64) {
		q := asking(name)
		q.Clock = us
		r.askFor(name, q)
	}
	at("6", -1)
	at("7", 1_000_000)
	at("8", 1_000_007)
	r.recv("+2\r\n")
	r.asked("6 7+8")
}

// By the latest clock, or what is charged by an earlier one would come too late.
func TestASharedCallsClockIsTheLatest(t *testing.T) {
	var c call.Shared
	for i, us := range []int64{5, 9, 7} {
		q := asking(fmt.Sprint(i))
		q.Clock = us
		c.Add(q)
	}
	cmd := commandsOf(&rig{t: t}, c.Flush(nil))[0]
	if got := cmd[3+3]; got != "9" {
		t.Errorf("the clock is %s", got)
	}
}

func TestSharedCallsHaveABound(t *testing.T) {
	r := newBusyAsker(t, Options{})
	var first, second []string
	for i := range mostShared + 2 {
		name := fmt.Sprint(100 + i)
		r.ask(name)
		if i < mostShared {
			first = append(first, name)
		} else {
			second = append(second, name)
		}
	}
	r.recv("+2\r\n")
	r.asked(strings.Join(first, "+") + " " + strings.Join(second, "+"))
}

// A Done that panics keeps no other from its part, nor what comes next.
func TestAPanicAmidASharedCallsReply(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7", "8")
	r.calls.then["6"] = func() { panic("no") }
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nobody hears of the panic")
			}
		}()
		r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
		r.recv("*3\r\n+6\r\n+7\r\n+8\r\n")
	}()
	r.ask("9")
	r.recv("+9\r\n")
	r.tick()
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=6", "7=7", "8=8", "9=9")
}

// What arrived is passed on before a connection that was closed is given up.
func TestAConnectionEndsAmidASharedCallsReply(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7", "8")
	r.calls.then["6"] = func() { r.Pipe.Close(r.now) }
	r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
	r.recv("*3\r\n+6\r\n+7\r\n+8\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=6", "7=7", "8=8")
	r.events.is(t, "lost: shut down: ")
}

func TestReadOnlyInASharedCallsReply(t *testing.T) {
	r := newBusyAsker(t, Options{LeaveReadOnly: true})
	r.ask("6", "7")
	r.recv("+2\r\n+3\r\n+4\r\n+5\r\n")
	r.recv("*2\r\n-READONLY no\r\n+7\r\n")
	r.calls.is("2=2", "3=3", "4=4", "5=5", "6=READONLY no", "7=7")
	if r.state != idle {
		t.Error("the connection to a replica is kept")
	}
}

func TestSharedCallsEndWithTheirConnection(t *testing.T) {
	r := newBusyAsker(t, Options{})
	r.ask("6", "7")
	r.Closed(r.now, 1, "")
	r.calls.is("2!lost", "3!lost", "4!lost", "5!lost", "6!lost", "7!lost")
	r.now += 1000 * ms
	r.ask("8")
	r.asked("8") // and nothing of the old ones
}
