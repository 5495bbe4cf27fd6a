package simulate

import (
	"math"
	"strings"
	"testing"
	"time"
)

// seen are the times of a shape, seconds.
func seen(t *testing.T, shape string, d time.Duration, seed uint64) (out []float64) {
	t.Helper()
	s, err := ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	next := s.times(d, seed)
	for {
		at, ok := next()
		if !ok {
			return out
		}
		if n := len(out); n > 0 && float64(at)/1e6 < out[n-1] {
			t.Fatalf("%s: time steps back at %d", shape, n)
		}
		out = append(out, float64(at)/1e6)
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		shape string
		n     int
		// first is how many of them come in the first half of a minute.
		first, slack int
	}{
		{"constant 200/s", 12_000, 6000, 0},
		{"constant 0.5/s", 30, 15, 0},
		{"constant 90/min", 90, 45, 0},
		{"poisson 200/s", 12_000, 6000, 400},
		{"bursts 100 every 5s", 1200, 600, 0},
		{"ramp 0/s to 500/s", 15_000, 3750, 2},
		{"ramp 500/s to 0/s", 15_000, 11_250, 2},
		{"ramp 100/s to 100/s", 6000, 3000, 1},
	} {
		times := seen(t, c.shape, time.Minute, 1)
		first := 0
		for _, at := range times {
			if at < 30 {
				first++
			}
			if at < 0 || at >= 60 {
				t.Errorf("%s: one at %v", c.shape, at)
			}
		}
		if math.Abs(float64(len(times)-c.n)) > float64(c.slack) || math.Abs(float64(first-c.first)) > float64(c.slack) {
			t.Errorf("%s: %d, of which %d in the first half, want %d and %d", c.shape, len(times), first, c.n, c.first)
		}
	}
	a, b := seen(t, "poisson 10/s", time.Minute, 1), seen(t, "poisson 10/s", time.Minute, 2)
	if len(a) == len(b) && a[0] == b[0] {
		t.Error("another seed gives the same")
	}
}

func TestRefusedShapes(t *testing.T) {
	for _, text := range []string{
		"", "steady 1/s", "constant", "constant 1", "constant x/s", "constant 1/parsec", "constant -1/s", "constant 0/s", "constant NaN/s", "poisson 1/-1s",
		"bursts 0 every 1s", "bursts 1 every", "bursts 1 each 1s", "bursts 1 every 0s", "bursts 1.5 every 1s", "bursts 99999999999 every 1s",
		"ramp 1/s", "ramp 0/s to 0/s", "ramp 1/s to x", "ramp 1/s by 2/s",
	} {
		if _, err := ParseShape(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
	s, err := ParseShape(" constant   5/s ")
	if err != nil || s.String() != "constant 5/s" {
		t.Errorf("%q, %v", s.String(), err)
	}
}

func TestRefusedLoads(t *testing.T) {
	shape, err := ParseShape("constant 1000000/s")
	if err != nil {
		t.Fatal(err)
	}
	good := LoadOptions{Shapes: []Shape{shape}, For: time.Second, Method: "GET", Path: "/", Keys: 1, Status: 200}
	for says, change := range map[string]func(o *LoadOptions){
		"needs a shape":        func(o *LoadOptions) { o.Shapes = nil },
		"lasts":                func(o *LoadOptions) { o.For = 0 },
		"callers":              func(o *LoadOptions) { o.Keys = 0 },
		"takes from 0":         func(o *LoadOptions) { o.Took = -1 },
		"begins with /":        func(o *LoadOptions) { o.Path = "x" },
		"not a method":         func(o *LoadOptions) { o.Method = "" },
		"status":               func(o *LoadOptions) { o.Status = 0 },
		"bytes":                func(o *LoadOptions) { o.Bytes = -1 },
		"the most":             func(o *LoadOptions) { o.For = time.Hour },
		"not a header":         func(o *LoadOptions) { o.Headers = []string{"x"} },
		"has no":               func(o *LoadOptions) { o.With = map[string]string{"size": "1"} },
		"isn't given so":       func(o *LoadOptions) { o.With = map[string]string{"method": "GET"} },
		"method isn't given s": func(o *LoadOptions) { o.With = map[string]string{"method": "GET"} },
	} {
		o := good
		change(&o)
		if _, err := NewLoad(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
}

// Zipf's first callers send most, and every caller is below the number.
func TestSpreads(t *testing.T) {
	for _, s := range []Spread{Uniform, Zipf} {
		next := s.callers(100, 1)
		first := 0
		for range 10_000 {
			c := next()
			if c < 0 || c > 99 {
				t.Fatalf("caller %d", c)
			}
			if c < 10 {
				first++
			}
		}
		if most := first > 6000; most != (s == Zipf) {
			t.Errorf("spread %d: the first ten of a hundred send %d of 10000", s, first)
		}
	}
}

func TestServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Server{
		"127.0.0.1:6379":                   {Network: "tcp", Addr: "127.0.0.1:6379"},
		"redis://u:p@h:7000/3":             {Network: "tcp", Addr: "h:7000", Username: "u", Password: "p", DB: 3},
		"unix:///tmp/redis.sock?db=2":      {Network: "unix", Addr: "/tmp/redis.sock", DB: 2},
		"redis://h:1/0?unknown=secretword": {},
		"redis://:secretword@h:port:x":     {},
		"localhost":                        {},
	} {
		got, err := ParseServer(text)
		if (err != nil) != (want == Server{}) || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "secretword") {
			t.Errorf("the error tells the password: %v", err)
		}
	}
}
