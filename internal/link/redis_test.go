package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRedisRepliesInOrder(t *testing.T) {
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{})
	var rs []*result
	for i := range 3000 {
		rs = append(rs, w.post(10*time.Second, "ECHO", fmt.Sprint(i)))
	}
	rs = append(rs, w.post(10*time.Second, "INCRBY", "n", "7"))
	w.until("all replies", func() bool { return w.Pending() == 0 })
	for i, r := range rs[:3000] {
		r.is(fmt.Sprint(i))
	}
	rs[3000].is("7")
	w.ev.is(t, "connected 1")
}

func TestRedisAuth(t *testing.T) {
	t.Run("password", func(t *testing.T) {
		s := startRedis(t, "--requirepass", "right")
		w := newWorker(t, s.addr, Options{Password: "right"})
		w.ask("PING").is("PONG")

		w = newWorker(t, s.addr, Options{Password: "wrong"})
		rs := []*result{w.post(5*time.Second, "PING"), w.post(5*time.Second, "PING")}
		w.until("both ends", func() bool { return rs[0].done && rs[1].done })
		for _, r := range rs {
			var h *HandshakeError
			if !errors.As(r.err, &h) || h.Command != "AUTH" || h.Code != "WRONGPASS" {
				t.Errorf("got %q, %v", r.text, r.err)
			}
		}
		if s.do("AUTH right", "CONFIG SET requirepass wrong") != "OK" {
			t.Fatal("can't change the password")
		}
		w.askUntil("PONG", "PING") // the link finds out by itself

		w = newWorker(t, s.addr, Options{})
		if r := w.ask("PING"); !strings.HasPrefix(r.text, "NOAUTH ") {
			t.Errorf("without a password: got %q, %v", r.text, r.err)
		}
	})
	t.Run("ACL user", func(t *testing.T) {
		s := startRedis(t)
		s.do("ACL SETUSER gate on >right ~rl:* +incr +ping")
		w := newWorker(t, s.addr, Options{Username: "gate", Password: "right"})
		w.ask("INCR", "rl:a").is("1")
		if r := w.ask("INCR", "other"); !strings.HasPrefix(r.text, "NOPERM ") {
			t.Errorf("beyond its keys: got %q, %v", r.text, r.err)
		}
		for _, o := range []Options{{Username: "gate", Password: "wrong"}, {Username: "nobody", Password: "right"}} {
			w = newWorker(t, s.addr, o)
			if r := w.ask("PING"); r.err == nil || !strings.Contains(r.err.Error(), "WRONGPASS") {
				t.Errorf("%s: got %q, %v", o.Username, r.text, r.err)
			}
		}
		// Without a database, SELECT must not be needed; with one, it is.
		w = newWorker(t, s.addr, Options{Username: "gate", Password: "right", DB: 1})
		if r := w.ask("PING"); r.err == nil || !strings.Contains(r.err.Error(), "SELECT: NOPERM") {
			t.Errorf("SELECT without permission: got %q, %v", r.text, r.err)
		}
	})
	t.Run("none expected", func(t *testing.T) {
		s := startRedis(t)
		w := newWorker(t, s.addr, Options{Password: "x"})
		if r := w.ask("PING"); r.err == nil || !strings.Contains(r.err.Error(), "no password set") {
			t.Errorf("got %q, %v", r.text, r.err)
		}
	})
	t.Run("unknown command", func(t *testing.T) {
		s := startRedis(t, "--rename-command", "AUTH", "")
		w := newWorker(t, s.addr, Options{Username: "u", Password: "s3cret"})
		r := w.ask("PING")
		if r.err == nil || strings.Contains(r.err.Error()+fmt.Sprint(*w.ev), "s3cret") {
			t.Errorf("got %q, %v, %q", r.text, r.err, *w.ev)
		}
	})
}

func TestRedisSelect(t *testing.T) {
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{DB: 3})
	w.ask("SET", "k", "three").is("OK")
	if got := s.do("SELECT 3", "GET k"); got != "three" {
		t.Errorf("database 3 has %q", got)
	}
	if got := s.do("EXISTS k"); got != "0" {
		t.Errorf("database 0 has the key")
	}
	// On every connection, not only the first.
	s.do("CLIENT KILL TYPE normal")
	w.askUntil("three", "GET", "k")

	w = newWorker(t, s.addr, Options{DB: 99})
	if r := w.ask("SET", "k", "x"); r.err == nil || r.err.Error() != "Redis refused SELECT: ERR: DB index is out of range" {
		t.Errorf("got %q, %v", r.text, r.err)
	}
}

func TestRedisNoScriptThenEval(t *testing.T) {
	const script = "return redis.call('INCRBY', KEYS[1], ARGV[1])"
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{})
	sum := w.ask("EVAL", "return redis.sha1hex(ARGV[1])", "0", script).text
	r := &result{w: w}
	r.then = func(r *result) {
		if strings.HasPrefix(r.text, "NOSCRIPT ") {
			r.done, r.text = false, ""
			w.repost(r, time.Second, "EVAL", script, "1", "k", "5")
		}
	}
	w.repost(r, time.Second, "EVALSHA", sum, "1", "k", "5")
	other := w.post(time.Second, "ECHO", "between")
	w.until("the reply", func() bool { return r.done && r.err == nil && r.text == "5" && other.done })
	other.is("between")
	w.ask("EVALSHA", sum, "1", "k", "5").is("10")
}

