package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"

	"sluice/internal/stack"
)

// target is a bound that the project sets itself.
type target struct {
	what   string
	must   float64 // 0 for none
	goal   float64 // 0 for none
	least  bool    // the bounds are the least and not the most
	format string  // of figures
	// figure is what was measured: a spread without rounds when that wasn't.
	figure func(*report) spread
}

// holds says whether a figure keeps a bound.
func (t target) holds(v, bound float64) bool {
	if t.least {
		return v >= bound
	}
	return v <= bound
}

func (t target) verdict(s spread, bound float64) string {
	switch {
	case bound == 0:
		return "–"
	case s.n == 0:
		return t.bound(bound) + ": not measured"
	case t.holds(s.median, bound):
		return t.bound(bound) + ": met"
	default:
		return t.bound(bound) + ": **not met**"
	}
}

func (t target) bound(v float64) string {
	sign := "≤ "
	if t.least {
		sign = "≥ "
	}
	return sign + fmt.Sprintf(t.format, v)
}

// single is a figure that there is one of.
func single(v float64) spread { return spread{v, v, v, 1} }

// quotient divides a figure of a row by another row's in the same round.
func quotient(a, b string, pick func(figures) float64) func(*report) spread {
	return func(r *report) spread {
		return against(r.figures[a], r.figures[b], func(x, y figures) float64 { return pick(x) / pick(y) })
	}
}

// addedOver divides what row a adds to its base by what row b adds to its own.
func addedOver(a, aBase, b, bBase string) func(*report) spread {
	return func(r *report) spread {
		fa, fab, fb, fbb := r.figures[a], r.figures[aBase], r.figures[b], r.figures[bBase]
		var list []float64
		for i := range min(len(fa), len(fab), len(fb), len(fbb)) {
			if whole := fb[i].cpu() - fbb[i].cpu(); whole > 0 {
				list = append(list, (fa[i].cpu()-fab[i].cpu())/whole)
			}
		}
		return spreadOf(list)
	}
}

// above is what row a costs more than row b, us.
func above(a, b string) func(*report) spread {
	return func(r *report) spread {
		return against(r.figures[a], r.figures[b], func(x, y figures) float64 { return x.cpu() - y.cpu() })
	}
}

func rps(f figures) float64 { return f.RPS }

// ofScale is a figure of the gateways with one limit.
func ofScale(pick func(*scaleResult) float64) func(*report) spread {
	return func(r *report) spread {
		if r.scale == nil {
			return spread{}
		}
		if v := pick(r.scale); !math.IsNaN(v) {
			return single(v)
		}
		return spread{}
	}
}

// ofSteadyScale is the same for the constant rate: nothing when the machine
// couldn't do it.
func ofSteadyScale(pick func(exactScale) float64) func(*report) spread {
	return ofScale(func(s *scaleResult) float64 {
		if s.Steady.Load.Lost > 0 {
			return math.NaN()
		}
		return pick(s.Steady)
	})
}

// ofSoak is by how much a figure rises in a soak, as a part of its size.
func ofSoak(pick func(soakSample) float64) func(*report) spread {
	return func(r *report) spread {
		if r.soak == nil {
			return spread{}
		}
		rise, middle := r.soak.trend(pick)
		return single(100 * rise / middle)
	}
}

