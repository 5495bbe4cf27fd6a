package simulate

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

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
	unlinkKeys   = 500
)

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
