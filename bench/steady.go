package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"sluice/bench/load"
	"sluice/internal/stack"
)

// steadyShare is the part of a row's own capacity at which its latency is measured.
const steadyShare = 0.5

// steadyConns is how many connections the constant rate may use: enough that a
// request rarely waits for one.
const steadyConns = 64

// lateMS is how late the load generator may send at its 99th percentile before the
// report says that the figure isn't good.
const lateMS = 0.5

// latencies are of one load at a constant rate, ms, from when a request was due.
type latencies struct {
	P50  float64 `json:"p50_ms"`
	P90  float64 `json:"p90_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`
	// Lag is the 99th percentile of how late the generator sent, ms.
	Lag float64 `json:"lag_p99_ms"`
	// Waited is the part of the requests for which no connection was free.
	Waited float64 `json:"waited"`
	// Lost is the part that got no answer in time: the machine couldn't do the rate
	// at that moment, and the latencies say less than there was.
	Lost float64 `json:"lost"`
	// Sender is the CPU that the generator used, us a request.
	Sender float64 `json:"sender_us"`
}

// steadyFigures are a row's in one round, and those of the table's base row at the
// same rate right before or after.
type steadyFigures struct {
	Rate float64   `json:"rate"` // requests a second
	Row  latencies `json:"row"`
	Base latencies `json:"base"`
	// RTT50 and RTT99 are a PING's round trip to Redis under the row's load, ms.
	RTT50 float64 `json:"rtt_p50_ms"`
	RTT99 float64 `json:"rtt_p99_ms"`
	// Apart says that the PINGs came from the gateway's processor.
	Apart bool `json:"ping_apart"`
}

// steady measures latency at a constant rate, half of what each row was able to do.
func (b *bed) steady(ctx context.Context, tables []table, closed map[string][]figures, p plan, say func(string, ...any)) (_ map[string][]steadyFigures, err error) {
	results := map[string][]steadyFigures{}
	cpus, enough, err := divideProcessors()
	if err != nil {
		return nil, err
	}
	if enough {
		if err := b.pinAll(&cpus.rest); err != nil {
			return nil, err
		}
		defer func() {
			if again := b.pinAll(&cpus.all); err == nil {
				err = again
			}
		}()
		if err := b.urgentAll(true); err != nil {
			say("latency is measured by the kernel's usual turns, and PINGs come from the processors that aren't the gateway's: %v", err)
		} else {
			cpus.ping = &cpus.gateway
		}
		defer func() {
			if again := b.urgentAll(false); err == nil {
				err = again
			}
		}()
	} else {
		cpus.gateway, cpus.rest = cpus.all, cpus.all
	}
	start := time.Now()
	for round := range p.Rounds {
		if !p.fits(round, start) {
			say("there is no time for round %d of %d at constant rate", round+1, p.Rounds)
			break
		}
		for _, t := range tables {
			base := find(t.rows, t.base)
			for _, r := range t.rows {
				if !r.steady {
					continue
				}
				if base == nil {
					say("NOT MEASURED at constant rate: row %q, because row %q isn't chosen", r.name, t.base)
					continue
				}
				rate := steadyShare * over(closed[r.name], func(f figures) float64 { return f.RPS }).median
				f, err := b.steadyOne(ctx, cpus, r, *base, rate, p, round%2 == 1)
				if err != nil {
					return nil, err
				}
				say("constant rate %d of %d: %-28s %6.0f req/s  p99 %6.2f ms, without %6.2f ms, a PING %5.2f ms, lag %.3f ms",
					round+1, p.Rounds, r.name, f.Rate, f.Row.P99, f.Base.P99, f.RTT99, f.Row.Lag)
				results[r.name] = append(results[r.name], f)
			}
		}
	}
	return results, nil
}

func find(rows []row, name string) *row {
	for i := range rows {
		if rows[i].name == name {
			return &rows[i]
		}
	}
	return nil
}

