package inspect

import (
	"strings"

	"sluice/internal/config"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/key"
	"sluice/internal/limit"
	"sluice/internal/source"
	"sluice/internal/stored"
)

// rates finds the limit and the rate behind a key.
type rates struct {
	policy   *config.Policy
	engine   *engine.Engine           // with the overrides at run time; nil for none
	counters map[string]*config.Limit // by config.Rate.Counter
}

func newRates(p *config.Policy, e *engine.Engine) *rates {
	r := &rates{policy: p, engine: e, counters: map[string]*config.Limit{}}
	if p != nil {
		p.EachRate(func(l *config.Limit, rate *config.Rate) { r.counters[rate.Counter()] = l })
	}
	if e != nil {
		e.EachOverride(func(o *engine.Override) {
			for _, rate := range o.Rates(nil) {
				r.counters[rate.Counter()] = o.Limit
			}
		})
	}
	return r
}

// override is what holds at run time for the requests of a counter; nil for
// nothing.
func (r *rates) override(l *config.Limit, n stored.Name) *engine.Override {
	if r.engine == nil {
		return nil
	}
	return r.engine.OverrideOfKey(l, []byte(n.Values))
}

// find returns the limit of a counter, its algorithm (the limit's, or the
// penalty), and the numbers that hold for the key; nil where the configuration
// has no such counter.
func (r *rates) find(n stored.Name) (l *config.Limit, rate *config.Rate, params *limit.Params) {
	l = r.counters[n.Counter]
	if l == nil {
		return nil, nil, nil
	}
	rate = r.rate(l, n)
	if rate == nil {
		return nil, nil, nil
	}
	switch {
	case n.Suffix == limit.Pool.Suffix:
		if rate.Pool {
			return l, rate, &rate.Params
		}
	case n.Suffix == l.Algorithm.Suffix && !rate.Pool:
		if _, shard := config.CutShard(n.Values); shard >= 0 && shard < len(rate.Shards) {
			return l, rate, &rate.Shards[shard]
		}
		return l, rate, &rate.Params
	case n.Suffix == limit.Penalty.Suffix && l.PenaltyUS > 0:
		return l, rate, &limit.Params{Limit: 1, WindowMS: l.PenaltyUS / 1000}
	}
	// A pool that is over, or a penalty that isn't configured any more.
	return l, nil, nil
}

// rate is the rate of the counter for the key's requests: overrides are looked
// up as far as the key tells what these are like.
func (r *rates) rate(l *config.Limit, n stored.Name) *config.Rate {
	var v source.View
	if req := r.request(l, n.Values); req != nil {
		v.Reset(req, &r.policy.Source)
		own := l.Variant(&v).Rates
		if o := r.override(l, n); o != nil {
			// A pool leaves the limit's own counters as they are.
			if list := o.Rates(own); len(list) > 0 && (!list[0].Pool || n.Suffix == limit.Pool.Suffix) {
				own = list
			}
		}
		for i := range own {
			if own[i].Counter() == n.Counter {
				return &own[i]
			}
		}
	}
	return r.plain(n.Counter)
}

// plain is the configuration's rate of a counter; nil for none.
func (r *rates) plain(counter string) (found *config.Rate) {
	r.policy.EachRate(func(_ *config.Limit, rate *config.Rate) {
		if found == nil && rate.Counter() == counter {
			found = rate
		}
	})
	return found
}

// configured is that rate's text, "" for none.
func (r *rates) configured(counter string) string {
	if rate := r.plain(counter); rate != nil {
		return rate.Text
	}
	return ""
}

// request is what a key's values tell of the requests behind it.
func (r *rates) request(l *config.Limit, values string) *explain.Request {
	req, err := explain.NewRequest("GET", "/")
	if err != nil {
		return nil
	}
	parts := l.Key.Parts()
	values, _ = config.CutShard(values)
	escaped := strings.Split(values, "|")
	if len(parts) != len(escaped) {
		return req
	}
	for i, p := range parts {
		which, text := 0, escaped[i]
		if strings.HasPrefix(text, "%+") && len(text) > 3 {
			which, text = int(text[2]-'a'), text[3:]
		}
		if which < 0 || which >= len(p) || text == "%-" || strings.HasPrefix(text, "%~") || strings.HasPrefix(text, "%=") {
			continue
		}
		req.Set(p[which], Unescape(text))
	}
	return req
}

// maxForms bounds in how many ways a key with alternatives is looked for.
const maxForms = 64

// keys are the names that the counters of a limit can have for a key as a person
// writes it: a value for each of its parts, (missing) for an absent one.
func (r *rates) keys(l *config.Limit, given []string) []string {
	forms := []string{""}
	if r.policy.HashKeys {
		forms = []string{r.hashed(l, given)}
	} else {
		for i, part := range given {
			var next []string
			for _, f := range forms {
				if i > 0 {
					f += "|"
				}
				for _, form := range r.forms(l, i, part) {
					if len(next) < maxForms {
						next = append(next, f+form)
					}
				}
			}
			forms = next
		}
	}
	var out []string
	seen := map[string]bool{}
	r.policy.EachRate(func(o *config.Limit, rate *config.Rate) {
		if o != l {
			return
		}
		for _, f := range forms {
			for i := range max(len(rate.Shards), 1) {
				name := []byte(rate.KeyHead + f + rate.KeyTail)
				if rate.Shards != nil {
					rate.SetShard(name, i)
				}
				if k := string(name); !seen[k] {
					seen[k] = true
					out = append(out, k)
				}
			}
			if l.PenaltyUS > 0 {
				k := rate.KeyHead + f + "}:" + limit.Penalty.Suffix
				if !seen[k] {
					seen[k] = true
					out = append(out, k)
				}
			}
		}
	})
	return out
}

// forms are the ways in which one part can stand in a key: from its first
// source, or from an alternative.
func (r *rates) forms(l *config.Limit, i int, part string) []string {
	if part == absent {
		return []string{"%-"}
	}
	plain := string(key.AppendValue(nil, part))
	out := []string{plain}
	if parts := l.Key.Parts(); i < len(parts) {
		for j := 1; j < len(parts[i]); j++ {
			out = append(out, "%+"+string(rune('a'+j))+plain)
		}
	}
	return out
}

// hashed is a key whose values are replaced by keyed hashes.
func (r *rates) hashed(l *config.Limit, given []string) string {
	req, err := explain.NewRequest("GET", "/")
	if err != nil {
		return ""
	}
	for i, p := range l.Key.Parts() {
		if i < len(given) && given[i] != absent {
			req.Set(p[0], given[i])
		}
	}
	var v source.View
	v.Reset(req, &r.policy.Source)
	b, _ := l.Key.Append(nil, &v)
	return string(b)
}
