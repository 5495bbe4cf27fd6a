package simulate

import (
	"cmp"
	"slices"

	"sluice/internal/accesslog"
	"sluice/internal/config"
	"sluice/internal/history"
)

// Report is what a simulation found out. Times are microseconds since the epoch.
type Report struct {
	Config string     `json:"config"`
	By     string     `json:"decided_by"`
	Load   []string   `json:"load,omitempty"`
	Log    *LogReport `json:"log,omitempty"`
	From   int64      `json:"from_us"`
	To     int64      `json:"to_us"`
	// NotFed are the limits that were left out: the input can't say what they
	// need.
	NotFed []Unfed     `json:"not_fed"`
	Notes  []string    `json:"notes"`
	Runs   []RunReport `json:"runs"` // one for each algorithm compared, else one
}

// LogReport says how a log was read.
type LogReport struct {
	Files      []string            `json:"files"`
	Format     string              `json:"format"`
	Lines      int64               `json:"lines"`
	Read       int64               `json:"read"`
	Skipped    int64               `json:"skipped"`
	OutOfOrder int64               `json:"out_of_order"`
	Problems   []accesslog.Problem `json:"problems"`
}

// RunReport is the outcome of one run.
type RunReport struct {
	Algorithm string `json:"algorithm,omitempty"` // instead of the limits' own
	Requests  int64  `json:"requests"`
	Admitted  int64  `json:"admitted"`
	Rejected  int64  `json:"rejected"`
	// MissingKey requests are refused because a part of a key is absent.
	MissingKey int64 `json:"missing_key"`
	// Unlimited requests met no limit.
	Unlimited   int64         `json:"unlimited"`
	OddCosts    int64         `json:"odd_costs"`
	Delayed     int64         `json:"delayed"`
	MaxDelayMS  int64         `json:"max_delay_ms"`
	Limits      []LimitReport `json:"limits"`
	Suggestions []Suggestion  `json:"suggestions,omitempty"`

	total series
}

// LimitReport is one window of one limit.
type LimitReport struct {
	Limit     string `json:"limit"`
	Name      string `json:"name"` // the limit's, with its window where it has several
	Rate      string `json:"rate"`
	Algorithm string `json:"algorithm"`
	Requests  int64  `json:"requests"` // that met it
	Admitted  int64  `json:"admitted"`
	Rejected  int64  `json:"rejected"`  // by it
	Elsewhere int64  `json:"elsewhere"` // it had room, and another limit rejected them
	Shadow    int64  `json:"shadow_rejected"`
	Tagged    int64  `json:"tagged"`
	Units     int64  `json:"units"` // charged in the end
	Refunded  int64  `json:"refunded"`
	Missing   int64  `json:"missing_key_part"` // requests without a part of its key
	Peak      int64  `json:"peak"`             // the most that one key's counter held
	// MaxDelayMS is how long a queue held a request.
	MaxDelayMS   int64 `json:"max_delay_ms"`
	Keys         int   `json:"keys"`
	KeysRejected int   `json:"keys_rejected"`
	// FillPercent says how full the counter was at its decisions, RetryAfterMS
	// how long the rejected were told to wait; absent with none.
	FillPercent  Quantiles   `json:"fill_percent"`
	RetryAfterMS *Quantiles  `json:"retry_after_ms,omitempty"`
	Worst        *Worst      `json:"worst_window,omitempty"`
	Top          []KeyReport `json:"top"`

	series series
	window int64 // ms
}

