package link

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"sluice/redisproto"
)

// server is a real redis-server of this test's own.
type server struct {
	t    testing.TB
	addr string
	args []string
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// startRedis runs redis-server on a free port until the test ends.
func startRedis(t testing.TB, args ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(addr, ":")
	s := &server{t: t, addr: addr, args: append([]string{
		"--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir(),
	}, args...)}
	s.start()
	t.Cleanup(s.kill)
	return s
}

func (s *server) start() {
	s.t.Helper()
	bin := os.Getenv("REDIS_SERVER")
	if bin == "" {
		bin = "redis-server"
	}
	path, err := exec.LookPath(bin)
	if err != nil {
		s.t.Fatalf("these tests need redis-server (apt-get install redis-server, or name it in $REDIS_SERVER): %v", err)
	}
	s.out = &bytes.Buffer{}
	s.cmd = exec.Command(path, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", s.addr)
		if err == nil {
			_ = c.Close()
			return
		}
		if time.Now().After(end) {
			s.kill()
			s.t.Fatalf("redis-server doesn't listen on %s: %v\n%s", s.addr, err, s.out)
		}
	}
}

func (s *server) kill() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// do runs commands on a connection of their own and returns the last reply.
func (s *server) do(cmds ...string) string {
	s.t.Helper()
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	var d redisproto.Decoder
	last := ""
	buf := make([]byte, 4096)
	for _, cmd := range cmds {
		if _, err := c.Write(redisproto.AppendCommand(nil, strings.Fields(cmd)...)); err != nil {
			s.t.Fatal(err)
		}
		for {
			v, ok, err := d.Next()
			if err != nil {
				s.t.Fatal(err)
			}
			if ok {
				if last = string(v.Str); v.Kind == redisproto.Integer {
					last = fmt.Sprint(v.Int)
				}
				break
			}
			n, err := c.Read(buf)
			if err != nil {
				s.t.Fatalf("%s: %v", cmd, err)
			}
			d.Feed(buf[:n])
		}
	}
	return last
}

// sockets is a Transport over TCP. Its goroutines touch nothing of the Pipe's:
// what happens to a connection comes out of events, as it does from a proxy.
type sockets struct {
	addr   string
	last   uint32
	open   map[uint32]*socket
	events chan event
}

type socket struct {
	out  chan []byte
	quit chan struct{}
}

type event struct {
	conn   uint32
	bytes  []byte
	closed string
}

func newSockets(addr string) *sockets {
	return &sockets{addr: addr, open: map[uint32]*socket{}, events: make(chan event, 1024)}
}

func (s *sockets) Open() (uint32, error) {
	s.last++
	k := &socket{make(chan []byte, 1<<16), make(chan struct{})}
	s.open[s.last] = k
	go k.run(s.addr, s.last, s.events)
	return s.last, nil
}

func (s *sockets) Send(conn uint32, p []byte) error {
	s.open[conn].out <- bytes.Clone(p)
	return nil
}

func (s *sockets) Close(conn uint32) {
	close(s.open[conn].quit)
	delete(s.open, conn)
}

func (k *socket) run(addr string, conn uint32, events chan<- event) {
	emit := func(e event) {
		select {
		case events <- e:
		case <-k.quit:
		}
	}
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		emit(event{conn: conn, closed: err.Error()})
		return
	}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := c.Read(buf)
			if n > 0 {
				emit(event{conn: conn, bytes: bytes.Clone(buf[:n])})
			}
			if err != nil {
				emit(event{conn: conn, closed: err.Error()})
				return
			}
		}
	}()
	defer func() { _ = c.Close() }()
	for {
		select {
		case <-k.quit:
			return
		case p := <-k.out:
			if _, err := c.Write(p); err != nil {
				return // the reader reports it
			}
		}
	}
}

// worker is one proxy worker: a single thread of events and ticks.
type worker struct {
	*Pipe
	t     *testing.T
	wire  *sockets
	ev    *events
	start time.Time
}

func newWorker(t *testing.T, addr string, o Options) *worker {
	w := &worker{t: t, wire: newSockets(addr), ev: &events{}, start: time.Now()}
	o.Observer = w.ev
	w.Pipe = NewPipe(w.wire, o)
	t.Cleanup(func() { w.Close(w.now()) })
	return w
}

func (w *worker) now() int64 { return 1 + time.Since(w.start).Microseconds() }

// until runs the worker until done says so.
func (w *worker) until(what string, done func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	giveUp := time.After(20 * time.Second)
	for !done() {
		select {
		case e := <-w.wire.events:
			if e.closed != "" {
				w.Closed(w.now(), e.conn, e.closed)
			} else {
				w.Received(w.now(), e.conn, e.bytes)
			}
		case <-tick.C:
			w.Tick(w.now())
		case <-giveUp:
			w.t.Fatalf("waited 20 s for %s; events: %q", what, *w.ev)
		}
	}
}

// pause runs the worker for a time.
func (w *worker) pause(d time.Duration) {
	w.t.Helper()
	end := time.Now().Add(d)
	w.until("time to pass", func() bool { return time.Now().After(end) })
}

// result is a call that keeps what it got.
type result struct {
	w     *worker
	done  bool
	text  string // the reply, or "" with err
	err   error
	after int64 // µs from Send to Done
	sent  int64
	then  func(r *result)
}

func (r *result) Done(v redisproto.Value, err error) {
	if r.done {
		r.w.t.Error("a second Done")
	}
	r.done, r.err, r.after = true, err, r.w.now()-r.sent
	if err == nil {
		if r.text = string(v.Str); v.Kind == redisproto.Integer {
			r.text = fmt.Sprint(v.Int)
		}
	}
	if r.then != nil {
		r.then(r)
	}
}

// post sends a command; an error of Send becomes the result's.
func (w *worker) post(timeout time.Duration, args ...string) *result {
	r := &result{w: w}
	w.repost(r, timeout, args...)
	return r
}

func (w *worker) repost(r *result, timeout time.Duration, args ...string) {
	r.sent = w.now()
	if err := w.Send(r.sent, redisproto.AppendCommand(nil, args...), r.sent+timeout.Microseconds(), r); err != nil {
		r.done, r.err = true, err
	}
}

// ask sends a command and waits for its end.
func (w *worker) ask(args ...string) *result {
	w.t.Helper()
	r := w.post(5*time.Second, args...)
	w.until(strings.Join(args, " "), func() bool { return r.done })
	return r
}

// askUntil repeats a command until it gets want.
func (w *worker) askUntil(want string, args ...string) {
	w.t.Helper()
	w.until(want, func() bool {
		r := w.post(time.Second, args...)
		w.until("an end", func() bool { return r.done })
		if r.err == nil && r.text == want {
			return true
		}
		w.pause(5 * time.Millisecond)
		return false
	})
}

func (r *result) is(want string) {
	r.w.t.Helper()
	if r.err != nil || r.text != want {
		r.w.t.Errorf("got %q, %v, want %q", r.text, r.err, want)
	}
}
