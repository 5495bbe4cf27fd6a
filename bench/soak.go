package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/bench/load"
)

// soakPlan says how long a gateway is kept under load, and by how many callers.
type soakPlan struct {
	Length time.Duration
	Rate   float64 // requests a second
	Keys   int     // distinct callers, one after the other
	Sample time.Duration
}

// soakKeys are the callers of a soak.
const soakKeys = 1_000_000

// newSoak is a plan with about a hundred samples.
func newSoak(length time.Duration, rate float64) soakPlan {
	return soakPlan{Length: length, Rate: rate, Keys: soakKeys, Sample: max(length/100, 500*time.Millisecond)}
}

// window is the limit's: short enough that counters come and go many times.
func (p soakPlan) window() time.Duration {
	return min(max((p.Length/30).Truncate(time.Second), time.Second), time.Minute)
}

// soakSample is a moment of a soak. Sizes are MB.
type soakSample struct {
	At    float64 `json:"at_s"`
	Envoy float64 `json:"envoy_mb"`
	Redis float64 `json:"redis_mb"`
	P99   float64 `json:"p99_ms"` // since the sample before
}

// soakResult is what a soak found.
type soakResult struct {
	Command  string       `json:"command"`
	Date     string       `json:"date"`
	Seconds  float64      `json:"seconds"`
	Rate     float64      `json:"rate"`
	Keys     int          `json:"distinct_keys"`
	WindowS  float64      `json:"window_s"`
	Requests int64        `json:"requests"`
	Samples  []soakSample `json:"samples"`
}

// soak keeps one gateway under a constant load and looks at its memory, Redis's
// and the latency all the while.
func (b *bed) soak(ctx context.Context, p soakPlan, say func(string, ...any)) (soakResult, error) {
	r := row{
		name: "soak", keys: 1, status: admitted,
		policy: fmt.Sprintf(`{"name":"per-user","key":"header:x-user-id","rate":"%s/%dms"}`, endless, p.window().Milliseconds()),
	}
	if err := b.start(ctx, []row{r}); err != nil {
		return soakResult{}, err
	}
	gateway := b.gateways[r.name]
	result := soakResult{
		Date: time.Now().UTC().Format("2006-01-02 15:04 MST"), Seconds: p.Length.Seconds(), Rate: p.Rate, WindowS: p.window().Seconds(),
	}
	addr := address(gateway)
	next := 0
	text := []byte(fmt.Sprintf("GET / HTTP/1.1\r\nHost: %s\r\nx-user-id: user-0000000\r\n\r\n", addr))
	digits := text[strings.Index(string(text), "0000000\r\n"):][:7]
	start := time.Now()
	for time.Since(start) < p.Length {
		part, err := load.Run(ctx, load.Options{
			Addrs: []string{addr}, Rate: p.Rate, Conns: steadyConns, Length: p.Sample,
			// The name is written in place: a million texts would be more than
			// everything else takes.
			Request: func(int) []byte {
				for i, n := len(digits)-1, next%p.Keys; i >= 0; i, n = i-1, n/10 {
					digits[i] = byte('0' + n%10)
				}
				next++
				return text
			},
		})
		if err == nil {
			err = sound(part)
		}
		if err == nil && part.Refused > 0 {
			err = fmt.Errorf("%d of %d answers weren't 2xx", part.Refused, part.Done)
		}
		if err == nil {
			err = b.alive()
		}
		if err != nil {
			return result, fmt.Errorf("after %v: %w", time.Since(start).Round(time.Second), err)
		}
		envoy, err := memory(gateway.Process().Pid())
		if err != nil {
			return result, err
		}
		server, err := memory(b.redis.Process().Pid())
		if err != nil {
			return result, err
		}
		s := soakSample{At: time.Since(start).Seconds(), Envoy: float64(envoy) / 1e6, Redis: float64(server) / 1e6, P99: load.Ms(part.Latency, 99)}
		result.Samples = append(result.Samples, s)
		result.Requests += part.Done
		if len(result.Samples)%10 == 0 {
			say("soak %4.0f of %.0f s: Envoy %.1f MB, Redis %.1f MB, p99 %.2f ms, %d requests", s.At, p.Length.Seconds(), s.Envoy, s.Redis, s.P99, result.Requests)
		}
	}
	result.Keys = min(next, p.Keys)
	return result, nil
}

// steadyPart are the samples after the first part, in which caches and counters
// fill.
func (r *soakResult) steadyPart() []soakSample {
	return r.Samples[len(r.Samples)*3/10:]
}

// trend fits a line through a figure of the steady part by least squares. It
// returns how much the line rises from its start to its end, and its middle.
func (r *soakResult) trend(pick func(soakSample) float64) (rise, middle float64) {
	s := r.steadyPart()
	if len(s) < 2 {
		return 0, 0
	}
	var x, y, xx, xy float64
	n := float64(len(s))
	for _, v := range s {
		x += v.At
		y += pick(v)
	}
	x, y = x/n, y/n
	for _, v := range s {
		xx += (v.At - x) * (v.At - x)
		xy += (v.At - x) * (pick(v) - y)
	}
	return xy / xx * (s[len(s)-1].At - s[0].At), y
}

func envoyMB(s soakSample) float64 { return s.Envoy }
func redisMB(s soakSample) float64 { return s.Redis }
func p99ms(s soakSample) float64   { return s.P99 }
