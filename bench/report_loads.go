package main

import (
	"fmt"
	"math"
	"slices"
)

// steadySection writes the latencies at constant rate.
func (r *report) steadySection() {
	r.line("## Latency at half of capacity\n")
	r.line("Requests are sent at a constant rate, half of what the row was able to do above, whether or not earlier ones were answered, over %d connections; "+
		"a request's latency counts from when it was due (open loop, so that nothing is left out that waits behind a slow answer). "+
		"*Added* is above the table's base row at the same rate, right before or after. Each is the median of the rounds of %v, with the least and the most.\n", steadyConns, r.options.steady.Length)
	r.line("The gateway that is measured has one of the machine's processors to itself; everything else, Redis and the load generator (`bench/load`) too, shares the others, if there are any, where Redis and the application get their turn at once (`SCHED_FIFO`), as they would on machines of their own. The generator takes %s us of CPU a request. *Sent late* is its own doing: how late at the 99th percentile it sent a request for which a connection was free. "+
		"Where that is above %.1f ms, the row's figures say more about the generator, and are marked with †. ‡ is a row of which some requests got no answer: the machine, busy with other things, couldn't do the rate just then.\n",
		over(r.allSteady(), func(f steadyFigures) float64 { return f.Row.Sender }).full("%.1f"), lateMS)
	r.aboutPing()
	r.aboutStalls()
	var rows [][]string
	for _, t := range r.tables {
		for _, row := range t.rows {
			f := r.steady[row.name]
			if len(f) == 0 {
				continue
			}
			get := func(pick func(steadyFigures) float64) spread { return over(f, pick) }
			lag := get(func(f steadyFigures) float64 { return max(f.Row.Lag, f.Base.Lag) })
			name := row.name
			if lag.median > lateMS {
				name += " †"
			}
			if slices.ContainsFunc(f, steadyFigures.overloaded) {
				name += " ‡"
			}
			rows = append(rows, []string{
				name,
				get(func(f steadyFigures) float64 { return f.Rate }).plain("%.0f"),
				get(func(f steadyFigures) float64 { return f.Row.P50 - f.Base.P50 }).full("%.2f"),
				get(func(f steadyFigures) float64 { return f.Row.P90 - f.Base.P90 }).full("%.2f"),
				get(func(f steadyFigures) float64 { return f.Row.P99 - f.Base.P99 }).full("%.2f"),
				get(func(f steadyFigures) float64 { return f.Row.P999 - f.Base.P999 }).full("%.2f"),
				get(func(f steadyFigures) float64 { return f.Row.P99 }).plain("%.2f"),
				get(func(f steadyFigures) float64 { return f.Base.P99 }).plain("%.2f"),
				get(func(f steadyFigures) float64 { return f.RTT50 }).plain("%.2f"),
				get(func(f steadyFigures) float64 { return f.RTT99 }).plain("%.2f"),
				lag.plain("%.2f"),
			})
		}
	}
	r.table(1, []string{"row", "req/s", "added p50 ms", "added p90 ms", "added p99 ms", "added p99.9 ms", "p99 ms", "base p99 ms", "PING p50 ms", "PING p99 ms", "sent late ms"}, rows)
	r.picture(pictureLatency)
}

// aboutPing says what a round trip of a PING is, by which a target is measured.
func (r *report) aboutPing() {
	where := "from the gateway's processor, as the gateway's calls are: each processor wakes the other one on the way. " +
		"The thread has the class `SCHED_FIFO` as well, so that it never waits for the gateway's turn to end"
	if slices.ContainsFunc(r.allSteady(), func(f steadyFigures) bool { return !f.Apart }) {
		where = "from any processor that isn't the gateway's alone, since the machine has only one or doesn't grant this program `SCHED_FIFO`, without which the thread would wait there for the gateway's turn to end. " +
			"The calls of a gateway with a processor to itself take longer than that, so that the target that is measured by a PING is harder than it is meant"
	}
	r.line("A PING is a round trip to Redis meanwhile, every %v, by a thread that does nothing else, over a connection of its own: one system call that sends it, one that waits for the answer. It is sent %s. The base row is measured with PINGs too.\n", pingEvery, where)
}

// aboutStalls says what the machine itself has to do with latencies.
func (r *report) aboutStalls() {
	if r.stalls == nil {
		r.line("What else is in the highest percentiles, because the machine's host or its kernel stop a processor now and then, wasn't measured: that needs `SCHED_FIFO`.\n")
		return
	}
	r.line("What else is in the highest percentiles: for %v right afterwards a thread of the highest scheduling class on each processor, all kept busy, slept a millisecond at a time. By how much later these threads woke, the machine's host or its kernel stopped one of the processors for %.1f %% of the time, up to %.1f ms in one go; less than half of a millisecond doesn't count. "+
		"Every request that is due meanwhile waits for such a pause, and for the queue that it leaves, which is longer the busier the gateway is.\n", stallsFor, r.stalls.Percent, r.stalls.Longest)
}

func (r *report) allSteady() []steadyFigures {
	var list []steadyFigures
	for _, t := range r.tables {
		for _, row := range t.rows {
			list = append(list, r.steady[row.name]...)
		}
	}
	return list
}