// targets are all of them.
var targets = []target{
	{what: "added CPU of one exact limit over 10,000 keys ÷ the rate-limit service's", must: 0.25, goal: 0.20, format: "%.2f",
		figure: addedOver(rowOne, rowNone, rowService, rowNone)},
	{what: "the same of a hand-written wasm filter that only sets what sluice does", format: "%.2f",
		figure: addedOver(rowCalls, rowNone, rowService, rowNone)},
	{what: "the same for one hot key", goal: 0.15, format: "%.2f",
		figure: addedOver(rowHotOn, rowHotNone, rowHotService, rowHotNone)},
	{what: "throughput ÷ the rate-limit service's", must: 1.7, goal: 2, least: true, format: "%.2f", figure: quotient(rowOne, rowService, rps)},
	{what: "throughput ÷ without a filter", must: 0.60, goal: 0.65, least: true, format: "%.2f", figure: quotient(rowOne, rowNone, rps)},
	{what: "added CPU of three limits ÷ of one", must: 1.3, format: "%.2f", figure: addedOver(rowThree, rowNone, rowOne, rowNone)},
	{what: "one hot key, 64 connections: script calls a request", must: 0.05, format: "%.3f",
		figure: func(r *report) spread {
			return over(r.figures[rowHotOn], func(f figures) float64 { return f.Scripts })
		}},
	{what: "added CPU with batching ÷ without", must: 0.65, format: "%.2f", figure: addedOver(rowHotOn, rowHotNone, rowHotOff, rowHotNone)},
	{what: "rejections a second from memory ÷ local_ratelimit's", must: 0.55, goal: 0.65, least: true, format: "%.2f", figure: quotient(rowMemory429, rowLocal429, rps)},
	{what: "the same of a hand-written wasm filter that only says 429", format: "%.2f", figure: quotient(rowHand429, rowLocal429, rps)},
	{what: "rejections a second from memory ÷ the same module's fixed 429", must: 0.90, least: true, format: "%.2f", figure: quotient(rowMemory429, rowFixed429, rps)},
	{what: "CPU of a request that no limit matches above a Go module that does nothing, us", must: 4, format: "%.1f", figure: above(rowNoMatch, rowGoNoop)},
	{what: "the same above no filter, us", goal: 14, format: "%.1f", figure: above(rowNoMatch, rowNone)},
	{what: "p99 added at half of capacity ÷ (1.5 round trips of a PING + 0.5 ms)", must: 1, format: "%.2f",
		figure: func(r *report) spread {
			return over(r.steady[rowOne], func(f steadyFigures) float64 { return f.p99Added() / (1.5*f.RTT50 + 0.5) })
		}},
	{what: "size of the module, MB", must: 4.5, goal: 3.5, format: "%.2f", figure: func(r *report) spread {
		info, err := os.Stat(filepath.Join(r.root, stack.ModulePath))
		if err != nil {
			return spread{}
		}
		return single(float64(info.Size()) / 1e6)
	}},
	{what: "memory of a gateway with one worker above that without a filter, under load, MB", must: 110, goal: 90, format: "%.0f",
		figure: func(r *report) spread {
			return against(r.figures[rowOne], r.figures[rowNone], func(a, b figures) float64 { return a.RSS - b.RSS })
		}},
	{what: "8 gateways, one limit of 5000/s: p99 at a constant rate, ms", must: 5, format: "%.2f", figure: ofSteadyScale(func(s exactScale) float64 { return s.Load.P99 })},
	{what: "… the same load on as many gateways as processors: p99, ms", must: 5, format: "%.2f", figure: ofScale(func(s *scaleResult) float64 {
		if s.Few.Load.Lost > 0 {
			return math.NaN()
		}
		return s.Few.Load.P99
	})},
	{what: "… p99 with wrk, as fast as it goes, ms", must: 5, format: "%.2f", figure: ofScale(func(s *scaleResult) float64 { return s.Full.P99 })},
	{what: "… admitted at a constant rate, off the limit by, %", must: 5, format: "%.2f", figure: ofSteadyScale(func(s exactScale) float64 { return offBy(s.Admitted) })},
	{what: "… admitted with wrk, paced, off the limit by, %", must: 5, format: "%.2f", figure: ofScale(func(s *scaleResult) float64 { return offBy(s.Paced.Admitted) })},
	{what: "… error of the fullest second, %", must: 0.1, format: "%.2f", figure: ofSteadyScale(func(s exactScale) float64 { return 100 * s.accuracyError() })},
	{what: "… Redis commands a second at 8 × 5000/s, from those a request with wrk", must: 40_000, format: "%.0f", figure: ofScale(func(s *scaleResult) float64 { return s.Full.Commands * plannedGateways * plannedRate })},
	{what: fmt.Sprintf("ab -n %d -c %d at a limit of %d: admitted more or fewer", abRequests, abConcurrency, abLimit), must: 0.5, format: "%.1f",
		figure: ofScale(func(s *scaleResult) float64 { return max(float64(s.Ab.wrong()), -float64(s.Ab.wrong())) })},
	{what: "soak: Envoy's memory rises by, %", must: 3, format: "%.2f", figure: ofSoak(envoyMB)},
	{what: "soak: Redis's memory rises by, %", must: 3, format: "%.2f", figure: ofSoak(redisMB)},
	{what: "soak: p99 rises by, %", must: 25, format: "%.1f", figure: ofSoak(p99ms)},
}

// offBy is how far a rate is from the limit, %.
func offBy(rate float64) float64 {
	return 100 * max(rate/scaleLimit-1, 1-rate/scaleLimit)
}

// wrong is how many more than the limit were admitted.
func (a abResult) wrong() int { return a.Requests - a.Refused - abLimit }

// targetSection writes the table of targets.
func (r *report) targetSection() {
	if len(r.figures) == 0 {
		return
	}
	r.line("## Targets\n")
	r.line("What the project asks of itself, beside what this run measured: medians, with the least and the most of the rounds. " +
		"*Must* is held, or the measurement that shows what bounds it is named; *goal* is what is worked towards. The verdicts are computed. " +
		"`make size` has the memory of further workers and the time to load.\n")
	var rows [][]string
	for _, t := range targets {
		s := t.figure(r)
		rows = append(rows, []string{t.what, s.full(t.format), t.verdict(s, t.must), t.verdict(s, t.goal)})
	}
	r.table(1, []string{"what", "measured", "must", "goal"}, rows)
}
