package pauses

import (
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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
	for _, c := range []struct{ from, to, want int }{
		{0, 9, 0},
		{0, 100, 5},
		{12, 100, 3}, // both have 3
		{13, 14, 1},
		{14, 16, 1},
		{20, 21, 1},
		{21, 30, 0},
	} {
		if d := l.Between(at(c.from), at(c.to)); d != time.Duration(c.want)*time.Millisecond {
			t.Errorf("paused for %v between %d and %d ms, expected %d ms", d, c.from, c.to, c.want)
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
