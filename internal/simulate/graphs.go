package simulate

// Graph is what a plot shows of one window of one limit.
type Graph struct {
	Name, Rate string
	Requests   int64
	From       int64 // of the first step: microseconds since the epoch
	Step       int64 // microseconds
	Lines      []GraphLine
}

// GraphLine is one run's part, a number for each step.
type GraphLine struct {
	Algorithm string
	// Admitted and Rejected are requests a second.
	Admitted, Rejected []float64
	// Held is how many units the trailing window held of the key that had most,
	// and Limit what was allowed.
	Held, Limit []float64
}

// Graphs are the pictures of a report that was made with Series: one for each
// limit that requests met, in the configuration's order.
func (r *Report) Graphs() []Graph {
	var out []Graph
	for i := range r.Runs {
		for j := range r.Runs[i].Limits {
			l := &r.Runs[i].Limits[j]
			if l.Requests == 0 || l.series.scale.n == 0 {
				continue
			}
			at := -1
			for k := range out {
				if out[k].Name == l.Name {
					at = k
				}
			}
			if at < 0 {
				at = len(out)
				out = append(out, Graph{Name: l.Name, Rate: l.Rate, Requests: l.Requests, From: l.series.scale.from, Step: l.series.scale.step})
			}
			out[at].Lines = append(out[at].Lines, l.line())
		}
	}
	return out
}

func (l *LimitReport) line() GraphLine {
	s := &l.series
	g := GraphLine{Algorithm: l.Algorithm}
	held, limit, since := int64(0), int64(0), int64(0)
	for i := range s.scale.n {
		since += s.scale.step
		switch {
		case s.limit[i] > 0: // there was a decision
			held, limit, since = s.held[i], s.limit[i], 0
		case since > l.window*1000:
			held = 0
		}
		seconds := s.scale.seconds(i)
		g.Admitted = append(g.Admitted, float64(s.admitted[i])/seconds)
		g.Rejected = append(g.Rejected, float64(s.rejected[i])/seconds)
		g.Held = append(g.Held, float64(held))
		g.Limit = append(g.Limit, float64(limit))
	}
	for i := len(g.Limit) - 2; i >= 0; i-- { // before the first decision
		if g.Limit[i] == 0 {
			g.Limit[i] = g.Limit[i+1]
		}
	}
	return g
}
