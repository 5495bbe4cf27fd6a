package main

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

const (
	// pingEvery is the pause between two PINGs.
	pingEvery = 5 * time.Millisecond
	// pingWithin is how long an answer is waited for: the runtime takes the thread for
	// busy meanwhile, and may stop all others until there is one.
	pingWithin = time.Second
)

// startPing measures round trips to a Redis, over a connection and a thread of its
// own that blocks for each answer. From the clock's first reading to its second the
// thread makes two system calls and nothing else, past the runtime's scheduler, which
// might let it wait for its turn after one of them. The other end must be another
// process.
//
// Where on isn't nil, the thread runs on these processors only and is urgent there:
// whatever else runs on them, the round trip has none of its turns in it. The function
// that is returned ends the thread and hands over the round trips, us.
func startPing(addr string, on *unix.CPUSet) (stop func() (*hdrhistogram.Histogram, error), err error) {
	fd, err := connect(addr)
	if err != nil {
		return nil, err
	}
	h := hdrhistogram.New(1, 10_000_000, 3)
	ready, done := make(chan error), make(chan error, 1)
	end := make(chan struct{})
	go func() {
		// Not unlocked: the thread ends with the goroutine, and no other one gets its
		// processor and its class.
		runtime.LockOSThread()
		var err error
		if on != nil {
			err = urgentHere(on)
		}
		if ready <- err; err == nil {
			done <- pings(fd, h, end)
		}
	}()
	if err := <-ready; err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("a thread for PINGs: %w", err)
	}
	return func() (*hdrhistogram.Histogram, error) {
		close(end)
		err := <-done
		unix.Close(fd)
		return h, err
	}, nil
}

// pings sends one PING after the other until the end, or until one isn't answered.
func pings(fd int, h *hdrhistogram.Histogram, end <-chan struct{}) error {
	for {
		select {
		case <-end:
			return nil
		default:
		}
		took, err := ping(fd)
		if err != nil {
			return err
		}
		_ = h.RecordValue(max(1, took.Microseconds())) // within bounds
		// The runtime knows of this call, and others work meanwhile.
		pause := unix.NsecToTimespec(int64(pingEvery))
		_ = unix.Nanosleep(&pause, nil) // a shorter pause does no harm
	}
}

// ping is one round trip.
func ping(fd int) (time.Duration, error) {
	out, in := []byte("PING\r\n"), [64]byte{}
	start := time.Now()
	_, _, failed := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)))
	n := uintptr(0)
	// The runtime interrupts what takes long.
	for again := failed == 0; again; again = failed == unix.EINTR && time.Since(start) < pingWithin {
		n, _, failed = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&in[0])), uintptr(len(in)))
	}
	took := time.Since(start)
	if failed != 0 {
		return 0, fmt.Errorf("PING: %w", failed)
	}
	if s := string(in[:n]); s != "+PONG\r\n" {
		return 0, fmt.Errorf("PING is answered %q", s)
	}
	return took, nil
}

// connect opens a TCP connection that the runtime doesn't know of.
func connect(addr string) (fd int, err error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return 0, fmt.Errorf("%q is no IPv4 address with a port", addr)
	}
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		return 0, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		unix.Close(fd)
		return 0, fmt.Errorf("connect to %s: %w", addr, err)
	}
	// Without it an interrupted call goes on by itself, for ever.
	within := unix.NsecToTimeval(int64(pingWithin))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &within); err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}