func (b *bed) steadyOne(ctx context.Context, cpus processors, r, base row, rate float64, p plan, baseLast bool) (steadyFigures, error) {
	f := steadyFigures{Rate: rate, Apart: cpus.ping != nil}
	// The base is measured with PINGs too: what they take is the same for both.
	pinged := func(measured row) (l latencies, rtt *hdrhistogram.Histogram, err error) {
		stop, err := startPing(b.redises(r)[0].Addr, cpus.ping)
		if err != nil {
			return l, nil, err
		}
		l, err = b.latencies(ctx, cpus, measured, r.keys, rate, p)
		rtt, noPing := stop()
		return l, rtt, errors.Join(err, noPing)
	}
	steps := []func() error{
		func() (err error) {
			f.Base, _, err = pinged(base)
			return err
		},
		func() (err error) {
			var rtt *hdrhistogram.Histogram
			if f.Row, rtt, err = pinged(r); err == nil {
				f.RTT50, f.RTT99 = load.Ms(rtt, 50), load.Ms(rtt, 99)
			}
			return err
		},
	}
	if baseLast {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return f, fmt.Errorf("row %q at %.0f/s: %w", r.name, rate, err)
		}
	}
	return f, b.alive()
}

// latencies sends a load at a constant rate to a row's gateway, which meanwhile has
// its processor.
func (b *bed) latencies(ctx context.Context, cpus processors, r row, keys int, rate float64, p plan) (l latencies, err error) {
	err = b.awake(r, func(gateway *stack.Envoy) error {
		l, err = b.constant(ctx, gateway, cpus, r, keys, rate, p)
		return err
	})
	return l, err
}

func (b *bed) constant(ctx context.Context, gateway *stack.Envoy, cpus processors, r row, keys int, rate float64, p plan) (_ latencies, err error) {
	pid := gateway.Process().Pid()
	if err := pin(pid, &cpus.gateway); err != nil {
		return latencies{}, err
	}
	defer func() {
		if again := pin(pid, &cpus.rest); err == nil {
			err = again
		}
	}()
	if err := b.ready(ctx, r); err != nil {
		return latencies{}, err
	}
	result, err := load.Run(ctx, load.Options{
		Addrs: []string{address(gateway)}, Rate: rate, Conns: steadyConns,
		Warm: p.Warm / 2, Length: p.Length, Request: callers(address(gateway), keys),
	})
	if err != nil {
		return latencies{}, err
	}
	if result.Failed > 0 {
		return latencies{}, fmt.Errorf("%d of %d requests failed", result.Failed, result.Due)
	}
	if result.Refused > 0 {
		return latencies{}, fmt.Errorf("%d of %d answers weren't 2xx", result.Refused, result.Done)
	}
	return latenciesOf(result, rate, p), nil
}

func latenciesOf(r load.Result, rate float64, p plan) latencies {
	sent := rate * (p.Length + p.Warm/2).Seconds()
	return latencies{
		P50: load.Ms(r.Latency, 50), P90: load.Ms(r.Latency, 90), P99: load.Ms(r.Latency, 99), P999: load.Ms(r.Latency, 99.9),
		Lag: load.Ms(r.Lag, 99), Waited: float64(r.Waited) / float64(r.Due), Lost: float64(r.Lost) / float64(r.Due),
		Sender: float64(r.CPU.Nanoseconds()) / 1e3 / sent,
	}
}

// p99Added is what the row adds to the 99th percentile, ms; not a number when the
// machine couldn't do the rate.
func (f steadyFigures) p99Added() float64 {
	if f.overloaded() {
		return math.NaN()
	}
	return f.Row.P99 - f.Base.P99
}

func (f steadyFigures) overloaded() bool { return f.Row.Lost > 0 || f.Base.Lost > 0 }

// sound is an error for a load of which some wasn't answered.
func sound(r load.Result) error {
	if r.Failed > 0 || r.Lost > 0 {
		return fmt.Errorf("of %d requests %d failed and %d got no answer", r.Due, r.Failed, r.Lost)
	}
	return nil
}

// address is where a gateway listens, host:port.
func address(e *stack.Envoy) string { return strings.TrimPrefix(e.URL(), "http://") }

// callers are requests as those of load.lua: GET / from one of so many callers,
// picked at random. extra are header lines, each with its CRLF.
func callers(host string, keys int, extra ...string) func(int) []byte {
	texts := make([][]byte, keys)
	for i := range texts {
		texts[i] = fmt.Appendf(nil, "GET / HTTP/1.1\r\nHost: %s\r\nx-user-id: user-%05d\r\n%s\r\n", host, i+1, strings.Join(extra, ""))
	}
	rng := rand.New(rand.NewPCG(uint64(keys), 8))
	return func(int) []byte { return texts[rng.IntN(len(texts))] }
}
