// Package faultproxy is a TCP proxy that misbehaves on request: it delays,
// drips, holds, loses and cuts what goes through it. It listens on 127.0.0.1.
package faultproxy

import (
	"errors"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Faults are how a Proxy treats its connections. The zero value passes
// everything on.
type Faults struct {
	Latency time.Duration // added to each direction
	Jitter  time.Duration // up to this much more, at random; order is kept
	Rate    int           // bytes a second and direction; 0 for no bound
	Hold    bool          // nothing passes until the fault ends, then all does
	// Lose is a half-open connection: what a connection carries while it is set
	// never arrives, nor what it carries later, and neither end is told.
	Lose   bool
	Refuse bool // new connections are reset at once
}

// Proxy passes connections on to a target that can be changed.
type Proxy struct {
	Addr string // host:port

	listener net.Listener
	mu       sync.Mutex
	changed  chan struct{} // closed when faults change
	faults   Faults
	target   string
	conns    map[*pair]bool
	accepted int
	closed   bool
}

// Start starts a proxy on a free port.
func Start(target string) (*Proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		Addr: l.Addr().String(), listener: l, target: target,
		changed: make(chan struct{}), conns: map[*pair]bool{},
	}
	go p.accept()
	return p, nil
}

// Set changes the faults of present and future connections.
func (p *Proxy) Set(f Faults) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = f
	close(p.changed)
	p.changed = make(chan struct{})
	if f.Lose {
		for c := range p.conns {
			c.lost = true
		}
	}
}

// Target sends future connections elsewhere; present ones stay.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Cut resets every connection, and returns how many there were.
func (p *Proxy) Cut() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.conns)
	for c := range p.conns {
		c.reset()
	}
	clear(p.conns)
	return n
}

// Accepted is how many connections came so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	_ = p.listener.Close()
	p.Cut()
}

// pair is one connection and its continuation.
type pair struct {
	near, far net.Conn
	lost      bool // guarded by the proxy's mu
	once      sync.Once
	ended     chan struct{}
}

// reset ends both sides without a farewell.
func (c *pair) reset() {
	c.once.Do(func() {
		close(c.ended)
		for _, conn := range []net.Conn{c.near, c.far} {
			if t, ok := conn.(*net.TCPConn); ok {
				_ = t.SetLinger(0)
			}
			_ = conn.Close()
		}
	})
}

func (p *Proxy) accept() {
	for {
		near, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			go p.serve(near)
		}
	}
}

func (p *Proxy) serve(near net.Conn) {
	p.mu.Lock()
	target, f := p.target, p.faults
	p.accepted++
	p.mu.Unlock()
	c := &pair{near: near, ended: make(chan struct{}), lost: f.Lose}
	var err error
	if f.Refuse {
		err = errors.New("refused")
	} else {
		c.far, err = net.DialTimeout("tcp", target, 5*time.Second)
	}
	if err != nil {
		c.far = near
		c.reset()
		return
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		c.reset()
		return
	}
	c.lost = c.lost || p.faults.Lose
	p.conns[c] = true
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { p.carry(c, c.far, c.near) })
	both.Go(func() { p.carry(c, c.near, c.far) })
	both.Wait()
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
}

// now returns the faults, whether c has lost its bytes, and a channel that is
// closed when any of it changes.
func (p *Proxy) now(c *pair) (Faults, bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.faults, c.lost, p.changed
}

// piece is what one read brought, and when it may arrive.
type piece struct {
	bytes []byte
	due   time.Time
}

// queued bounds how many reads are under way in one direction.
const queued = 4096

// carry passes one direction on until either side ends; then both do.
func (p *Proxy) carry(c *pair, from, to net.Conn) {
	way := make(chan piece, queued)
	go p.deliver(c, to, way)
	defer close(way)
	buf := make([]byte, 32<<10)
	var last time.Time
	for {
		n, err := from.Read(buf)
		if err != nil {
			if _, lost, _ := p.now(c); lost {
				return // the other end isn't told
			}
			c.reset()
			return
		}
		f, lost, _ := p.now(c)
		if lost {
			continue
		}
		due := time.Now().Add(f.Latency)
		if f.Jitter > 0 {
			due = due.Add(rand.N(f.Jitter))
		}
		if due.Before(last) {
			due = last
		}
		last = due
		select {
		case way <- piece{append([]byte(nil), buf[:n]...), due}:
		case <-c.ended:
			return
		}
	}
}

// deliver writes what comes on way, when it is due.
func (p *Proxy) deliver(c *pair, to net.Conn, way <-chan piece) {
	for x := range way {
		if !p.until(c, x.due) || !p.write(c, to, x.bytes) {
			c.reset()
			return
		}
	}
}

// until waits for a time, and as long as connections are held. It returns false
// when c has ended.
func (p *Proxy) until(c *pair, due time.Time) bool {
	for {
		f, _, changed := p.now(c)
		wait := time.Until(due)
		if !f.Hold && wait <= 0 {
			return true
		}
		var timer <-chan time.Time
		if !f.Hold {
			timer = time.After(wait)
		}
		select {
		case <-timer:
		case <-changed:
		case <-c.ended:
			return false
		}
	}
}

// drip is how often a slow connection passes a little on.
const drip = 5 * time.Millisecond

// write passes bytes on, at the bounded rate if there is one. What a lost
// connection still had on its way is dropped.
func (p *Proxy) write(c *pair, to net.Conn, b []byte) bool {
	for len(b) > 0 {
		f, lost, _ := p.now(c)
		if lost {
			return true
		}
		n := len(b)
		if f.Rate > 0 {
			n = min(n, max(1, int(float64(f.Rate)*drip.Seconds())))
		}
		if _, err := to.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
		if f.Rate > 0 && !p.until(c, time.Now().Add(drip)) {
			return false
		}
	}
	return true
}