// Quantiles of a number.
type Quantiles struct {
	P50 int64 `json:"p50"`
	P90 int64 `json:"p90"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

// Worst is the trailing window that admitted the most beyond, or the nearest to,
// its key's limit.
type Worst struct {
	Key   string `json:"key"`
	Units int64  `json:"units"`
	Limit int64  `json:"limit"`
	From  int64  `json:"from_us"`
	To    int64  `json:"to_us"`
	// Exact algorithms promise never to go above Limit; Held says that none did.
	Exact bool `json:"exact"`
	Held  bool `json:"held"`
}

// KeyReport is one key of a limit.
type KeyReport struct {
	Key      string `json:"key"`
	Requests int64  `json:"requests"`
	Admitted int64  `json:"admitted"`
	Rejected int64  `json:"rejected"` // or would be, by a shadow
}

// report sums up.
func (a *account) report(p *config.Policy, top int) RunReport {
	r := RunReport{
		Requests: a.requests, Admitted: a.admitted, Rejected: a.rejected, MissingKey: a.missing, Unlimited: a.unlimited,
		OddCosts: a.odd, Delayed: a.delayed, MaxDelayMS: a.delayMS, total: a.total, Limits: []LimitReport{},
	}
	rows := a.sorted()
	for _, l := range p.Limits {
		if !slices.ContainsFunc(rows, func(r *row) bool { return r.limit == l }) {
			for i := range l.Rates {
				r.Limits = append(r.Limits, LimitReport{
					Limit: l.Name, Name: l.Rates[i].Name, Rate: l.Rates[i].Text, Algorithm: l.Algorithm.Name, Top: []KeyReport{},
				})
			}
			continue
		}
		for _, row := range rows {
			if row.limit == l {
				r.Limits = append(r.Limits, a.limit(row, top))
			}
		}
	}
	return r
}

func (a *account) limit(r *row, top int) LimitReport {
	out := LimitReport{
		Limit: r.limit.Name, Name: r.name, Rate: r.rate.Text, Algorithm: r.limit.Algorithm.Name,
		Requests: r.requests, Admitted: r.admitted, Rejected: r.rejected, Elsewhere: r.elsewhere,
		Shadow: r.shadow, Tagged: r.tagged, Units: r.units, Refunded: r.refunded, Missing: r.missing, Peak: r.peak,
		Keys: len(r.keys), FillPercent: r.fillQuantiles(), Top: []KeyReport{}, series: r.series, window: r.rate.Params.WindowMS,
	}
	if r.rate.Params.WaitMS > 0 {
		out.MaxDelayMS = r.maxDelayMS
	}
	if r.retry.n > 0 {
		out.RetryAfterMS = &Quantiles{r.retry.quantile(.5), r.retry.quantile(.9), r.retry.quantile(.99), r.retry.max}
	}
	var worst *keyStat
	var window history.Window
	held := true
	var listed []*keyStat
	for _, k := range r.keys {
		if k.rejected+k.shadow > 0 {
			out.KeysRejected++
			listed = append(listed, k)
		}
		w := k.run.Worst()
		held = held && w.Units <= k.limit
		if worst == nil || worse(w, k, window, worst) {
			worst, window = k, w
		}
	}
	if worst != nil && window.Units > 0 && !r.limit.Algorithm.Holds {
		out.Worst = &Worst{
			Key: a.shown(worst), Units: window.Units, Limit: worst.limit, From: window.From, To: window.To,
			// What is charged after the answer may go beyond.
			Exact: r.exact() && r.limit.Settle == nil && !r.limit.Cost.BodyBytes, Held: held,
		}
	}
	slices.SortFunc(listed, func(x, y *keyStat) int {
		return cmp.Or(cmp.Compare(y.rejected+y.shadow, x.rejected+x.shadow), cmp.Compare(y.requests, x.requests), cmp.Compare(x.key, y.key))
	})
	for _, k := range listed[:min(len(listed), top)] {
		out.Top = append(out.Top, KeyReport{a.shown(k), k.requests, k.admitted, k.rejected + k.shadow})
	}
	return out
}

// worse reports whether a window is further above its limit, or nearer to it.
func worse(w history.Window, k *keyStat, than history.Window, of *keyStat) bool {
	x, y := w.Units-k.limit, than.Units-of.limit
	return cmp.Or(cmp.Compare(x, y), cmp.Compare(w.Units, than.Units), cmp.Compare(of.key, k.key)) > 0
}

func (r *row) fillQuantiles() Quantiles {
	total := int64(0)
	for _, n := range r.fill {
		total += n
	}
	at := func(q float64) int64 {
		rank := max(int64(q*float64(total)+0.999999), 1)
		for percent, n := range r.fill {
			if rank -= n; rank <= 0 {
				return int64(percent)
			}
		}
		return 0
	}
	if total == 0 {
		return Quantiles{}
	}
	return Quantiles{at(.5), at(.9), at(.99), at(1)}
}
