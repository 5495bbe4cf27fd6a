package simulate

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/engine"
	"sluice/redisproto"
)

// Server is a Redis that decides.
type Server struct {
	Network  string // tcp or unix
	Addr     string
	Username string
	Password string
	DB       int
	TLS      *tls.Config // nil for none
}

// ParseServer reads host:port, or a URL: redis://, rediss:// or unix://.
func ParseServer(text string) (Server, error) {
	if !strings.Contains(text, "://") {
		if _, _, err := net.SplitHostPort(text); err != nil {
			return Server{}, UsageError("a Redis is given as host:port or redis://host:port")
		}
		return Server{Network: "tcp", Addr: text}, nil
	}
	o, err := redis.ParseURL(text)
	if err != nil {
		// The error may repeat the password.
		return Server{}, UsageError("that is not the URL of a Redis: expected redis://, rediss:// or unix://")
	}
	s := Server{Network: o.Network, Addr: o.Addr, Username: o.Username, Password: o.Password, DB: o.DB, TLS: o.TLSConfig}
	if s.Network == "" {
		s.Network = "tcp"
	}
	return s, nil
}

const (
	dialTimeout  = 5 * time.Second
	replyTimeout = 60 * time.Second // for one batch of calls
	quitTimeout  = 5 * time.Second  // for what is out when a run is given up
	batchCalls   = 256
	maxBatches   = 8 // that are out at once
	unlinkKeys   = 500
)

// longer is by how much keys outlive what the scripts want, milliseconds:
// Redis's clock goes on by itself, and a second of the simulated one may take it
// many.
const longer = "3600000"

// patience is how long a run may take, so that no key expires under it.
const patience = 50 * time.Minute

var (
	setExpiry  = regexp.MustCompile(`'PX',`)
	keepExpiry = regexp.MustCompile(`call\('PEXPIRE',([A-Za-z.]+),`)
)

// patient is a script whose keys live longer. All else is as it is.
func patient(source string) string {
	source = setExpiry.ReplaceAllString(source, "'PX',"+longer+"+")
	return keepExpiry.ReplaceAllString(source, "call('PEXPIRE',$1,"+longer+"+")
}

// conn is a connection that speaks RESP.
type conn struct {
	net.Conn
	dec *redisproto.Decoder
	buf []byte
}

// dial connects and signs in.
func (s Server) dial(ctx context.Context) (*conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var raw net.Conn
	var err error
	if s.TLS != nil {
		raw, err = (&tls.Dialer{Config: s.TLS}).DialContext(ctx, s.Network, s.Addr)
	} else {
		raw, err = new(net.Dialer).DialContext(ctx, s.Network, s.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("no Redis at %s: %w", s.Addr, err)
	}
	c := &conn{raw, redisproto.NewDecoder(redisproto.Limits{}), make([]byte, 256<<10)}
	signIn := func() error {
		if s.Password != "" {
			args := []string{"AUTH", s.Password}
			if s.Username != "" {
				args = []string{"AUTH", s.Username, s.Password}
			}
			if _, err := c.call(args...); err != nil {
				return err
			}
		}
		if s.DB != 0 {
			if _, err := c.call("SELECT", fmt.Sprint(s.DB)); err != nil {
				return err
			}
		}
		_, err := c.call("PING")
		return err
	}
	if err := signIn(); err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("the Redis at %s: %w", s.Addr, err)
	}
	return c, nil
}

// call sends one command and waits for its reply: text, or a number as text.
func (c *conn) call(args ...string) (string, error) {
	if err := c.SetDeadline(time.Now().Add(replyTimeout)); err != nil {
		return "", err
	}
	if _, err := c.Write(redisproto.AppendCommand(nil, args...)); err != nil {
		return "", err
	}
	v, err := c.reply()
	if err != nil {
		return "", err
	}
	if v.Kind == redisproto.Error {
		return "", explained(string(v.Str))
	}
	return string(v.Str), nil
}

// explained is an error reply, said so that one knows what to do.
func explained(reply string) error {
	switch code, _, _ := strings.Cut(reply, " "); code {
	case redisproto.CodeMoved, redisproto.CodeAsk, redisproto.CodeCrossSlot, redisproto.CodeClusterDown:
		return errors.New("it is part of a Redis Cluster; a simulation wants a single server")
	case redisproto.CodeNoAuth:
		return errors.New("it wants a password: set redis.password_env in the configuration, or give redis://user:password@host:port")
	case redisproto.CodeReadOnly:
		return errors.New("it is a replica; a simulation wants the master")
	case redisproto.CodeOOM:
		return errors.New("its memory is full")
	}
	return errors.New(reply)
}

// reply reads one reply.
func (c *conn) reply() (redisproto.Value, error) {
	for {
		v, ok, err := c.dec.Next()
		if err != nil || ok {
			return v, err
		}
		n, err := c.Read(c.buf)
		if err != nil {
			return v, err
		}
		c.dec.Feed(c.buf[:n])
	}
}

// batch is a number of calls that go out together.
type batch struct {
	calls []*pending
	text  []byte
	err   error
}

// scripts decides by the scripts in a Redis. Calls go out in the order in which
// they come, over one connection, many at once.
type scripts struct {
	engine *engine.Engine
	conn   *conn
	sha    string
	server Server
	prefix string
	begun  time.Time

	id     []byte
	open   *batch
	out    int
	write  chan *batch // to the writer
	sent   chan *batch // from the writer to the reader
	back   chan *batch // from the reader
	stop   func() bool // of the context's watch
	quit   atomic.Bool // the run is given up
	done   []*pending
	handed []*pending
	spare  []*batch
}

