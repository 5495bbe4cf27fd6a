package main

import (
	"fmt"
	"strings"
	"time"
)

// report is all that docs/benchmarks.md says.
type report struct {
	options options
	facts   []fact
	tables  []table
	root    string
	figures map[string][]figures       // by row
	steady  map[string][]steadyFigures // by row
	stalls  *stalls                    // of the machine; nil when they couldn't be measured
	scale   *scaleResult               // nil when it wasn't measured
	soak    *soakResult                // nil when there is none
	ways    []wayResult
	micros  []microResult
	took    time.Duration

	text strings.Builder
}

func (r *report) markdown() string {
	r.text.Reset()
	r.line("# Benchmarks\n")
	r.line("<!-- Written by `%s`: change bench/ instead. -->\n", r.command())
	r.line("Everything below was measured by one command, which takes about %s and ends what it starts:\n", about(r.took))
	r.line("```\n%s\n```\n", r.command())
	r.line("Absolute figures are of this machine. Ratios are of figures measured in the same round, and carry over better.\n")
	for _, f := range r.facts {
		r.line("- %s: %s", f.name, f.value)
	}
	r.line("")
	r.targetSection()
	if len(r.figures) > 0 {
		r.gateways()
	}
	if len(r.steady) > 0 {
		r.steadySection()
	}
	if r.scale != nil {
		r.scaleSection()
	}
	r.soakSection()
	if len(r.ways) > 0 {
		r.comparison()
	}
	if len(r.micros) > 0 {
		r.parts()
	}
	return strings.TrimRight(r.text.String(), "\n") + "\n"
}

// command is what a reader types to get the same report.
func (r *report) command() string {
	if len(r.options.args) == 0 {
		return "make bench"
	}
	return "make build && " + shown(append([]string{"run", "./bench"}, r.options.args...))
}

func (r *report) line(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// table writes a table whose first columns are text, as many as texts says, and
// the others figures.
func (r *report) table(texts int, head []string, rows [][]string) {
	write := func(cells []string) { r.line("| %s |", strings.Join(cells, " | ")) }
	write(head)
	r.line("%s%s|", strings.Repeat("|-", texts), strings.Repeat("|-:", len(head)-texts))
	for _, row := range rows {
		write(row)
	}
	r.line("")
}

func about(d time.Duration) string {
	if d < 90*time.Second {
		return fmt.Sprintf("%.0f seconds", d.Seconds())
	}
	return fmt.Sprintf("%.0f minutes", d.Minutes())
}

// plain is a figure without its spread; "–" when there is none.
func (s spread) plain(format string) string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf(format, s.median)
}

// full is a figure with the least and the most of all rounds.
func (s spread) full(format string) string {
	if s.n < 2 {
		return s.plain(format)
	}
	return fmt.Sprintf(format+" ("+format+"–"+format+")", s.median, s.least, s.most)
}
