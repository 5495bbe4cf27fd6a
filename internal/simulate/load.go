package simulate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
)

// Shape says when the requests of a load come.
type Shape struct {
	text string
	kind shapeKind
	// rate and to are requests a second: steady, or from the beginning to the end.
	rate, to float64
	burst    int64         // requests that come at once
	every    time.Duration // between two bursts
}

type shapeKind uint8

const (
	constantShape shapeKind = iota
	poissonShape
	burstShape
	rampShape
)

// String is the shape as it was written.
func (s Shape) String() string { return s.text }

// UsageError is a mistake in what the caller asks for.
type UsageError string

func (e UsageError) Error() string { return string(e) }

const shapeForms = "expected constant 200/s, poisson 200/s, bursts 100 every 5s or ramp 0/s to 500/s"

// ParseShape reads a load's shape.
func ParseShape(text string) (Shape, error) {
	s := Shape{text: strings.Join(strings.Fields(text), " ")}
	bad := func(why string) (Shape, error) {
		return Shape{}, UsageError(strconv.Quote(text) + why)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		return bad(": " + shapeForms)
	}
	var err error
	switch {
	case (words[0] == "constant" || words[0] == "poisson") && len(words) == 2:
		if words[0] == "poisson" {
			s.kind = poissonShape
		}
		if s.rate, err = ParseRate(words[1]); err != nil {
			return bad(": " + err.Error())
		}
		if s.rate == 0 {
			return bad(": a load of no requests")
		}
	case words[0] == "bursts" && len(words) == 4 && words[2] == "every":
		s.kind = burstShape
		s.burst, err = strconv.ParseInt(words[1], 10, 64)
		if err != nil || s.burst < 1 || s.burst > maxRequests {
			return bad(": the size of a burst is a whole number from 1")
		}
		if s.every, err = time.ParseDuration(words[3]); err != nil || s.every < time.Microsecond {
			return bad(": " + strconv.Quote(words[3]) + " is not a time between bursts, such as 5s")
		}
	case words[0] == "ramp" && len(words) == 4 && words[2] == "to":
		s.kind = rampShape
		if s.rate, err = ParseRate(words[1]); err != nil {
			return bad(": " + err.Error())
		}
		if s.to, err = ParseRate(words[3]); err != nil {
			return bad(": " + err.Error())
		}
		if s.rate == 0 && s.to == 0 {
			return bad(": a load of no requests")
		}
	default:
		return bad(": " + shapeForms)
	}
	return s, nil
}

// ParseRate reads N/unit: requests a second.
func ParseRate(text string) (float64, error) {
	bad := fmt.Errorf("%q is not a rate, such as 200/s, 0.5/s or 1000/min", text)
	left, right, ok := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(left, 64)
	if !ok || err != nil || !(n >= 0 && n <= 1e7) {
		return 0, bad
	}
	seconds := map[string]float64{"s": 1, "sec": 1, "second": 1, "min": 60, "m": 60, "minute": 60, "h": 3600, "hour": 3600, "d": 86400, "day": 86400}[right]
	if seconds == 0 {
		d, err := time.ParseDuration(right)
		if err != nil || d <= 0 {
			return 0, bad
		}
		seconds = d.Seconds()
	}
	return n / seconds, nil
}

// maxRequests bounds a load: more is a mistake in its numbers.
const maxRequests = 1_000_000_000

// Count is about how many requests come within a time.
func (s Shape) Count(d time.Duration) float64 {
	switch s.kind {
	case burstShape:
		return float64(s.burst) * math.Ceil(float64(d)/float64(s.every))
	case rampShape:
		return (s.rate + s.to) / 2 * d.Seconds()
	}
	return s.rate * d.Seconds()
}

// times returns when the requests come, one after the other: microseconds from
// the beginning, in order, below d; false at the end.
func (s Shape) times(d time.Duration, seed uint64) func() (int64, bool) {
	end := float64(d.Microseconds())
	i := int64(0)
	switch s.kind {
	case burstShape:
		return func() (int64, bool) {
			at := i / s.burst * s.every.Microseconds()
			i++
			return at, float64(at) < end
		}
	case poissonShape:
		rng := rand.New(rand.NewPCG(seed, 1))
		at := 0.0
		return func() (int64, bool) {
			at += rng.ExpFloat64() * 1e6 / s.rate
			return int64(at), at < end
		}
	case rampShape:
		// The i-th comes when a·t + (b-a)·t²/2T reaches i.
		a, b, t := s.rate, s.to, d.Seconds()
		return func() (int64, bool) {
			n := float64(i)
			i++
			var at float64
			if c := (b - a) / (2 * t); n == 0 {
				at = 0
			} else if c == 0 {
				at = n / a
			} else if root := a*a + 4*c*n; root < 0 {
				return 0, false // a falling ramp has no more
			} else {
				at = 2 * n / (a + math.Sqrt(root))
			}
			us := at * 1e6
			return int64(us), n < s.Count(d) && us < end
		}
	}
	return func() (int64, bool) {
		at := float64(i) * 1e6 / s.rate
		i++
		return int64(at), at < end
	}
}

// Spread says how requests are divided among callers.
type Spread byte

// Spreads.
const (
	Uniform Spread = iota
	Zipf           // a few callers send most of them
)

// ParseSpread reads a spread.
func ParseSpread(text string) (Spread, error) {
	switch text {
	case "uniform":
		return Uniform, nil
	case "zipf":
		return Zipf, nil
	}
	return 0, UsageError(strconv.Quote(text) + " is no spread: expected uniform or zipf")
}

// callers returns the caller of one request after the other, from 0 to n-1.
func (s Spread) callers(n int, seed uint64) func() int {
	rng := rand.New(rand.NewPCG(seed, 2))
	switch {
	case n == 1:
		return func() int { return 0 }
	case s == Zipf:
		z := rand.NewZipf(rng, 1.2, 1, uint64(n-1))
		return func() int { return int(z.Uint64()) }
	}
	return func() int { return rng.IntN(n) }
}
