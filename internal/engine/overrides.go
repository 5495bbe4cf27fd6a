package engine

import (
	"errors"
	"slices"

	"sluice/internal/call"
	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/override"
	"sluice/internal/source"
	"sluice/lua"
)

// Override is one run-time override, compiled for a policy. It is immutable.
type Override struct {
	Limit *config.Limit
	Entry override.Entry
	// rates take the place of all of the limit's; nil where those stay.
	rates []config.Rate
	// windows are single windows with another number, by the names of what they
	// replace; nil for none.
	windows map[string]*config.Rate
}

// overrides are all that hold: a limit has at most one for all its callers, and
// one for each caller.
type overrides struct {
	limits []*ofLimit // by Limit.Index; nil for none
	count  int
	nextMS int64 // when the first of them ends, by Redis's clock
}

type ofLimit struct {
	all  *Override
	keys map[string]*Override // by the key's values
}

// find returns what holds for a caller; nil for nothing. What is said about the
// caller holds alone.
func (o *ofLimit) find(values []byte) *Override {
	if one := o.keys[string(values)]; one != nil {
		return one
	}
	return o.all
}

// Overridden returns an engine that decides as e does, with the overrides of a
// list (override.Each) that end after nowMS, by Redis's clock. e must have none.
// firstID numbers the new rates: IDs never come again, so that what was
// remembered and what is in flight under other overrides is never taken for the
// same. It returns the next ID; bad hears of each entry that was skipped.
func (e *Engine) Overridden(list string, nowMS int64, firstID int, bad func(field string, err error)) (*Engine, int) {
	rt := e.policy.RunTime(firstID)
	out := &overrides{limits: make([]*ofLimit, len(e.policy.Limits))}
	pools := false
	override.Each(list, func(field string, en override.Entry, err error) {
		if err == nil && en.UntilMS <= nowMS {
			return
		}
		var o *Override
		if err == nil {
			o, err = compileOverride(rt, en)
		}
		if err == nil {
			err = out.add(o)
		}
		if err != nil {
			bad(field, err)
			return
		}
		pools = pools || en.Kind == override.Pool
		out.count++
		if out.nextMS == 0 || en.UntilMS < out.nextMS {
			out.nextMS = en.UntilMS
		}
	})
	if out.count == 0 {
		return e, rt.NextID()
	}
	x := *e
	x.overrides, x.extraFrom, x.extra = out, firstID, make([]encodedRate, rt.NextID()-firstID)
	if pools {
		x.script = lua.Compose(append(slices.Clone(e.names), limit.Pool.Script)...)
		x.call = call.NewScript(x.script.Source, x.script.SHA)
	}
	for _, l := range out.limits {
		if l == nil {
			continue
		}
		x.encodeOverride(l.all)
		for _, o := range l.keys {
			x.encodeOverride(o)
		}
	}
	return &x, rt.NextID()
}

func (e *Engine) encodeOverride(o *Override) {
	if o == nil {
		return
	}
	for i := range o.rates {
		e.extra[o.rates[i].ID-e.extraFrom] = e.encoding(o.Limit, &o.rates[i])
	}
	for _, r := range o.windows {
		e.extra[r.ID-e.extraFrom] = e.encoding(o.Limit, r)
	}
}

// compileOverride finds out what an entry means for the policy.
func compileOverride(rt *config.RunTime, en override.Entry) (*Override, error) {
	l, window := rt.Named(en.Name)
	if l == nil {
		return nil, errors.New("no limit has this name")
	}
	if en.Keyed && en.Values == "" && len(l.Key.Parts()) == 0 {
		en.Keyed = false // the one counter of a limit without a key
	}
	if en.Keyed && len(l.Key.Parts()) == 0 {
		return nil, errors.New("the limit has no key")
	}
	o := &Override{Limit: l, Entry: en}
	var err error
	switch {
	case window != nil:
		if en.Kind != override.Rate || len(en.Rates) != 1 || en.Burst > 0 {
			return nil, errors.New("one window of a limit takes one rate and nothing else")
		}
		var r *config.Rate
		if r, err = rt.Window(l, window, en.Rates[0]); err == nil {
			o.windows = map[string]*config.Rate{window.Name: r}
		}
	case en.Kind == override.Rate:
		o.rates, err = rt.Rates(l, en.Rates, en.Burst)
	case en.Kind == override.Max:
		o.rates, err = rt.Max(l, en.N)
	case en.Kind == override.Pool:
		o.rates, err = rt.Pool(l, en.N, en.UntilMS)
	}
	return o, err
}