// scaleSection writes what gateways with one limit did.
func (r *report) scaleSection() {
	s := r.scale
	r.line("## Eight gateways, one limit\n")
	r.line("%d gateways, each an Envoy with one worker, share one `sliding_log` of %d requests a second, in one Redis. All of them, Redis, the application and the load run on this machine's cores: "+
		"8 × 5000 requests a second is more than those can do, so that what was offered is told, and Redis's commands at that rate are computed from those that a request took.\n", scaleGateways, scaleLimit)
	wrk := func(name string, w wrkScale) []string {
		return []string{name, fmt.Sprintf("%.0f", w.Offered), fmt.Sprintf("%.0f", w.Admitted), fmt.Sprintf("%.2f", w.P99),
			fmt.Sprintf("%.0f", w.Ops), fmt.Sprintf("%.3f", w.Commands), fmt.Sprintf("%.2f", w.Redis), fmt.Sprintf("%.2f", w.Gateways)}
	}
	r.table(1, []string{"load", "offered/s", "admitted/s", "p99 ms", "Redis commands/s", "commands a request", "Redis cores", "gateways cores"}, [][]string{
		wrk("wrk, as fast as it goes", s.Full),
		wrk("wrk, paced", s.Paced),
	})
	r.line("Eight times `wrk -t1 -c%d -s bench/wrk/one-limit.lua URL -- 0`, and with `-c%d` and a pause of %d ms, at once; p99 is the worst gateway's. wrk stops at no second's edge, so that a burst more or less is in what it counts as admitted.\n", scaleConns, pacedConns, scalePause)
	r.line("At a constant %.0f requests a second, where Redis and the application get their turn at once (`SCHED_FIFO`), with the time of Redis's clock at which each admission was decided. "+
		"%d gateways take turns on this machine's processors; the second row is the same load on as many gateways as it has.\n", s.Steady.Offered, scaleGateways)
	var rows [][]string
	for _, e := range []exactScale{s.Steady, s.Few} {
		rows = append(rows, []string{
			fmt.Sprint(e.Gateways), fmt.Sprintf("%.0f", e.Admitted), fmt.Sprint(e.Worst), fmt.Sprintf("%.2f %%", 100*e.accuracyError()),
			fmt.Sprintf("%.2f", e.Load.P50), fmt.Sprintf("%.2f", e.Load.P99), fmt.Sprintf("%.2f", e.Load.P999),
			fmt.Sprintf("%.2f", e.RTT50), fmt.Sprintf("%.2f", e.RTT99), fmt.Sprintf("%.2f", e.Load.Lag),
		})
	}
	r.table(1, []string{"gateways", "admitted/s", "most in any second", "error", "p50 ms", "p99 ms", "p99.9 ms", "PING p50 ms", "PING p99 ms", "sent late ms"}, rows)
	for _, e := range []exactScale{s.Steady, s.Few} {
		if e.Load.Lost > 0 {
			r.line("**With %d gateways the machine couldn't do this rate: %.1f %% got no answer in time. Those figures show nothing.**\n", e.Gateways, 100*e.Load.Lost)
		}
	}
	r.line("`ab -n %d -c %d` against a limit of %d an hour: %d admitted, %d rejected, %d failed.\n", abRequests, abConcurrency, abLimit, s.Ab.Requests-s.Ab.Refused, s.Ab.Refused, s.Ab.Failed)
}

// soakSection writes what came of a long load.
func (r *report) soakSection() {
	r.line("## Over a long time\n")
	s := r.soak
	if s == nil {
		r.line("`make soak` keeps a gateway under load for 30 minutes, by a million callers one after the other, and says how memory and latency move; `make soak SOAK=2m` is a short one. The tests have one of 20 seconds.\n")
		return
	}
	r.line("`%s`, %s: one gateway for %.0f s at %.0f requests a second, %d in all, by %d callers one after the other, each with a counter of its own whose window is %.0f s. "+
		"The first 30 %% of the time, in which counters and caches fill, are left out. *Rises* is a line fitted through the %d samples of the rest. The tests have a soak of 20 seconds.\n",
		s.Command, s.Date, s.Seconds, s.Rate, s.Requests, s.Keys, s.WindowS, len(s.steadyPart()))
	var rows [][]string
	for _, f := range []struct {
		name string
		pick func(soakSample) float64
	}{{"memory of Envoy, MB", envoyMB}, {"memory of Redis, MB", redisMB}, {"p99, ms", p99ms}} {
		rise, middle := s.trend(f.pick)
		least, most := math.Inf(1), math.Inf(-1)
		for _, v := range s.steadyPart() {
			least, most = min(least, f.pick(v)), max(most, f.pick(v))
		}
		rows = append(rows, []string{f.name, fmt.Sprintf("%.2f", middle), fmt.Sprintf("%.2f", least), fmt.Sprintf("%.2f", most), fmt.Sprintf("%+.2f (%+.1f %%)", rise, 100*rise/middle)})
	}
	r.table(1, []string{"", "mean", "least", "most", "rises"}, rows)
}