// randomPrefix is a prefix for keys that nothing else has.
func randomPrefix() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return "sluice-simulate-" + hex.EncodeToString(b[:])
}

// newScripts connects to a Redis and loads the engine's script.
func newScripts(ctx context.Context, s Server, e *engine.Engine) (*scripts, error) {
	c, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	d := &scripts{
		engine: e, conn: c, server: s, prefix: e.Policy().Redis.Prefix, begun: time.Now(),
		open: new(batch), write: make(chan *batch, maxBatches), sent: make(chan *batch, maxBatches), back: make(chan *batch, maxBatches),
	}
	d.sha, err = c.call("SCRIPT", "LOAD", patient(e.Script().Source))
	if err != nil {
		_ = c.Close()
		return nil, fmt.Errorf("the Redis at %s: %w", s.Addr, err)
	}
	// A run that is given up waits a little for what is out: a call that Redis
	// carries out later would leave a key behind.
	d.stop = context.AfterFunc(ctx, func() {
		d.quit.Store(true)
		_ = c.SetDeadline(time.Now().Add(quitTimeout))
	})
	go d.writer()
	go d.reader()
	return d, nil
}

func (d *scripts) writer() {
	defer close(d.sent)
	for b := range d.write {
		if !d.quit.Load() {
			b.err = d.conn.SetDeadline(time.Now().Add(replyTimeout))
		}
		if b.err == nil {
			_, b.err = d.conn.Write(b.text)
		}
		d.sent <- b
	}
}

func (d *scripts) reader() {
	defer close(d.back)
	for b := range d.sent {
		for _, p := range b.calls {
			if b.err != nil {
				break
			}
			var v redisproto.Value
			if v, b.err = d.conn.reply(); b.err == nil {
				p.read(v)
			}
		}
		d.back <- b
	}
}

// decide is decider.
func (d *scripts) decide(p *pending) error {
	b := d.open
	d.id = p.requestID(d.id[:0])
	start := len(b.text)
	b.text = p.dec.AppendCommand(b.text, d.id, p.at)
	// The script's name stands near the beginning, behind EVALSHA.
	if i := bytes.Index(b.text[start:], shaHead); i >= 0 {
		copy(b.text[start+i+len(shaHead):], d.sha)
	}
	b.calls = append(b.calls, p)
	if len(b.calls) < batchCalls {
		return nil
	}
	return d.submit()
}

var shaHead = []byte("\r\n$40\r\n")

// submit sends the open batch; with enough of them out it waits for the oldest.
func (d *scripts) submit() error {
	if len(d.open.calls) == 0 {
		return nil
	}
	if time.Since(d.begun) > patience {
		return DecideError("the run takes more than " + patience.String() + ", and counters would expire: run it on a part of the input, or with --models")
	}
	for d.out >= maxBatches {
		if err := d.wait(); err != nil {
			return err
		}
	}
	d.write <- d.open
	d.out++
	d.open = new(batch)
	if n := len(d.spare); n > 0 {
		d.open, d.spare = d.spare[n-1], d.spare[:n-1]
	}
	for d.out > 0 {
		select {
		case b := <-d.back:
			if err := d.took(b); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

// wait waits for the oldest batch.
func (d *scripts) wait() error { return d.took(<-d.back) }

func (d *scripts) took(b *batch) error {
	d.out--
	if b.err != nil {
		return fmt.Errorf("the Redis at %s: %w", d.server.Addr, b.err)
	}
	d.done = append(d.done, b.calls...)
	*b = batch{calls: b.calls[:0], text: b.text[:0]}
	d.spare = append(d.spare, b)
	return nil
}

// flush is decider.
func (d *scripts) flush() error {
	if err := d.submit(); err != nil {
		return err
	}
	for d.out > 0 {
		if err := d.wait(); err != nil {
			return err
		}
	}
	return nil
}

func (d *scripts) take() []*pending {
	d.handed, d.done = d.done, d.handed[:0]
	return d.handed
}

// close waits for what is out and ends the connection. The keys are deleted by
// clean.
func (d *scripts) close() error {
	close(d.write)
	for range d.back { //nolint:revive // what is out has to be carried out, and nobody waits for it
	}
	d.stop()
	return d.conn.Close()
}

// clean deletes keys, a few hundred at a time, over a connection of its own.
func (s Server) clean(keys func(yield func(string) bool)) error {
	// The run may have been given up; its keys are deleted all the same.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c *conn
	var err error
	args := []string{"UNLINK"}
	flush := func() bool {
		if len(args) == 1 {
			return true
		}
		if c == nil {
			if c, err = s.dial(ctx); err != nil {
				return false
			}
		}
		_, err = c.call(args...)
		args = args[:1]
		return err == nil
	}
	for k := range keys {
		if args = append(args, k); len(args) > unlinkKeys && !flush() {
			break
		}
	}
	if err == nil {
		flush()
	}
	if c != nil {
		_ = c.Close()
	}
	return err
}

// version is what a Redis calls itself.
func (s Server) version(ctx context.Context) string {
	c, err := s.dial(ctx)
	if err != nil {
		return ""
	}
	defer c.Close()
	info, err := c.call("INFO", "server")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(line, "redis_version:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
