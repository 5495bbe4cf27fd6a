package main

import (
	"fmt"
	"math"
)

// comparison writes the tables of the ways of counting.
func (r *report) comparison() {
	r.line("## Ways of counting side by side\n")
	r.line("The plugin's own scripts, called directly over one connection, %d calls at a time, on a Redis of their own. "+
		"A is the exact log: as a sorted set with one member a hit, and in the compact form that is the default. B is the fixed window. C is the token bucket, whose capacity is the limit.\n", pipelined)
	r.summary()

	r.line("### Accuracy\n")
	r.line("A limit of %d a second. Requests come at times of a schedule, the same for each, and the history checker of the tests finds the window of %v with the most admitted requests. "+
		"*Over* is how far that is above the limit. *Admitted* compares their number with that of a log which keeps every request's time to the microsecond.\n", accuracyLimit, accuracyWindow)
	var rows [][]string
	for i, s := range schedules() {
		for _, w := range r.ways {
			a := w.accuracy[i]
			rows = append(rows, []string{s.name, w.way.name, fmt.Sprint(a.worst), percent(a.over), fmt.Sprintf("%+.2f %%", 100*a.ideal)})
		}
	}
	r.table(2, []string{"load", "way", "worst window", "over", "admitted"}, rows)

	r.line("### Speed\n")
	r.line("Limits of a minute, Redis's own clock. CPU is Redis's, a call; commands are those that Redis counts for a call, the one from outside included.\n")
	rows = nil
	for i, g := range regimes {
		for _, w := range r.ways {
			s := w.speed[i]
			rows = append(rows, []string{g.name, w.way.name, fmt.Sprintf("%.0f", s.calls), fmt.Sprintf("%.2f", s.cpu), fmt.Sprintf("%.1f", s.commands)})
		}
	}
	r.table(2, []string{"load", "way", "calls/s", "CPU us", "commands"}, rows)

	r.line("### Memory\n")
	r.line("Bytes of one key by `MEMORY USAGE`, its name included, after so many hits of a limit a minute.\n")
	head := []string{"way"}
	for _, f := range fills {
		head = append(head, f.name)
	}
	r.each(head, func(w wayResult) (cells []string) {
		for _, b := range w.memory {
			cells = append(cells, fmt.Sprint(b))
		}
		return cells
	})

	r.line("### Change at run time\n")
	r.line("900 requests come from second 4 to second 40 of a minute, under a limit of 1000 a minute. Then one of its numbers changes, and at second 42 comes one more request: is it admitted, how many count then, how many remain?\n")
	head = []string{"way"}
	for _, c := range changes {
		head = append(head, c.name)
	}
	r.each(head, func(w wayResult) (cells []string) {
		for _, c := range w.changes {
			verdict := "rejected"
			if c.admitted {
				verdict = "admitted"
			}
			cells = append(cells, fmt.Sprintf("%s, %d count, %d remain", verdict, c.current, c.remaining))
		}
		return cells
	})
}

// The load that the design document plans for: gateways, and requests a second
// at each.
const (
	plannedGateways = 8
	plannedRate     = 5000
)

// summary is the design document's table with measured figures.
func (r *report) summary() {
	var names []string
	rows := [][]string{
		{"most above the limit in any window"}, {"admitted, of what an exact log admits"},
		{fmt.Sprintf("Redis commands/s at %d gateways × %d/s", plannedGateways, plannedRate)}, {"cores of Redis for that"},
		{"bytes of a key after " + fills[len(fills)-1].name}, {"a changed limit holds for the next request"}, {"a change keeps what was counted"},
	}
	for _, w := range r.ways {
		names = append(names, w.way.name)
		over, least, most := 0.0, math.Inf(1), math.Inf(-1)
		for _, a := range w.accuracy {
			over, least, most = max(over, a.over), min(least, a.ideal), max(most, a.ideal)
		}
		at, kept := true, true
		for i, c := range w.changes {
			at = at && c.remaining == max(0, changes[i].limit-c.current)
			kept = kept && c.current > 1
		}
		s := w.speed[0]
		for i, cell := range []string{
			percent(over),
			fmt.Sprintf("%.1f–%.1f %%", 100*(1+least), 100*(1+most)),
			fmt.Sprintf("%.0f", plannedGateways*plannedRate*s.commands),
			fmt.Sprintf("%.2f", plannedGateways*plannedRate*s.cpu/1e6),
			fmt.Sprint(w.memory[len(w.memory)-1]),
			yes(at), yes(kept),
		} {
			rows[i] = append(rows[i], cell)
		}
	}
	r.table(1, append([]string{""}, names...), rows)
}

func percent(part float64) string { return fmt.Sprintf("%.1f %%", 100*part) }

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// each writes a table with a row a way.
func (r *report) each(head []string, cells func(wayResult) []string) {
	var rows [][]string
	for _, w := range r.ways {
		rows = append(rows, append([]string{w.way.name}, cells(w)...))
	}
	r.table(1, head, rows)
}

// parts writes the results of the benchmark functions.
func (r *report) parts() {
	r.line("## Parts by themselves\n")
	r.line("Benchmark functions; `make microbench` runs all there are.\n")
	for _, m := range r.micros {
		r.line("%s: `%s`\n", m.micro.about, m.command)
		var rows [][]string
		for _, l := range m.lines {
			rows = append(rows, []string{l.name, l.ns, l.bytes, l.mallocs})
		}
		r.table(1, []string{"benchmark", "ns", "bytes", "allocations"}, rows)
	}
}
