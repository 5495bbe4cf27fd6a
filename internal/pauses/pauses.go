// Package pauses measures when the machine stopped one of its processors
// altogether: for its host, say, or for an interrupt. A thread of the highest
// scheduling class, on each processor, sleeps for a millisecond at a time; when it
// wakes later than that, nothing else ran there either. What the kernel's
// scheduler knows about threads that wait for each other doesn't show that.
//
// The threads live in a process of their own, since a program's garbage
// collector and its other goroutines would delay them. Linux only.
package pauses

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// variable tells a program that it is the process that measures.
	variable = "SLUICE_MEASURES_PAUSES"
	nap      = time.Millisecond
	// from is the shortest pause that counts.
	from = 500 * time.Microsecond
)

// Main is called first by the main function of a program that calls Start: in the
// process that measures, it doesn't return.
func Main() {
	if os.Getenv(variable) == "" {
		return
	}
	// Threads that sleep behind the runtime's back keep their processor of it.
	runtime.GOMAXPROCS(runtime.NumCPU() + 2)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for cpu := range len(set) * 64 {
		if set.IsSet(cpu) {
			go measure(cpu)
		}
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // ends with the parent
	os.Exit(0)
}

// measure prints a processor's pauses: the processor, begin and end, ns since 1970.
func measure(cpu int) {
	runtime.LockOSThread()
	var one unix.CPUSet
	one.Set(cpu)
	err := unix.SchedSetaffinity(0, &one)
	if err == nil {
		err = unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: 1}, 0)
	}
	if err != nil {
		fmt.Println("error", err)
		return
	}
	// Not by the runtime's sleep, which needs another thread to end it.
	t := unix.NsecToTimespec(nap.Nanoseconds())
	for {
		before := time.Now()
		_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil)
		after := time.Now()
		if due := before.Add(nap); after.Sub(due) >= from {
			fmt.Println(cpu, due.UnixNano(), after.UnixNano())
		}
	}
}

// Log is what was measured so far.
type Log struct {
	mu    sync.Mutex
	spans []span
	err   error
	stop  func()
}

type span struct {
	cpu      int
	from, to time.Time
}

// Start starts to measure, until Stop. The program must call Main.
func Start() (*Log, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), variable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	l := &Log{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.read(out)
	}()
	l.stop = func() {
		_ = in.Close()
		<-done
		_ = cmd.Wait()
	}
	return l, nil
}

func (l *Log) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var cpu int
		var from, to int64
		text := lines.Text()
		_, err := fmt.Sscan(text, &cpu, &from, &to)
		l.mu.Lock()
		if err != nil {
			l.err = fmt.Errorf("pauses can't be measured: %s", strings.TrimPrefix(text, "error "))
		} else {
			l.spans = append(l.spans, span{cpu, time.Unix(0, from), time.Unix(0, to)})
		}
		l.mu.Unlock()
	}
}

// Stop ends the process that measures. It returns an error when nothing could be
// measured, as where a program mustn't choose its scheduling class.
func (l *Log) Stop() error {
	l.stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Between returns how long the processor that paused most was paused within a
// span of time.
func (l *Log) Between(from, to time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := map[int]time.Duration{}
	var most time.Duration
	for _, s := range l.spans {
		by[s.cpu] += s.within(from, to)
		most = max(most, by[s.cpu])
	}
	return most
}

// Longest returns how much of the longest pause of any processor was within a
// span of time.
func (l *Log) Longest(from, to time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	var longest time.Duration
	for _, s := range l.spans {
		longest = max(longest, s.within(from, to))
	}
	return longest
}

// within is how much of s is between two times.
func (s span) within(from, to time.Time) time.Duration {
	if s.from.After(from) {
		from = s.from
	}
	if s.to.Before(to) {
		to = s.to
	}
	return max(to.Sub(from), 0)
}
