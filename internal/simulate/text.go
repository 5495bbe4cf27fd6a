package simulate

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// Text writes a report for people.
func (r *Report) Text(out io.Writer) error {
	w := &writer{out: out}
	w.line("%s, decided by %s", r.Config, r.By)
	r.input(w)
	for i := range r.Runs {
		r.Runs[i].text(w)
	}
	if len(r.NotFed) > 0 {
		w.line("\nnot simulated, since the input lacks what they need:")
		for _, u := range r.NotFed {
			w.line("  %s: %s", u.Limit, strings.Join(u.Lacks, ", "))
		}
	}
	if len(r.Notes) > 0 {
		w.line("\nnotes:")
		for _, n := range r.Notes {
			w.line("  %s", n)
		}
	}
	return w.err
}

type writer struct {
	out io.Writer
	err error
}

func (w *writer) line(format string, args ...any) {
	if w.err == nil {
		_, w.err = fmt.Fprintf(w.out, format+"\n", args...)
	}
}

// table writes rows whose cells are separated by tabs; numbers stand right.
func (w *writer) table(rows []string) {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		fmt.Fprintln(t, r+"\t")
	}
	if err := t.Flush(); err != nil && w.err == nil {
		w.err = err
	}
	for line := range strings.Lines(b.String()) {
		w.line("%s", strings.TrimRight(line, " \n"))
	}
}

func (r *Report) input(w *writer) {
	span := time.Duration(r.To-r.From+1) * time.Microsecond
	if l := r.Log; l != nil {
		w.line("%s (%s): %s lines, %s read, %s skipped, %s out of order", strings.Join(l.Files, ", "), l.Format,
			thousands(l.Lines), thousands(l.Read), thousands(l.Skipped), thousands(l.OutOfOrder))
		w.line("from %s to %s, %s", clock(r.From), clock(r.To), short(span))
		for _, p := range l.Problems {
			what := "skipped"
			if !p.Skipped {
				what = "kept"
			}
			w.line("  %s %s: %s; the first in line %d: %s", thousands(p.Count), what, p.Reason, p.Line, p.Example)
		}
		return
	}
	w.line("load %s for %s", strings.Join(r.Load, " and "), short(span))
}

func (r *RunReport) text(w *writer) {
	w.line("")
	if r.Algorithm != "" {
		w.line("with %s:", r.Algorithm)
	}
	w.line("%s requests: %s admitted, %s rejected (%s)", thousands(r.Requests), thousands(r.Admitted), thousands(r.Rejected), percent(r.Rejected, r.Requests))
	if r.Unlimited > 0 {
		w.line("%s met no limit", thousands(r.Unlimited))
	}
	if r.MissingKey > 0 {
		w.line("%s refused because a part of a key is missing", thousands(r.MissingKey))
	}
	if r.OddCosts > 0 {
		w.line("%s costs are no whole numbers and count 1", thousands(r.OddCosts))
	}
	if r.Delayed > 0 {
		w.line("%s held by a queue, for at most %s", thousands(r.Delayed), short(time.Duration(r.MaxDelayMS)*time.Millisecond))
	}
	rows := []string{"limit\trate\talgorithm\trequests\tadmitted\trejected\tby others\tshadow\tkeys\tkeys rejected\tfill p50\tp99\tmax"}
	for i := range r.Limits {
		l := &r.Limits[i]
		if l.Requests == 0 {
			rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t0", l.Name, l.Rate, l.Algorithm))
			continue
		}
		rows = append(rows, strings.Join([]string{
			l.Name, l.Rate, l.Algorithm, thousands(l.Requests), thousands(l.Admitted), thousands(l.Rejected), thousands(l.Elsewhere),
			thousands(l.Shadow + l.Tagged), thousands(int64(l.Keys)), thousands(int64(l.KeysRejected)),
			fill(l.FillPercent.P50), fill(l.FillPercent.P99), fill(l.FillPercent.Max),
		}, "\t"))
	}
	w.table(rows)
	for i := range r.Limits {
		r.Limits[i].text(w)
	}
	for i := range r.Suggestions {
		r.Suggestions[i].text(w)
	}
}

