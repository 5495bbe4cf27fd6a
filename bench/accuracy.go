package main

import (
	"math/rand/v2"
	"time"

	"sluice/internal/history"
	"sluice/internal/limit"
)

// The limit that accuracy is measured with: requests in a window.
const (
	accuracyLimit  = 1000
	accuracyWindow = time.Second
)

// schedule is a load with a clock of its own, so that each algorithm decides on
// the same requests at the same times.
type schedule struct {
	name  string
	times []limit.Micros
}

// schedules are the loads of the accuracy table.
func schedules() []schedule {
	return []schedule{
		{"twice the limit, Poisson", poisson(2*accuracyLimit, 0, 20*time.Second)},
		{"bursts around each second's edge", edges(10)},
		{"half the limit, then four times", append(
			poisson(accuracyLimit/2, 0, 10*time.Second),
			poisson(4*accuracyLimit, 10*time.Second, 10*time.Second)...)},
	}
}

// epoch is where the schedules start: a whole second, us.
const epoch limit.Micros = 1_800_000_000_000_000

// poisson is a load of so many requests a second, from a time after epoch on.
// It is the same each time.
func poisson(perSecond float64, from, length time.Duration) []limit.Micros {
	rng := rand.New(rand.NewPCG(27, uint64(perSecond)))
	var times []limit.Micros
	for t := 0.0; ; {
		t += rng.ExpFloat64() / perSecond
		if t >= length.Seconds() {
			return times
		}
		times = append(times, epoch+from.Microseconds()+limit.Micros(t*1e6))
	}
}

// edges sends the whole limit right before a second's edge and again right after
// it, n times with a pause between.
func edges(n int) []limit.Micros {
	var times []limit.Micros
	for i := range n {
		edge := epoch + limit.Micros(i+1)*3*accuracyWindow.Microseconds()
		for j := range limit.Micros(2 * accuracyLimit) {
			times = append(times, edge-50_000+j*50)
		}
	}
	return times
}

// accuracy is how far an algorithm's decisions are from an exact window's.
type accuracy struct {
	worst    int64   // most that were admitted in any window
	admitted int     // of the whole schedule
	over     float64 // worst above the limit, as a part of it
	ideal    float64 // admitted compared with what an exact log admits, as a part of it
}

// judge compares verdicts with the limit, by the history checker, and with an
// exact log that keeps each request's time to the microsecond.
func judge(times []limit.Micros, verdicts []bool) accuracy {
	var admissions []history.Admission
	for i, ok := range verdicts {
		if ok {
			admissions = append(admissions, history.Admission{At: times[i], Cost: 1})
		}
	}
	worst := history.Worst(admissions, accuracyWindow.Microseconds())[""].Units
	exact := idealLog(times)
	return accuracy{
		worst:    worst,
		admitted: len(admissions),
		over:     max(0, float64(worst)/accuracyLimit-1),
		ideal:    float64(len(admissions))/float64(exact) - 1,
	}
}

// idealLog is how many requests a log admits that keeps every one of them.
func idealLog(times []limit.Micros) int {
	var log []limit.Micros
	first := 0
	for _, t := range times {
		for first < len(log) && log[first] <= t-accuracyWindow.Microseconds() {
			first++
		}
		if len(log)-first < accuracyLimit {
			log = append(log, t)
		}
	}
	return len(log)
}
