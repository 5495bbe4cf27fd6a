package main

import (
	"fmt"
	"net/netip"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// pingEvery is the pause between two PINGs.
const pingEvery = 5 * time.Millisecond

// startPing measures round trips to a Redis, over a connection and a thread of its
// own that blocks for each answer: no scheduler but the kernel's is in the way. The
// function that it returns ends it and hands over the round trips, us.
func startPing(addr string) (stop func() *hdrhistogram.Histogram, err error) {
	at, err := netip.ParseAddrPort(addr)
	if err != nil || !at.Addr().Is4() {
		return nil, fmt.Errorf("%q is no IPv4 address with a port", addr)
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Connect(fd, &unix.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()}); err != nil {
		unix.Close(fd)
		return nil, fmt.Errorf("connect to %s: %w", addr, err)
	}
	end := make(chan struct{})
	done := make(chan *hdrhistogram.Histogram)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		h := hdrhistogram.New(1, 10_000_000, 3)
		var in [64]byte
		for {
			select {
			case <-end:
				unix.Close(fd)
				done <- h
				return
			default:
			}
			start := time.Now()
			if _, err := unix.Write(fd, []byte("PING\r\n")); err == nil {
				if n, err := unix.Read(fd, in[:]); err == nil && n > 0 {
					_ = h.RecordValue(max(1, time.Since(start).Microseconds())) // within bounds
				}
			}
			pause := unix.NsecToTimespec(int64(pingEvery))
			_ = unix.Nanosleep(&pause, nil) // a shorter pause does no harm
		}
	}()
	return func() *hdrhistogram.Histogram {
		close(end)
		return <-done
	}, nil
}
