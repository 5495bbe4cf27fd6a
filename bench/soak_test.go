package main

import (
	"math"
	"testing"
	"time"

	"sluice/internal/stack/stacktest"
)

// Under load by ever new callers, gateway and Redis keep their size, and every
// request is answered. `make soak` does the same for longer.
func TestSoak(t *testing.T) {
	stacktest.Module(t)
	b := &bed{root: stacktest.Root(t), dir: t.TempDir(), tools: tools{envoy: stacktest.EnvoyBinary(t), redis: stacktest.RedisBinary(t)}}
	defer b.stop()
	p := newSoak(20*time.Second, 1000)
	r, err := b.soak(t.Context(), p, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	if r.Requests < 10_000 || r.Keys != int(r.Requests) || len(r.Samples) < 10 {
		t.Errorf("%d requests of %d callers, %d samples", r.Requests, r.Keys, len(r.Samples))
	}
	// 14 seconds at 1000/s: with 1 kB kept of each request it would be 14 MB.
	const most = 8.0
	if rise, size := r.trend(envoyMB); rise > most {
		t.Errorf("Envoy grew by %.1f MB, from about %.0f", rise, size)
	}
	if rise, size := r.trend(redisMB); rise > most {
		t.Errorf("Redis grew by %.1f MB, from about %.0f", rise, size)
	}
}

func TestTrend(t *testing.T) {
	r := soakResult{}
	for i := range 100 {
		r.Samples = append(r.Samples, soakSample{At: float64(i), Envoy: 100 + 2*float64(i), Redis: 7})
	}
	if rise, middle := r.trend(envoyMB); math.Abs(rise-138) > 1e-6 || math.Abs(middle-229) > 1e-6 {
		t.Errorf("rises by %v around %v", rise, middle)
	}
	if rise, _ := r.trend(redisMB); rise != 0 {
		t.Errorf("what is level rises by %v", rise)
	}
	if rise, middle := (&soakResult{}).trend(envoyMB); rise != 0 || middle != 0 {
		t.Errorf("of nothing: %v, %v", rise, middle)
	}
	if w := newSoak(20*time.Second, 1).window(); w != time.Second {
		t.Errorf("a window of %v", w)
	}
	if w := newSoak(30*time.Minute, 1).window(); w != time.Minute {
		t.Errorf("a window of %v", w)
	}
}
