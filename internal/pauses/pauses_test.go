package pauses

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

func at(ms int) time.Time { return time.Unix(1000, int64(ms)*1e6) }

func TestBetween(t *testing.T) {
	l := &Log{spans: []span{
		{0, at(10), at(14)},
		{1, at(12), at(15)},
		{0, at(20), at(21)},
	}}
	for _, c := range []struct{ from, to, want, longest int }{
		{0, 9, 0, 0},
		{0, 100, 5, 4},
		{12, 100, 3, 3}, // both have 3
		{13, 14, 1, 1},
		{14, 16, 1, 1},
		{20, 21, 1, 1},
		{21, 30, 0, 0},
	} {
		if d := l.Between(at(c.from), at(c.to)); d != time.Duration(c.want)*time.Millisecond {
			t.Errorf("paused for %v between %d and %d ms, expected %d ms", d, c.from, c.to, c.want)
		}
		if d := l.Longest(at(c.from), at(c.to)); d != time.Duration(c.longest)*time.Millisecond {
			t.Errorf("paused for %v in one go between %d and %d ms, expected %d ms", d, c.from, c.to, c.longest)
		}
	}
}

func TestRead(t *testing.T) {
	l := &Log{}
	l.read(strings.NewReader("1 1000010000000 1000014000000\n"))
	if d := l.Between(at(0), at(100)); d != 4*time.Millisecond || l.err != nil {
		t.Errorf("%v, %v", d, l.err)
	}
	l.read(strings.NewReader("error operation not permitted\n"))
	if l.err == nil || !strings.Contains(l.err.Error(), "not permitted") {
		t.Errorf("the error is %v", l.err)
	}
}

// Busy threads alone are no pause: theirs ends when the measuring thread wakes.
func TestBusyProcessorsDontPause(t *testing.T) {
	l, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	for range 8 {
		go func() {
			for !stop.Load() { // busy on purpose
			}
		}()
	}
	begin := time.Now()
	time.Sleep(500 * time.Millisecond)
	end := time.Now()
	stop.Store(true)
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	// A host that takes half of the time away would still be measured right.
	if d := l.Between(begin, end); d > end.Sub(begin)/2 {
		t.Errorf("paused for %v of %v", d, end.Sub(begin))
	} else {
		t.Logf("paused for %v of %v", d, end.Sub(begin))
	}
}

// What keeps even the measuring threads from running is a pause.
func TestSomethingMoreUrgentPauses(t *testing.T) {
	l, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // until it measures
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	for cpu := 0; one.Count() == 0; cpu++ {
		if all.IsSet(cpu) {
			one.Set(cpu)
		}
	}
	const length = 6 * time.Millisecond // the runtime would interrupt more than 10
	begin := time.Now()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		class := unix.SchedAttr{Policy: unix.SCHED_FIFO, Priority: 2}
		err := errors.Join(unix.SchedSetaffinity(0, &one), unix.SchedSetAttr(0, &class, 0))
		for start := time.Now(); err == nil && time.Since(start) < length; { // busy on purpose
		}
		done <- errors.Join(err, unix.SchedSetAttr(0, &unix.SchedAttr{Policy: unix.SCHED_NORMAL}, 0))
	}()
	err = <-done
	time.Sleep(50 * time.Millisecond) // until it has been told
	end := time.Now()
	if again := l.Stop(); errors.Is(err, unix.EPERM) {
		t.Skip("this program mustn't choose its scheduling class")
	} else if err = errors.Join(err, again); err != nil {
		t.Fatal(err)
	}
	// A nap may have begun just before.
	if d := l.Longest(begin, end); d < length-2*nap || d > end.Sub(begin) {
		t.Errorf("paused for %v in one go by something that takes %v", d, length)
	}
}
