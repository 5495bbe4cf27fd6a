package load

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// sender is a load under way.
type sender struct {
	o      Options
	lanes  []lane
	conns  []*conn // by file descriptor's place
	epoll  int
	timer  int
	start  int64 // when request 0 is due, ns of the steady clock
	warm   int   // requests that don't count
	total  int
	flying int
	result Result
}

// lane is the part of the load that goes to one address.
type lane struct {
	addr unix.SockaddrInet4
	next int     // index of the next request
	idle []*conn // the one that waits longest first
}

// due is when request i is due.
func (s *sender) due(i int) int64 {
	return s.start + int64(float64(i)/s.o.Rate*1e9)
}

// open makes the connections.
func (s *sender) open() error {
	s.epoll, s.timer = -1, -1
	var err error
	if s.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	if s.timer, err = unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK); err != nil {
		return err
	}
	if err := unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, s.timer, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: -1}); err != nil {
		return err
	}
	for i, text := range s.o.Addrs {
		addr, err := netip.ParseAddrPort(text)
		if err != nil || !addr.Addr().Is4() {
			return fmt.Errorf("load: %q is no IPv4 address with a port", text)
		}
		s.lanes = append(s.lanes, lane{addr: unix.SockaddrInet4{Port: int(addr.Port()), Addr: addr.Addr().As4()}, next: i})
		for range s.o.Conns {
			c := &conn{place: len(s.conns), lane: i, fd: -1, request: -1}
			s.conns = append(s.conns, c)
			if err := s.connect(c); err != nil {
				return fmt.Errorf("load: connect to %s: %w", text, err)
			}
			s.lanes[i].idle = append(s.lanes[i].idle, c)
		}
	}
	return nil
}

func (s *sender) connect(c *conn) error {
	var err error
	if c.fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.Connect(c.fd, &s.lanes[c.lane].addr); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(c.fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return err
	}
	if err := unix.SetNonblock(c.fd, true); err != nil {
		return err
	}
	return unix.EpollCtl(s.epoll, unix.EPOLL_CTL_ADD, c.fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(c.place)})
}

func (s *sender) close() {
	for _, c := range s.conns {
		if c.fd >= 0 {
			unix.Close(c.fd)
		}
	}
	for _, fd := range []int{s.epoll, s.timer} {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// longestNap bounds a wait, so that the end of ctx is seen, ns.
const longestNap = int64(100 * time.Millisecond)

func (s *sender) run(ctx context.Context) error {
	s.start = steady() + int64(time.Millisecond)
	s.warm = int(s.o.Rate * s.o.Warm.Seconds())
	s.total = s.warm + max(1, int(s.o.Rate*s.o.Length.Seconds()))
	s.result.Due = int64(s.total - s.warm)
	deadline := s.due(s.total) + int64(s.o.Drain)
	events := make([]unix.EpollEvent, 256)
	for {
		now := steady()
		wake, left, err := s.sendDue(now)
		if err != nil {
			return err
		}
		if (!left && s.flying == 0) || now > deadline {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.alarm(min(wake, now+longestNap)); err != nil {
			return err
		}
		n, err := unix.EpollWait(s.epoll, events, -1)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
		for _, e := range events[:max(0, n)] {
			if e.Fd < 0 {
				var fired [8]byte
				_, _ = unix.Read(s.timer, fired[:]) // nothing is to be known but that it fired
				continue
			}
			if err := s.readable(s.conns[e.Fd]); err != nil {
				return err
			}
		}
	}
}

// sendDue sends what is due now. It returns when the next is due for which a
// connection is free, and whether any are still to be sent.
func (s *sender) sendDue(now int64) (wake int64, left bool, err error) {
	wake = now + longestNap
	for i := range s.lanes {
		l := &s.lanes[i]
		for l.next < s.total && len(l.idle) > 0 && s.due(l.next) <= now {
			c := l.idle[0]
			l.idle = l.idle[1:]
			if err := s.send(c, l.next); err != nil {
				return 0, false, err
			}
			l.next += len(s.lanes)
			// Sending takes time, in which others fall due.
			now = steady()
		}
		if l.next < s.total {
			left = true
			if len(l.idle) > 0 {
				wake = min(wake, s.due(l.next))
			}
		}
	}
	return wake, left, nil
}

func (s *sender) send(c *conn, i int) error {
	text := s.o.Request(i)
	c.request, c.due, c.in = i, s.due(i), c.in[:0]
	now := steady()
	if i >= s.warm {
		if c.free <= c.due {
			s.record(s.result.Lag, now-c.due)
		} else {
			s.result.Waited++
		}
	}
	s.flying++
	if n, err := unix.Write(c.fd, text); err != nil || n != len(text) {
		return s.broken(c)
	}
	return nil
}

func (s *sender) record(h interface{ RecordValue(int64) error }, ns int64) {
	// Within bounds there is no error.
	_ = h.RecordValue(min(max(1, ns/1000), highestUS))
}

// broken counts a request whose connection failed, and connects anew.
func (s *sender) broken(c *conn) error {
	if c.request >= 0 {
		if c.request >= s.warm {
			s.result.Failed++
		}
		s.flying--
	} else {
		// It was closed while idle: no longer to be had until it is open again.
		l := &s.lanes[c.lane]
		for i, other := range l.idle {
			if other == c {
				l.idle = append(l.idle[:i:i], l.idle[i+1:]...)
				break
			}
		}
	}
	unix.Close(c.fd)
	c.fd = -1
	if err := s.connect(c); err != nil {
		return fmt.Errorf("load: connect again to %s: %w", s.o.Addrs[c.lane], err)
	}
	s.free(c)
	return nil
}

// free makes a connection available.
func (s *sender) free(c *conn) {
	c.request, c.free, c.in = -1, steady(), c.in[:0]
	l := &s.lanes[c.lane]
	l.idle = append(l.idle, c)
}

// readable takes what came on a connection.
func (s *sender) readable(c *conn) error {
	n, err := unix.Read(c.fd, c.part[:])
	switch {
	case errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR):
		return nil
	case err != nil || n == 0:
		return s.broken(c)
	case c.request < 0:
		return fmt.Errorf("load: %s sent %q without being asked", s.o.Addrs[c.lane], c.part[:min(n, 80)])
	}
	c.in = append(c.in, c.part[:n]...)
	a, done, err := parseAnswer(c.in)
	if err != nil {
		return fmt.Errorf("load: %s: %w", s.o.Addrs[c.lane], err)
	}
	if !done {
		return nil
	}
	s.flying--
	if c.request >= s.warm {
		latency := steady() - c.due
		s.result.Done++
		if a.status >= 400 {
			s.result.Refused++
		}
		s.record(s.result.Latency, latency)
		if s.o.Each != nil {
			s.o.Each(Answer{Index: c.request, Addr: c.lane, Status: a.status, Header: a.header, Latency: time.Duration(latency)})
		}
	}
	s.free(c)
	return nil
}

// alarm wakes the thread at a time of the steady clock. epoll's own timeout has
// only whole milliseconds.
func (s *sender) alarm(at int64) error {
	return unix.TimerfdSettime(s.timer, unix.TFD_TIMER_ABSTIME, &unix.ItimerSpec{Value: unix.NsecToTimespec(max(1, at))}, nil)
}
