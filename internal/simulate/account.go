package simulate

import (
	"math"
	"net/url"
	"slices"
	"strings"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/history"
	"sluice/internal/limit"
)

// account keeps what becomes of the requests.
type account struct {
	prefix  string
	series  seriesScale
	demand  bool // keep each key's requests, for suggestions
	full    bool // their number got too large
	names   *hostNames
	rows    []*row
	byLimit map[rowKey]*row
	guards  map[string]struct{}

	requests, admitted, rejected, missing, unlimited, odd int64
	kept                                                  int64 // requests kept for suggestions
	total                                                 series
	delayMS                                               int64
	delayed                                               int64
}

type rowKey struct {
	limit  *config.Limit
	window int64
}

// row is one window of one limit.
type row struct {
	limit *config.Limit
	rate  *config.Rate
	name  string

	requests, admitted, rejected, elsewhere, shadow, tagged int64
	units, refunded, extra                                  int64
	missing                                                 int64 // requests without a part of the key
	peak                                                    int64 // most that was counted at once
	maxDelayMS                                              int64
	keys                                                    map[string]*keyStat
	fill                                                    [102]int64 // decisions by how full the window then was, %
	retry                                                   logHistogram
	series                                                  series
}

// keyStat is one counter.
type keyStat struct {
	row                                  *row
	key                                  string
	requests, rejected, shadow, admitted int64
	limit                                int64 // the highest that held for it
	run                                  history.Running
	demand                               []demand
}

// maxKept bounds how many requests are kept for suggestions, 16 bytes each.
const maxKept = 64 << 20

// demand is what a request asked for.
type demand struct{ at, cost int64 }

func newAccount(prefix string, scale seriesScale, names *hostNames) *account {
	return &account{
		prefix: prefix, series: scale, names: names,
		byLimit: map[rowKey]*row{}, guards: map[string]struct{}{}, total: scale.make(),
	}
}

// row finds a charge's row.
func (a *account) row(c *engine.Charge) *row {
	rate := c.Rate
	if rate.ID < 0 { // the request's own: there may be any number of them
		rate = &c.Limit.Rates[0]
	}
	k := rowKey{c.Limit, rate.Params.WindowMS}
	r := a.byLimit[k]
	if r == nil {
		r = &row{limit: c.Limit, rate: rate, name: rate.Name, keys: map[string]*keyStat{}, series: a.series.make()}
		for _, other := range a.rows {
			if other.name == r.name {
				r.name += " (" + rate.Text + ")"
				break
			}
		}
		a.byLimit[k] = r
		a.rows = append(a.rows, r)
	}
	return r
}

// stat finds a charge's counter.
func (a *account) stat(p *engine.Plan, i int) *keyStat {
	c := &p.Charges[i]
	r := a.row(c)
	key := p.Key(i)
	s := r.keys[string(key)]
	if s == nil {
		s = &keyStat{row: r, key: string(key)}
		s.run.Length = max(c.Rate.Params.WindowMS, 1) * 1000
		r.keys[s.key] = s
	}
	return s
}

// undecided is a request that needed no decision.
func (a *account) undecided(p *pending) {
	a.requests++
	a.odd += int64(p.dec.Plan.OddCosts)
	if p.dec.Plan.Missing != nil {
		a.missing++
		a.rejected++
		a.total.add(p.at, 0, 1, 0, 0)
		return
	}
	a.unlimited++
	a.admitted++
	a.total.add(p.at, 1, 0, 0, 0)
}

