// Package playground is the page of `sluice dev`: one local web page that shows
// what a running gateway decides, sends test traffic through it, explains a
// request, and edits its configuration. It drives the real Envoy with the real
// plugin and reads their own metrics.
package playground

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/stack"
)

// Options say what a page shows. Gateway, Admin, Redis and Settings must be set.
type Options struct {
	Gateway  string      // where requests go, such as http://127.0.0.1:10000
	Admin    stack.Admin // of the Envoy there
	Redis    *redis.Client
	Settings *Settings
	Server   RedisServer // nil where Redis isn't the page's to stop
}

// RedisServer is a Redis that the page may break, to show what happens then.
type RedisServer interface {
	// State is running, paused or stopped.
	State() string
	Pause() error  // connections stay open and nothing is answered
	Resume() error // ends a Pause
	Kill() error   // as a crash
	Start() error  // again and empty, on the same port
}

// Server serves the page.
type Server struct {
	o       Options
	token   string // what every write must name; another one at each start
	hosts   []string
	sampler *sampler
	load    *load
	hub     hub
	page    []byte
	http    *http.Server
	stop    context.CancelFunc
	done    chan struct{}
}

// Timeouts of the page's own connections.
const (
	readTimeout  = 10 * time.Second
	writeTimeout = 40 * time.Second // longer than an Envoy may take to load the plugin
)

// newServer makes a Server that answers at addr, a host:port, once it is started.
func newServer(addr string, o Options) (*Server, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	s := &Server{
		o:       o,
		token:   rand.Text(),
		hosts:   []string{"127.0.0.1:" + port, "localhost:" + port},
		sampler: newSampler(o),
		load:    newLoad(o.Gateway),
		done:    make(chan struct{}),
	}
	if s.page, err = renderPage(s.token); err != nil {
		return nil, err
	}
	return s, nil
}

// Start serves the page on a listener of this machine until Stop.
func Start(l net.Listener, o Options) (*Server, error) {
	if host, _, err := net.SplitHostPort(l.Addr().String()); err != nil || !net.ParseIP(host).IsLoopback() {
		return nil, fmt.Errorf("the playground is for this machine only, not for %s", l.Addr())
	}
	s, err := newServer(l.Addr().String(), o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.http = &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	go func() { _ = s.http.Serve(l) }() // ends with ErrServerClosed on Stop
	go func() {
		defer close(s.done)
		s.live(ctx)
	}()
	return s, nil
}

// Stop ends the page and its traffic.
func (s *Server) Stop() {
	s.stop()
	_ = s.http.Close()
	<-s.done
	s.load.stop()
}

// errBusy is an answer to one stream too many.
var errBusy = errors.New("the page is open too often: close some")
