package link

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"sluice/redisproto"
)

// fakeCaller is a proxy whose answers the test gives.
type fakeCaller struct {
	bodies   []string
	timeouts []int64
	err      error
}

func (f *fakeCaller) Call(body []byte, timeout int64) (uint32, error) {
	if f.err != nil {
		return 0, f.err
	}
	f.bodies = append(f.bodies, string(body))
	f.timeouts = append(f.timeouts, timeout)
	return uint32(len(f.bodies)), nil
}

// fakeAuth is one that logs in by itself.
type fakeAuth struct {
	fakeCaller
	logins   int
	loginErr error
}

func (f *fakeAuth) Login() error {
	f.logins++
	return f.loginErr
}

// ending is a continuation that notes how its call ended.
type ending struct {
	reply string
	err   error
	times int
	then  func()
}

func (e *ending) Done(v redisproto.Value, err error) {
	e.times++
	e.reply, e.err = string(v.Str), err
	if e.then != nil {
		e.then()
	}
}

func (e *ending) must(t *testing.T, reply string, err error) {
	t.Helper()
	if e.times != 1 || e.reply != reply || !errors.Is(e.err, err) {
		t.Errorf("ended %d times with %q, %v; want %q, %v", e.times, e.reply, e.err, reply, err)
	}
}

func TestCallsAnswerInAnyOrder(t *testing.T) {
	f := &fakeCaller{}
	l := NewCalls(f, Options{Password: "pw", DB: 2})
	var a, b ending
	for _, e := range []*ending{&a, &b} {
		if err := l.Send(0, []byte("CMD"), 20*ms, e); err != nil {
			t.Fatal(err)
		}
	}
	if want := "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n*2\r\n$6\r\nSELECT\r\n$1\r\n2\r\nCMD"; f.bodies[1] != want {
		t.Errorf("sent %q", f.bodies[1])
	}
	if f.timeouts[0] <= 20*ms {
		t.Errorf("the proxy gives up after %d us, before the plugin does", f.timeouts[0])
	}
	l.Answered(1, 2, []byte("+OK\r\n+OK\r\n+two\r\n"))
	l.Answered(2, 1, []byte("+OK\r\n+OK\r\n+one\r\n"))
	l.Answered(2, 1, []byte("+OK\r\n+OK\r\n+again\r\n"))
	a.must(t, "one", nil)
	b.must(t, "two", nil)
	if l.Pending() != 0 || l.Tick(3) != 0 {
		t.Error("something is still pending")
	}
}

func TestCallsEndings(t *testing.T) {
	for name, c := range map[string]struct {
		do  func(l *Calls)
		err error
	}{
		"deadline":            {func(l *Calls) { l.Tick(20 * ms) }, ErrTimeout},
		"nothing":             {func(l *Calls) { l.Answered(1, 1, nil) }, ErrLost},
		"half a reply":        {func(l *Calls) { l.Answered(1, 1, []byte("+OK\r\n$5\r\nab")) }, ErrLost},
		"no RESP":             {func(l *Calls) { l.Answered(1, 1, []byte("HTTP/1.1 400\r\n")) }, ErrProtocol},
		"reset":               {func(l *Calls) { l.Failed(1, 1, PeerClosed, "", ErrLost) }, ErrLost},
		"reset when late":     {func(l *Calls) { l.Failed(20*ms, 1, PeerClosed, "", ErrLost) }, ErrTimeout},
		"no connection":       {func(l *Calls) { l.Failed(1, 1, OpenFailed, "", ErrUnavailable) }, ErrUnavailable},
		"the link is closed":  {func(l *Calls) { l.Close(1) }, ErrLost},
		"the password's fate": {func(l *Calls) { l.Answered(1, 1, []byte("-WRONGPASS pw\r\n-NOAUTH x\r\n")) }, ErrUnavailable},
	} {
		var e ending
		l := NewCalls(&fakeCaller{}, Options{Password: "pw"})
		if err := l.Send(0, []byte("CMD"), 20*ms, &e); err != nil {
			t.Fatal(err)
		}
		l.Tick(19 * ms)
		c.do(l)
		e.must(t, "", c.err)
		if e.err != nil && strings.Contains(e.err.Error(), "pw") {
			t.Errorf("%s: %v", name, e.err)
		}
		l.Answered(30*ms, 1, []byte("+OK\r\n+late\r\n"))
		l.Tick(30 * ms)
		if e.times != 1 || l.Pending() != 0 {
			t.Errorf("%s: ended %d times, %d pending", name, e.times, l.Pending())
		}
	}
}

func TestCallsRefuse(t *testing.T) {
	f := &fakeCaller{err: ErrUnavailable}
	l := NewCalls(f, Options{MaxPending: 1})
	var e ending
	if err := l.Send(0, nil, 10, &e); err != ErrUnavailable {
		t.Error(err)
	}
	f.err = nil
	if err := l.Send(10, nil, 10, &e); err != ErrTimeout {
		t.Error(err)
	}
	if err := l.Send(10, nil, 20, nil); err != nil {
		t.Error(err)
	}
	if err := l.Send(10, nil, 20, &e); err != ErrFull {
		t.Error(err)
	}
	l.Close(11)
	if err := l.Send(12, nil, 20, &e); err != ErrUnavailable {
		t.Error(err)
	}
	if e.times != 0 {
		t.Error("a refused call ended")
	}
}

