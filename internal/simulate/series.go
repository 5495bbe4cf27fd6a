package simulate

import "time"

// seriesScale divides a span of time into steps.
type seriesScale struct {
	from, step int64 // microseconds
	n          int
	// first and last are the span itself, of which the first and the last step
	// hold only a part.
	first, last int64
}

// maxSteps is how many steps a series has at most.
const maxSteps = 240

var stepLengths = []time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour,
}

func newScale(from, to int64) seriesScale {
	span := max(to-from+1, 1)
	s := seriesScale{step: (span + maxSteps - 1) / maxSteps, first: from, last: to}
	for _, l := range stepLengths {
		if l.Microseconds()*maxSteps >= span {
			s.step = l.Microseconds()
			break
		}
	}
	s.from = from - from%s.step
	s.n = int((to-s.from)/s.step) + 1
	return s
}

// seconds is how much of a step is inside the span, at least a tenth of it.
func (s seriesScale) seconds(i int) float64 {
	begin := s.from + int64(i)*s.step
	covered := min(begin+s.step, s.last+1) - max(begin, s.first)
	return float64(max(covered, s.step/10, 1)) / 1e6
}

// series is what happened in each step.
type series struct {
	scale seriesScale
	// admitted and rejected requests, the most that the trailing window of one
	// key held, and the limit that held for that key.
	admitted, rejected, held, limit []int64
}

func (s seriesScale) make() series {
	return series{s, make([]int64, s.n), make([]int64, s.n), make([]int64, s.n), make([]int64, s.n)}
}

// add notes a decision.
func (s *series) add(at, admitted, rejected, held, limit int64) {
	if s.scale.n == 0 {
		return
	}
	i := min(max(int((at-s.scale.from)/s.scale.step), 0), s.scale.n-1)
	s.admitted[i] += admitted
	s.rejected[i] += rejected
	if held > s.held[i] || s.limit[i] == 0 {
		s.held[i], s.limit[i] = held, max(limit, s.limit[i])
	}
}