func TestRedisClientKilled(t *testing.T) {
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{})
	w.ask("PING").is("PONG")
	rs := []*result{w.post(time.Minute, "BLPOP", "none", "0"), w.post(time.Minute, "PING")}
	w.pause(20 * time.Millisecond)
	s.do("CLIENT KILL TYPE normal")
	w.until("both ends", func() bool { return rs[0].done && rs[1].done })
	for _, r := range rs {
		if r.err != ErrLost {
			t.Errorf("got %q, %v, want %v", r.text, r.err, ErrLost)
		}
	}
	w.askUntil("PONG", "PING")
}

// signal stops or continues the server's process.
func (s *server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// A server that doesn't answer for a while: calls time out, and their late
// replies go to nobody.
func TestRedisSlow(t *testing.T) {
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{StallAfter: 60_000_000})
	w.ask("PING").is("PONG")
	s.signal(syscall.SIGSTOP)
	patient := w.post(time.Minute, "ECHO", "patient")
	var late []*result
	for i := range 20 {
		late = append(late, w.post(20*time.Millisecond, "ECHO", fmt.Sprint("late", i)))
	}
	w.until("the timeouts", func() bool { return late[19].done })
	for _, r := range late {
		if r.err != ErrTimeout || r.after < 20_000 {
			t.Errorf("got %q, %v after %d µs, want %v after 20 ms", r.text, r.err, r.after, ErrTimeout)
		}
	}
	after := w.post(time.Minute, "ECHO", "after")
	if patient.done || w.Pending() != 22 {
		t.Errorf("%d pending, want 22", w.Pending())
	}
	s.signal(syscall.SIGCONT)
	w.until("the last reply", func() bool { return after.done })
	patient.is("patient")
	after.is("after")
	w.ev.is(t, append([]string{"connected 1"}, strings.Fields(strings.Repeat("late ", 20))...)...)
}

func TestRedisStalled(t *testing.T) {
	t.Run("stopped process", func(t *testing.T) {
		s := startRedis(t)
		w := newWorker(t, s.addr, Options{StallAfter: 50_000, BackoffMax: 50_000})
		w.ask("PING").is("PONG")
		s.signal(syscall.SIGSTOP)
		r := w.post(20*time.Millisecond, "PING")
		w.until("two resets", func() bool {
			if r.done {
				if r.err != ErrTimeout && r.err != ErrUnavailable && r.err != ErrLost {
					t.Fatalf("got %q, %v", r.text, r.err)
				}
				r = w.post(20*time.Millisecond, "PING")
			}
			return strings.Count(fmt.Sprint(*w.ev), "lost: stalled") >= 2
		})
		s.signal(syscall.SIGCONT)
		w.askUntil("PONG", "PING")
	})
	t.Run("paused clients", func(t *testing.T) {
		s := startRedis(t)
		w := newWorker(t, s.addr, Options{StallAfter: 60_000_000})
		w.ask("PING").is("PONG")
		s.do("CLIENT PAUSE 60000 WRITE")
		r := w.post(20*time.Millisecond, "INCR", "k")
		w.until("the timeout", func() bool { return r.done })
		if r.err != ErrTimeout {
			t.Errorf("got %q, %v, want %v", r.text, r.err, ErrTimeout)
		}
		s.do("CLIENT UNPAUSE")
		w.ask("INCR", "k").is("2") // the late call was carried out
	})
}

func TestRedisKilledAndRestarted(t *testing.T) {
	s := startRedis(t)
	w := newWorker(t, s.addr, Options{Password: ""})
	w.ask("PING").is("PONG")
	var rs []*result
	for range 10 {
		rs = append(rs, w.post(time.Minute, "BLPOP", "none", "0"))
	}
	w.pause(20 * time.Millisecond)
	s.kill()
	w.until("all ends", func() bool { return rs[9].done })
	for _, r := range rs {
		if r.err != ErrLost {
			t.Errorf("got %q, %v, want %v", r.text, r.err, ErrLost)
		}
	}
	// Down: nothing hangs, and few attempts are made.
	lost, refused := 0, 0
	opens := w.wire.last
	for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
		r := w.post(time.Minute, "PING")
		w.until("an end", func() bool { return r.done })
		switch r.err {
		case ErrLost:
			lost++
		case ErrUnavailable:
			refused++
		default:
			t.Fatalf("got %q, %v", r.text, r.err)
		}
		w.pause(time.Millisecond)
	}
	if lost == 0 || refused < lost || w.wire.last-opens > 50 {
		t.Errorf("%d calls lost, %d refused, %d attempts", lost, refused, w.wire.last-opens)
	}
	s.start()
	w.askUntil("PONG", "PING")
}

// Something that isn't Redis listens.
func TestNotRedis(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			go func() {
				// Closing with something unread would take back what was written.
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
			}()
		}
	}()
	for _, o := range []Options{{}, {Password: "x"}} {
		w := newWorker(t, l.Addr().String(), o)
		rs := []*result{w.post(time.Minute, "PING"), w.post(time.Minute, "PING")}
		w.until("both ends", func() bool { return rs[0].done && rs[1].done })
		for _, r := range rs {
			if r.err != ErrProtocol {
				t.Errorf("got %q, %v, want %v", r.text, r.err, ErrProtocol)
			}
		}
	}
}