// arrived is a request whose call is about to go out: from here on its keys may
// be in Redis.
func (a *account) arrived(p *pending) {
	a.requests++
	a.odd += int64(p.dec.Plan.OddCosts)
	plan := &p.dec.Plan
	for i := range plan.Charges {
		c := &plan.Charges[i]
		if c.Guards > 0 {
			p.stats = append(p.stats, nil)
			if _, known := a.guards[string(plan.Key(i))]; !known {
				a.guards[string(plan.Key(i))] = struct{}{}
			}
			continue
		}
		s := a.stat(plan, i)
		p.stats = append(p.stats, s)
		s.requests++
		s.row.requests++
		if strings.Contains(s.key, "%-") {
			s.row.missing++
		}
		if a.demand && !a.full {
			s.demand = append(s.demand, demand{p.at, c.Cost})
			a.kept++
			a.full = a.kept == maxKept
		}
	}
}

// again finds the counters of a correction.
func (a *account) again(p *pending) {
	p.stats = p.stats[:0]
	for i := range p.dec.Plan.Charges {
		p.stats = append(p.stats, a.stat(&p.dec.Plan, i))
	}
}

// decided is a decision.
func (a *account) decided(p *pending) {
	v := &p.dec.Verdict
	admitted := v.Outcome == engine.Admitted
	if admitted {
		a.admitted++
		a.total.add(p.at, 1, 0, 0, 0)
	} else {
		a.rejected++
		a.total.add(p.at, 0, 1, 0, 0)
	}
	if v.DelayMS > 0 {
		a.delayed++
		a.delayMS = max(a.delayMS, v.DelayMS)
	}
	charges := p.dec.Plan.Charges
	for i := range charges {
		if s := p.stats[i]; s != nil {
			// A penalty beside the counter speaks for the limit, too.
			own := charges[i].Result.Admitted
			for j := i + 1; j < len(charges) && charges[j].Guards > 0; j++ {
				if charges[j].Guards == i+1 {
					own = own && charges[j].Result.Admitted
				}
			}
			s.decided(p, &charges[i], admitted, own)
		}
	}
}

// decided is one counter's part in a decision; own is whether its limit had
// nothing against the request.
func (s *keyStat) decided(p *pending, c *engine.Charge, admitted, own bool) {
	r := s.row
	lim := c.Rate.Params.Limit
	s.limit = max(s.limit, lim)
	no, yes := int64(0), int64(0)
	switch {
	case c.Op.Votes() && !own:
		s.rejected++
		r.rejected++
		no = 1
		if c.Result.RetryAfterMS >= 0 {
			r.retry.add(c.Result.RetryAfterMS)
		}
	case !c.Op.Votes() && !own:
		s.shadow++
		if no = 1; c.Limit.Tag != nil {
			r.tagged++
		} else {
			r.shadow++
		}
		if admitted {
			r.admitted++
			s.admitted++
		}
	case admitted:
		r.admitted++
		s.admitted++
		yes = 1
	default:
		r.elsewhere++
	}
	if charged := admitted && c.Result.Admitted && c.Cost > 0; charged {
		r.units += c.Cost
		s.run.Add(p.at, c.Cost)
	} else if c.Cost > 0 && !c.Result.Admitted && (c.Op == engine.OpDecideCount || c.Op == engine.OpShadowCount) {
		// Counted, though not admitted: it isn't in the window of what was.
		r.extra += c.Cost
	}
	if yes > 0 && c.Op.Votes() {
		r.maxDelayMS = max(r.maxDelayMS, c.Result.RetryAfterMS)
	}
	r.peak = max(r.peak, c.Result.Current)
	percent := int64(0)
	if room := capacityOf(c); room > 0 {
		percent = min(c.Result.Current*100/room, 101)
	} else if c.Result.Current > 0 {
		percent = 101
	}
	r.fill[percent]++
	held := s.run.Units(p.at)
	if c.Limit.Algorithm.Holds {
		held = c.Result.Current
	}
	r.series.add(p.at, yes, no, held, lim)
}

// settled is a correction that was made.
func (a *account) settled(p *pending) {
	for i := range p.dec.Plan.Charges {
		c := &p.dec.Plan.Charges[i]
		s := p.stats[i]
		if c.Limit.Algorithm.Holds {
			continue
		}
		if c.Op == engine.OpRefund {
			s.row.refunded += c.Cost
			s.row.units -= c.Cost
			s.run.Give(p.admittedAt, c.Cost)
			continue
		}
		s.row.units += c.Cost
		s.row.extra += c.Cost
		s.run.Add(max(p.at, s.run.Last()), c.Cost)
	}
}

