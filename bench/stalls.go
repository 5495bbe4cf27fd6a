package main

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// stalls is how much of the time the machine itself takes from a thread that never
// waits: what no gateway on it can be better than.
type stalls struct {
	Percent float64 `json:"percent"`    // of the time, on the processor that lost most
	Longest float64 `json:"longest_ms"` // ms
}

// stallFrom is the shortest pause that counts: shorter ones are interrupts.
const stallFrom = 500 * time.Microsecond

// measureStalls keeps every processor busy and looks for jumps of the clock.
func measureStalls(length time.Duration) (stalls, error) {
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return stalls{}, err
	}
	var worst stalls
	var failed error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range runtime.NumCPU() {
		wg.Go(func() {
			// The thread ends with the goroutine, since it isn't unlocked: no other
			// gets its affinity.
			runtime.LockOSThread()
			var one unix.CPUSet
			one.Set(nth(&all, i))
			err := unix.SchedSetaffinity(0, &one)
			lost, longest := time.Duration(0), time.Duration(0)
			start := time.Now()
			for before := start; err == nil && before.Sub(start) < length; {
				now := time.Now()
				if gap := now.Sub(before); gap >= stallFrom {
					lost += gap
					longest = max(longest, gap)
				}
				before = now
			}
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = err
			}
			worst.Percent = max(worst.Percent, 100*lost.Seconds()/length.Seconds())
			worst.Longest = max(worst.Longest, longest.Seconds()*1e3)
		})
	}
	wg.Wait()
	return worst, failed
}

// nth is the number of a set's n-th processor.
func nth(set *unix.CPUSet, n int) int {
	for i := 0; ; i++ {
		if set.IsSet(i) {
			if n == 0 {
				return i
			}
			n--
		}
	}
}
