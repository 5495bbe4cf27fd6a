// Package load sends HTTP requests at a constant rate that doesn't depend on the
// answers (open loop), as wrk2 does: a request's latency counts from when it was
// due, also when the sender or every connection was late. What waits behind a slow
// answer is thus not left out.
//
// One thread does everything over epoll, so that it needs a few microseconds a
// request: the load shares its processors with what it measures.
package load

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// Options say what is sent where.
type Options struct {
	Addrs []string // host:port; requests go to them in turn
	Rate  float64  // requests a second, over all addresses
	Conns int      // connections to each address, kept open
	Warm  time.Duration
	// Length is how long requests are due that count, after Warm.
	Length time.Duration
	// Request is request i's text; it isn't kept. Calls come in order of i for
	// each address.
	Request func(i int) []byte
	// Each, if not nil, is told of each answer that counts; it must be quick.
	Each func(Answer)
	// Drain is how long after the last request answers are waited for; 0 means 5 s.
	Drain time.Duration
}

// Answer is one answer. Header is valid during the call only.
type Answer struct {
	Index   int
	Addr    int // which of the addresses
	Status  int
	Header  []byte        // status line and fields, as they came
	Latency time.Duration // from when the request was due
}

// Result is what came of the requests that count.
type Result struct {
	Due     int64 // requests that had to be sent
	Done    int64 // answered
	Refused int64 // of those, with a status of 400 or above
	Failed  int64 // their connection broke
	Lost    int64 // unanswered at the end of the drain
	// Waited is how many were sent late because every connection was busy.
	Waited int64
	// Latency of the answered, from when they were due, us.
	Latency *hdrhistogram.Histogram
	// Lag is how late requests were sent for which a connection was free, us: what
	// the sender itself adds to the latency.
	Lag *hdrhistogram.Histogram
	CPU time.Duration // that the sender used, warm-up included
}

// Highest latency that is told apart, and the digits that are kept.
const (
	highestUS = 60_000_000
	digits    = 3
)

func (o *Options) check() error {
	if len(o.Addrs) == 0 || o.Conns < 1 || o.Request == nil {
		return errors.New("load: addresses, connections and a request are needed")
	}
	if !(o.Rate > 0 && o.Rate <= 1e6) || o.Length <= 0 || o.Warm < 0 {
		return fmt.Errorf("load: a rate of %v/s for %v after %v can't be", o.Rate, o.Length, o.Warm)
	}
	if o.Drain == 0 {
		o.Drain = 5 * time.Second
	}
	return nil
}

// Run sends the load and waits for its answers.
func Run(ctx context.Context, o Options) (Result, error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := threadCPU()
	if err != nil {
		return Result{}, err
	}
	s := &sender{o: o}
	s.result.Latency = hdrhistogram.New(1, highestUS, digits)
	s.result.Lag = hdrhistogram.New(1, highestUS, digits)
	defer s.close()
	if err := s.open(); err != nil {
		return Result{}, err
	}
	if err := s.run(ctx); err != nil {
		return Result{}, err
	}
	after, err := threadCPU()
	s.result.CPU = after - before
	r := &s.result
	r.Lost = r.Due - r.Done - r.Failed
	return *r, err
}

func threadCPU() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts)
	return time.Duration(ts.Nano()), err
}

// steady is a clock that never jumps, ns.
func steady() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // the kernel has this clock
	}
	return ts.Nano()
}

// Ms is a histogram's quantile (50, 99, 99.9), milliseconds.
func Ms(h *hdrhistogram.Histogram, quantile float64) float64 {
	return float64(h.ValueAtQuantile(quantile)) / 1e3
}