// capacityOf is how many units a charge's counter holds.
func capacityOf(c *engine.Charge) int64 {
	if q := c.Limit.Algorithm.Quota; q != nil {
		units, _ := q(&c.Rate.Params)
		return units
	}
	return c.Rate.Params.Limit
}

// keys are all keys that may be in Redis.
func (a *account) keys(yield func(string) bool) {
	for _, r := range a.rows {
		for k := range r.keys {
			if !yield(k) {
				return
			}
		}
	}
	for k := range a.guards {
		if !yield(k) {
			return
		}
	}
}

// shown is a counter's values as a person reads them.
func (a *account) shown(s *keyStat) string {
	_, values, _ := strings.Cut(s.key, "|")
	values, _, tagless := strings.Cut(values, "}:")
	if !tagless { // the limit has a hash_tag
		values = values[:max(strings.LastIndexByte(values, ':'), 0)]
	}
	if s.row.limit.Key == nil {
		return "all requests"
	}
	parts := strings.Split(values, "|")
	for i, p := range parts {
		alt := ""
		if rest, ok := strings.CutPrefix(p, "%+"); ok && rest != "" {
			p = rest[1:] // not the first of the alternatives
		}
		switch {
		case p == "%-":
			p = "(missing)"
		case strings.HasPrefix(p, "%~"):
			p = "(hash " + p[2:] + ")"
		default:
			if u, err := url.PathUnescape(p); err == nil {
				p = u
			}
			if n := a.names.name(p); n != "" {
				p = n
			}
		}
		parts[i] = alt + printable(p)
	}
	return strings.Join(parts, ", ")
}

// printable is a text without what could disturb a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == 0xfffd || r >= 0x200b && r <= 0x200f || r >= 0x2028 && r <= 0x202e || r >= 0x2060 && r <= 0x206f || r == 0xfeff {
			return '·'
		}
		return r
	}, s)
}

// sorted are the rows in the configuration's order.
func (a *account) sorted() []*row {
	rows := slices.Clone(a.rows)
	slices.SortStableFunc(rows, func(x, y *row) int {
		if x.limit.Index != y.limit.Index {
			return x.limit.Index - y.limit.Index
		}
		return int(min(max(x.rate.Params.WindowMS-y.rate.Params.WindowMS, -1), 1))
	})
	return rows
}

// exact reports whether a row's algorithm promises that no window holds more
// than the limit, and nothing but admissions counts in it.
func (r *row) exact() bool { return r.limit.Algorithm.Name == limit.SlidingLog.Name }

// logHistogram counts times; what it says of them is right to 2.5 %, and of the largest exact.
type logHistogram struct {
	counts map[int]int64
	n      int64
	max    int64
}

const histogramStep = 0.05

func (h *logHistogram) add(ms int64) {
	if h.counts == nil {
		h.counts = map[int]int64{}
	}
	bin := -1
	if ms > 0 {
		bin = int(math.Round(math.Log(float64(ms)) / histogramStep))
	}
	h.counts[bin]++
	h.max = max(h.max, ms)
	h.n++
}

// quantile is the time that so much of all is not above.
func (h *logHistogram) quantile(q float64) int64 {
	bins := make([]int, 0, len(h.counts))
	for b := range h.counts {
		bins = append(bins, b)
	}
	slices.Sort(bins)
	rank := int64(math.Ceil(q * float64(h.n)))
	for _, b := range bins {
		if rank -= h.counts[b]; rank <= 0 {
			if b < 0 {
				return 0
			}
			return min(int64(math.Round(math.Exp(float64(b)*histogramStep))), h.max)
		}
	}
	return 0
}