func (l *LimitReport) text(w *writer) {
	if l.Requests == 0 {
		return
	}
	w.line("\n%s", l.Name)
	if v := l.Worst; v != nil {
		verdict := ""
		switch {
		case v.Exact && v.Held:
			verdict = ": never above, in any window"
		case v.Exact:
			verdict = ": ABOVE, which this algorithm never allows"
		case v.Units > v.Limit:
			verdict = fmt.Sprintf(": %.2f times the limit", float64(v.Units)/float64(max(v.Limit, 1)))
		}
		admitted := "admitted"
		if l.Shadow+l.Tagged > 0 {
			admitted = "would be admitted"
		}
		w.line("  worst window (%s) of all keys: %s of %s %s, from %s to %s, key %s%s", short(time.Duration(l.window)*time.Millisecond),
			thousands(v.Units), thousands(v.Limit), admitted, clock(v.From), clock(v.To), v.Key, verdict)
	}
	if l.Algorithm == "concurrency" {
		w.line("  most in flight for one key: %s", thousands(l.Peak))
	}
	if l.MaxDelayMS > 0 {
		w.line("  held requests for at most %s", short(time.Duration(l.MaxDelayMS)*time.Millisecond))
	}
	if q := l.RetryAfterMS; q != nil {
		ms := func(n int64) string { return short(time.Duration(n) * time.Millisecond) }
		w.line("  told to wait: p50 %s, p90 %s, p99 %s, max %s", ms(q.P50), ms(q.P90), ms(q.P99), ms(q.Max))
	}
	if l.Refunded > 0 {
		w.line("  %s units refunded", thousands(l.Refunded))
	}
	if l.Missing > 0 {
		w.line("  %s requests lack a part of the key and share a counter", thousands(l.Missing))
	}
	if len(l.Top) > 0 {
		w.line("  most rejected:")
		rows := make([]string, 0, len(l.Top))
		for _, k := range l.Top {
			rows = append(rows, fmt.Sprintf("    %s\t%s of %s (%s)", k.Key, thousands(k.Rejected), thousands(k.Requests), percent(k.Rejected, k.Requests)))
		}
		var b strings.Builder
		t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, strings.Join(rows, "\n"))
		if err := t.Flush(); err != nil && w.err == nil {
			w.err = err
		}
		w.line("%s", strings.TrimRight(b.String(), "\n"))
	}
}

func (s *Suggestion) text(w *writer) {
	of := fmt.Sprintf("the busiest windows of %s keys", thousands(int64(s.Keys)))
	if s.Of == "requests" {
		of = "the windows before each request of its one counter"
	}
	w.line("\nrates for %s (now %s), by %s, judged alone:", s.Limit, s.Rate, of)
	rows := []string{"  by\trate\tkeys rejected\trequests rejected"}
	for _, t := range s.Rates {
		rows = append(rows, fmt.Sprintf("  %s\t%s\t%s (%s)\t%s (%s)", t.Basis, t.Rate,
			thousands(int64(t.KeysRejected)), percent(int64(t.KeysRejected), int64(s.Keys)), thousands(t.RequestsRejected), percent(t.RequestsRejected, t.Requests)))
	}
	w.table(rows)
}

func fill(p int64) string {
	if p > 100 {
		return ">100%"
	}
	return strconv.FormatInt(p, 10) + "%"
}

func percent(n, of int64) string {
	if of == 0 {
		return "0%"
	}
	p := float64(n) * 100 / float64(of)
	switch {
	case n > 0 && p < 0.01:
		return "<0.01%"
	case p < 1 && n > 0:
		return strconv.FormatFloat(p, 'f', 2, 64) + "%"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + "%"
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// clock is a point of time, in UTC.
func clock(us int64) string {
	t := time.UnixMicro(us).UTC()
	if us%1_000_000 == 0 {
		return t.Format("2006-01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05.000")
}

// short is a duration with about three digits.
func short(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.FormatFloat(d.Hours()/24, 'f', 1, 64) + " days"
	case d >= time.Hour:
		d = d.Round(time.Minute)
		return strings.TrimSuffix(d.String(), "0s")
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(10 * time.Microsecond)
	}
	return d.String()
}
