package simulate

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"sluice/internal/history"
	"sluice/internal/limit"
)

// Suggestion is what other numbers would do to the same requests, judged by this
// limit alone.
type Suggestion struct {
	Limit string `json:"limit"`
	Rate  string `json:"rate"` // as it is
	Keys  int    `json:"keys"`
	// Of says of what the percentiles are: "keys", each by its busiest window, or
	// "requests", each by the window that it ends, where there is one counter.
	Of    string  `json:"percentiles_of"`
	Rates []Tried `json:"rates"`
}

// Tried is a rate and what it would do.
type Tried struct {
	Basis            string `json:"basis"` // p99, max, now
	Rate             string `json:"rate"`
	KeysRejected     int    `json:"keys_rejected"`
	Requests         int64  `json:"requests"`
	RequestsRejected int64  `json:"requests_rejected"`
}

// percentiles by which rates are suggested.
var percentiles = []struct {
	name string
	q    float64
}{{"p90", .90}, {"p99", .99}, {"p99.9", .999}, {"max", 1}}

// suggest finds rates for every limit that has one.
func (a *account) suggest(ctx context.Context) ([]Suggestion, error) {
	var out []Suggestion
	for _, r := range a.sorted() {
		alg := r.limit.Algorithm
		if alg.Holds || r.rate.Params.Calendar != nil {
			continue
		}
		keys := make([]*keyStat, 0, len(r.keys))
		for _, k := range r.keys {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(x, y *keyStat) int { return strings.Compare(x.key, y.key) })
		s := Suggestion{Limit: r.name, Rate: r.rate.Text, Keys: len(keys), Of: "keys"}
		var peaks []int64
		peakOf := map[*keyStat]int64{}
		for _, k := range keys {
			run := history.Running{Length: k.run.Length}
			for _, d := range k.demand {
				run.Add(d.at, d.cost)
				if len(keys) == 1 {
					peaks = append(peaks, run.Units(d.at))
				}
			}
			peakOf[k] = run.Worst().Units
			if len(keys) > 1 {
				peaks = append(peaks, peakOf[k])
			}
		}
		if len(keys) == 1 {
			s.Of = "requests"
		}
		if len(peaks) == 0 {
			continue
		}
		slices.Sort(peaks)
		tried := map[int64]int{} // where the number is among Rates
		try := func(basis string, n int64) error {
			if n < 1 {
				return nil
			}
			if i, again := tried[n]; again {
				s.Rates[i].Basis += ", " + basis
				return nil
			}
			tried[n] = len(s.Rates)
			t, err := r.try(ctx, keys, peakOf, n)
			t.Basis = basis
			s.Rates = append(s.Rates, t)
			return err
		}
		for _, p := range percentiles {
			rank := int(math.Ceil(p.q*float64(len(peaks)))) - 1
			if err := try(p.name, peaks[max(rank, 0)]); err != nil {
				return nil, err
			}
		}
		if err := try("now", r.rate.Params.Limit); err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// try judges the requests by the limit's model with another number.
func (r *row) try(ctx context.Context, keys []*keyStat, peaks map[*keyStat]int64, n int64) (Tried, error) {
	p := r.rate.Params
	if p.Burst > 0 && p.Limit > 0 { // the burst grows along
		p.Burst = max(int64(math.Round(float64(p.Burst)*float64(n)/float64(p.Limit))), 1)
	}
	p.Limit = n
	_, window, _ := strings.Cut(r.rate.Text, "/")
	t := Tried{Rate: strconv.FormatInt(n, 10) + "/" + strings.TrimSpace(window)}
	alg := r.limit.Algorithm
	if err := alg.Check(&p); err != nil {
		return t, nil //nolint:nilerr // a number that the algorithm can't count with isn't worth a report
	}
	// These admit whatever stays within n in every window.
	safe := p.Burst == 0 && p.WaitMS == 0 && alg != limit.SlidingCounter
	for i, k := range keys {
		if i&255 == 0 && ctx.Err() != nil {
			return t, ctx.Err()
		}
		t.Requests += int64(len(k.demand))
		if safe && peaks[k] <= n {
			continue
		}
		m := alg.New(p)
		rejected := int64(0)
		for _, d := range k.demand {
			if !limit.Decide(m, d.at, d.cost).Admitted {
				rejected++
			}
		}
		if rejected > 0 {
			t.KeysRejected++
			t.RequestsRejected += rejected
		}
	}
	return t, nil
}
