package main

import (
	"runtime"
	"sync"
	"time"

	"sluice/internal/pauses"
)

// stalls is how much of the time the machine itself takes from the programs on it:
// what no gateway there can be better than.
type stalls struct {
	Percent float64 // of the time, on the processor that lost most
	Longest float64 // of all processors, ms
}

// stallsFor is how long they are measured.
const stallsFor = 3 * time.Second

// stallsIf are those of the machine, if they can be measured: nil when not, which the
// report then says.
func stallsIf(say func(string, ...any)) *stalls {
	s, err := measureStalls(stallsFor)
	if err != nil {
		say("NOT MEASURED: what the machine itself takes: %v", err)
		return nil
	}
	say("the machine stopped a processor for %.1f %% of the time, %.1f ms at most", s.Percent, s.Longest)
	return s
}

// measureStalls keeps every processor busy, as a host may treat idle ones otherwise.
func measureStalls(length time.Duration) (*stalls, error) {
	log, err := pauses.Start()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	end := start.Add(length)
	var busy sync.WaitGroup
	for range runtime.NumCPU() {
		busy.Go(func() {
			for time.Now().Before(end) { // busy on purpose
			}
		})
	}
	busy.Wait()
	if err := log.Stop(); err != nil {
		return nil, err
	}
	return &stalls{
		Percent: 100 * log.Between(start, end).Seconds() / length.Seconds(),
		Longest: log.Longest(start, end).Seconds() * 1e3,
	}, nil
}