// What is sent from within an answer waits for the next Tick, over a plain Caller.
func TestCallsSentWithinAnAnswer(t *testing.T) {
	f := &fakeCaller{}
	l := NewCalls(f, Options{})
	var second, third ending
	first := ending{then: func() {
		for _, e := range []*ending{&second, &third} {
			if err := l.Send(1, []byte("2"), 20*ms, e); err != nil {
				t.Error(err)
			}
		}
	}}
	if err := l.Send(0, []byte("1"), 20*ms, &first); err != nil {
		t.Fatal(err)
	}
	l.Answered(1, 1, []byte("+a\r\n"))
	if len(f.bodies) != 1 || l.Pending() != 2 {
		t.Fatalf("%d sent, %d pending", len(f.bodies), l.Pending())
	}
	if l.Tick(4*ms) == 0 || len(f.bodies) != 3 {
		t.Fatalf("after a tick %d are sent", len(f.bodies))
	}
	l.Answered(5*ms, 2, []byte("+b\r\n"))
	second.must(t, "b", nil)
	l.Tick(20 * ms)
	third.must(t, "", ErrTimeout)

	// A Caller that won't, later.
	again := ending{then: func() {
		f.err = ErrUnavailable
		if err := l.Send(21*ms, []byte("x"), 40*ms, &third); err != nil {
			t.Error(err)
		}
	}}
	third = ending{}
	if err := l.Send(20*ms, []byte("3"), 40*ms, &again); err != nil {
		t.Fatal(err)
	}
	l.Answered(21*ms, 4, []byte("+c\r\n"))
	l.Tick(24 * ms)
	third.must(t, "", ErrUnavailable)
}

// A proxy that forgot how to log in is told anew, and the command goes out once more.
func TestCallsLogInAnew(t *testing.T) {
	for _, refusal := range []string{"-NOAUTH Authentication required.\r\n", "-ERR Protocol error: unauthenticated multibulk length\r\n"} {
		f := &fakeAuth{}
		l := NewCalls(f, Options{Password: "pw", DB: 1})
		var a, b ending
		for _, e := range []*ending{&a, &b} {
			if err := l.Send(0, []byte("CMD"), 20*ms, e); err != nil {
				t.Fatal(err)
			}
		}
		if f.logins != 1 || !slices.Equal(f.bodies, []string{"CMD", "CMD"}) {
			t.Fatalf("%d logins, sent %q", f.logins, f.bodies)
		}
		l.Answered(1, 1, []byte(refusal))
		l.Answered(1, 2, []byte(refusal))
		if f.logins != 2 || len(f.bodies) != 4 || a.times+b.times != 0 {
			t.Fatalf("%d logins, %d sent, %d ended", f.logins, len(f.bodies), a.times+b.times)
		}
		l.Answered(2, 3, []byte("+a\r\n"))
		l.Answered(2, 4, []byte("-NOAUTH again\r\n"))
		a.must(t, "a", nil)
		b.must(t, "NOAUTH again", nil)
		if f.logins != 2 {
			t.Errorf("%d logins", f.logins)
		}
	}
}

// A login is repeated now and then: when nothing is out, and for a database in any
// case.
func TestCallsLogInNowAndThen(t *testing.T) {
	for db, want := range map[int]int{0: 2, 1: 3} {
		f := &fakeAuth{}
		l := NewCalls(f, Options{DB: db})
		send := func(now int64) {
			if err := l.Send(now, []byte("C"), now+100_000_000, &ending{}); err != nil {
				t.Fatal(err)
			}
		}
		send(1)
		l.Answered(2, 1, []byte("+a\r\n"))
		send(loginAfter - 1)
		l.Answered(loginAfter-1, 2, []byte("+a\r\n"))
		if f.logins != 1 {
			t.Fatalf("%d logins", f.logins)
		}
		send(loginAfter + 1) // nothing is out
		if f.logins != 2 {
			t.Fatalf("%d logins", f.logins)
		}
		send(2*loginAfter + 2) // one is out
		if f.logins != 2 {
			t.Fatalf("%d logins", f.logins)
		}
		send(loginAfter + 1 + loginLatest)
		if f.logins != want {
			t.Errorf("db %d: %d logins, want %d", db, f.logins, want)
		}
	}
	f := &fakeAuth{loginErr: ErrUnavailable}
	l := NewCalls(f, Options{})
	if err := l.Send(0, []byte("C"), 10, nil); err != ErrUnavailable || len(f.bodies) != 0 {
		t.Errorf("without a login: %v, %d sent", err, len(f.bodies))
	}
}