// CheckOverride reports why an entry means nothing to a policy, or nil.
func CheckOverride(p *config.Policy, en override.Entry) error {
	_, err := compileOverride(p.RunTime(0), en)
	return err
}

// add puts o where it is found. Overrides of several windows of a limit join;
// one of the whole limit holds alone.
func (out *overrides) add(o *Override) error {
	l := out.limits[o.Limit.Index]
	if l == nil {
		l = &ofLimit{}
		out.limits[o.Limit.Index] = l
	}
	have := l.all
	if o.Entry.Keyed {
		have = l.keys[o.Entry.Values]
	}
	switch {
	case have == nil || have.windows != nil && o.windows == nil:
	case o.windows != nil && have.windows == nil:
		return nil // the whole limit's holds
	case o.windows != nil:
		for name, r := range o.windows {
			have.windows[name] = r
		}
		return nil
	default:
		return errors.New("it is there twice")
	}
	if !o.Entry.Keyed {
		l.all = o
		return nil
	}
	if l.keys == nil {
		l.keys = map[string]*Override{}
	}
	l.keys[o.Entry.Values] = o
	return nil
}

// Overrides says how many overrides hold, and when the first of them ends, in ms
// of Redis's clock; 0 for never.
func (e *Engine) Overrides() (count int, nextMS int64) {
	if e.overrides == nil {
		return 0, 0
	}
	return e.overrides.count, e.overrides.nextMS
}

// OverrideOf says which override holds for a limit that matches a request; nil for
// none. The request's plan follows it.
func (e *Engine) OverrideOf(v *source.View, l *config.Limit) *Override {
	if e.overrides == nil || e.overrides.limits[l.Index] == nil {
		return nil
	}
	values, missing := l.Key.Append(nil, v)
	if missing && l.Missing != config.MissingShare {
		return nil
	}
	return e.OverrideOfKey(l, values)
}

// OverrideOfKey says which override holds for a caller, by the key's values as they
// stand in the counter's name; nil for none.
func (e *Engine) OverrideOfKey(l *config.Limit, values []byte) *Override {
	if e.overrides == nil || e.overrides.limits[l.Index] == nil {
		return nil
	}
	return e.overrides.limits[l.Index].find(values)
}

// Rated reports whether the override's rates take the place of all of its limit's.
func (o *Override) Rated() bool { return o.rates != nil }

// Rates are what holds instead of a limit's rates.
func (o *Override) Rates(own []config.Rate) []config.Rate {
	if o.rates != nil {
		return o.rates
	}
	out := slices.Clone(own)
	for i := range out {
		if r := o.windows[out[i].Name]; r != nil {
			out[i] = *r
		}
	}
	return out
}

// EachOverride calls f for every override.
func (e *Engine) EachOverride(f func(o *Override)) {
	if e.overrides == nil {
		return
	}
	for _, l := range e.overrides.limits {
		if l == nil {
			continue
		}
		if l.all != nil {
			f(l.all)
		}
		for _, o := range l.keys {
			f(o)
		}
	}
}

// EachOverridden calls f for every limit that has overrides, with their number.
func (e *Engine) EachOverridden(f func(limit string, n int)) {
	if e.overrides == nil {
		return
	}
	for i, l := range e.overrides.limits {
		if l == nil {
			continue
		}
		n := len(l.keys)
		if l.all != nil {
			n++
		}
		f(e.policy.Limits[i].Name, n)
	}
}
