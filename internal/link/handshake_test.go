package link

import (
	"errors"
	"strings"
	"testing"

	"sluice/redisproto"
)

func TestHandshakeGoesFirst(t *testing.T) {
	const auth, auth2 = "*2\r\n$4\r\nAUTH\r\n$2\r\npw\r\n", "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$2\r\npw\r\n"
	const sel = "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{}, ""},
		{Options{Password: "pw"}, auth},
		{Options{Username: "u", Password: "pw"}, auth2},
		{Options{Username: "u"}, "*3\r\n$4\r\nAUTH\r\n$1\r\nu\r\n$0\r\n\r\n"},
		{Options{DB: 12}, sel},
		{Options{Username: "u", Password: "pw", DB: 12}, auth2 + sel},
	} {
		r := newRig(t, c.o)
		for range 2 {
			r.wire.sent = nil
			r.send("a", "b")
			if got := strings.Join(r.wire.sent, ""); got != c.want+"ab" {
				t.Errorf("sent %q, want %q", got, c.want+"ab")
			}
			oks := strings.Repeat("+OK\r\n", strings.Count(c.want, "*"))
			r.recv(oks)
			r.calls.is()
			r.recv(":1\r\n:2\r\n")
			r.calls.is("a=1", "b=2")
			r.now += 1000 * ms
			r.Closed(r.now, r.wire.last, "")
		}
		r.events.is(t, "connected 1", "lost: closed by peer: ", "connected 2", "lost: closed by peer: ")
	}
}

func TestHandshakeRefused(t *testing.T) {
	const secret = "s3cret-pa55"
	for _, c := range []struct {
		replies string
		want    string
	}{
		{"-WRONGPASS invalid username-password pair or user is disabled.\r\n",
			"Redis refused AUTH: WRONGPASS: wrong user name or password, or the user is disabled"},
		{"-ERR invalid password\r\n", "Redis refused AUTH: ERR: wrong password"},
		{"-ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?\r\n",
			"Redis refused AUTH: ERR: this Redis has no password set, but one is configured here"},
		{"-ERR Client sent AUTH, but no password is set\r\n",
			"Redis refused AUTH: ERR: this Redis has no password set, but one is configured here"},
		{"-ERR wrong number of arguments for 'auth' command\r\n",
			"Redis refused AUTH: ERR: this Redis is too old for user names (they came with 6)"},
		{"-ERR max number of clients reached\r\n",
			"Redis refused AUTH: ERR: this Redis has as many clients as it allows"},
		{"-ERR unknown command 'AUTH', with args beginning with: '" + secret + "' \r\n", "Redis refused AUTH: ERR"},
		{"-LOADING Redis is loading the dataset in memory\r\n", "Redis refused AUTH: LOADING"},
		{"+OK\r\n-ERR DB index is out of range\r\n", "Redis refused SELECT: ERR: DB index is out of range"},
		{"+OK\r\n-ERR a\x01\xff" + strings.Repeat("x", 500) + "\r\n",
			"Redis refused SELECT: ERR: a??" + strings.Repeat("x", 117)},
	} {
		r := newRig(t, Options{Password: secret, DB: 3})
		var got error
		r.send("a", "b")
		if err := r.Send(r.now, nil, r.now+20*ms, callFunc(func(err error) { got = err })); err != nil {
			t.Fatal(err)
		}
		r.recv(c.replies + "-NOAUTH Authentication required.\r\n")
		r.calls.is("a!refused", "b!refused")
		r.events.is(t, "handshake: "+c.want, "lost: refused by Redis: "+c.want)
		var h *HandshakeError
		if !errors.As(got, &h) || got.Error() != c.want || !errors.Is(got, ErrUnavailable) || errors.Is(got, ErrLost) {
			t.Errorf("a call ended with %v, want %s", got, c.want)
		}
		if strings.Contains(got.Error(), secret) {
			t.Errorf("the password is in %q", got)
		}
		if len(r.wire.isOpen) != 0 {
			t.Error("the connection is still open")
		}
		if err := r.try("c"); err != ErrUnavailable {
			t.Errorf("Send while backing off: got %v, want %v", err, ErrUnavailable)
		}
		r.now += 50 * ms
		r.send("d")
		r.recv("+OK\r\n+OK\r\n:4\r\n")
		r.calls.is("d=4")
		r.events.is(t, "connected 1")
	}
}

func TestHandshakeAnsweredStrangely(t *testing.T) {
	for _, reply := range []string{":1\r\n", "*0\r\n", "$2\r\nOK\r\n", "$-1\r\n"} {
		r := newRig(t, Options{Password: "x"})
		r.send("a")
		r.recv(reply)
		r.calls.is("a!protocol")
		r.events.is(t, "lost: malformed reply: the reply to AUTH is no status")
	}
}

// Calls time out as ever while the handshake is unanswered, and a peer that
// never answers it is given up.
func TestHandshakeUnanswered(t *testing.T) {
	r := newRig(t, Options{Password: "x"})
	r.send("a")
	r.now += 20 * ms
	r.tick()
	r.calls.is("a!timeout")
	r.recv("+OK\r\n:1\r\n")
	r.events.is(t, "connected 1", "late")
	r.Closed(r.now, 1, "")
	r.now += 50 * ms
	r.send("b")
	r.now += 1020 * ms
	r.tick()
	r.calls.is("b!timeout")
	r.events.is(t, "lost: closed by peer: ", "lost: stalled: ")
}

type callFunc func(err error)

func (f callFunc) Done(_ redisproto.Value, err error) { f(err) }
