package config

import (
	"errors"
	"maps"
	"slices"
	"strconv"

	"sluice/internal/limit"
)

// RunTime makes what takes the place of limits' rates at run time. It is for the
// time of reading a list of overrides; what it makes is not changed any more.
type RunTime struct {
	policy *Policy
	names  map[string]named  // of limits and of their windows
	owners map[string]*Limit // by counter; nil until needed
	nextID int
}

type named struct {
	limit  *Limit
	window *Rate // nil for the whole limit
}

// RunTime returns a RunTime whose rates have IDs from firstID on.
func (p *Policy) RunTime(firstID int) *RunTime {
	r := &RunTime{policy: p, names: make(map[string]named, len(p.Limits)), nextID: firstID}
	for _, l := range p.Limits {
		for i := range l.Rates {
			if name := l.Rates[i].Name; name != l.Name {
				r.names[name] = named{l, &l.Rates[i]}
			}
		}
	}
	for _, l := range p.Limits { // a limit's own name comes first
		r.names[l.Name] = named{limit: l}
	}
	return r
}

// Named finds the limit that a name means, and, where the name is that of one of
// its windows (per-ip-1h), the rate with that window; nil, nil for none.
func (r *RunTime) Named(name string) (*Limit, *Rate) {
	n := r.names[name]
	return n.limit, n.window
}

// Names lists the names that Named knows.
func (r *RunTime) Names() []string { return slices.Sorted(maps.Keys(r.names)) }

// NextID is the ID of the next rate.
func (r *RunTime) NextID() int { return r.nextID }

// id takes the next ID.
func (r *RunTime) id() int {
	r.nextID++
	return r.nextID - 1
}

// owner is the limit that has a counter of that name; nil for none.
func (r *RunTime) owner(counter string) *Limit {
	if r.owners == nil {
		r.owners = make(map[string]*Limit, len(r.policy.Limits))
		for _, l := range r.policy.Limits {
			r.owners[l.Name] = l
			l.eachRate(func(rate *Rate) { r.owners[rate.counter] = l })
		}
	}
	return r.owners[counter]
}

// Rates makes rates out of their texts that take the place of the limit's
// own, as an override's rate does: the limit's other numbers stay, a window that
// it has keeps its counter, any other has its own. burst replaces the limit's
// unless it is 0.
func (r *RunTime) Rates(l *Limit, texts []string, burst int64) ([]Rate, error) {
	if takes(l.Algorithm, optionMax) {
		return nil, errors.New("a " + l.Algorithm.Name + " limit takes max, not rate")
	}
	if burst > 0 && !takes(l.Algorithm, optionBurst) {
		return nil, errors.New(l.Algorithm.Name + " takes no burst")
	}
	list := make([]Rate, 0, len(texts))
	for _, text := range texts {
		rate, message := parseRate(text)
		if message == "" {
			message = rate.fit(l.Algorithm)
		}
		if message != "" {
			return nil, errors.New(message)
		}
		for i := range list {
			if list[i].Params.WindowMS == rate.Params.WindowMS {
				return nil, errors.New("two rates have one window")
			}
		}
		own := rate.Params
		rate.Params = l.Rates[0].Params
		rate.Params.Limit, rate.Params.WindowMS = own.Limit, own.WindowMS
		if burst > 0 {
			rate.Params.Burst = burst
		}
		if c := rate.Params.Calendar; c != nil {
			rate.Params.Calendar = &limit.Calendar{Unit: own.Calendar.Unit, Zone: c.Zone, DayStarts: c.DayStarts, WeekStarts: c.WeekStarts}
		}
		rate.Name = l.Name
		if len(texts) > 1 {
			rate.Name += "-" + windowText(&rate)
		}
		r.policy.naming(l).place(&rate)
		if rate.counter != l.Name {
			if other := r.owner(rate.counter); other != nil && other != l {
				return nil, errors.New("its counter would be " + rate.counter + ", which is that of limit " + other.Name)
			}
		}
		if err := l.Algorithm.Check(&rate.Params); err != nil {
			return nil, err
		}
		if message := rate.heat(l); message != "" {
			return nil, errors.New(message)
		}
		list = append(list, rate)
	}
	for i := range list {
		list[i].ID = r.id()
	}
	return list, nil
}

// Window makes the rate that takes the place of one window of a limit: another
// number in the same window.
func (r *RunTime) Window(l *Limit, window *Rate, text string) (*Rate, error) {
	rate, message := parseRate(text)
	if message != "" {
		return nil, errors.New(message)
	}
	if rate.Params.WindowMS != window.Params.WindowMS {
		return nil, errors.New("the window of " + window.Name + " can't be changed: name the limit to change its windows")
	}
	own := *window
	own.Text, own.Params.Limit = text, rate.Params.Limit
	if err := l.Algorithm.Check(&own.Params); err != nil {
		return nil, err
	}
	if message := own.heat(l); message != "" {
		return nil, errors.New(message)
	}
	own.ID = r.id()
	return &own, nil
}

// Max makes what takes the place of a concurrency limit's max.
func (r *RunTime) Max(l *Limit, n int64) ([]Rate, error) {
	if !takes(l.Algorithm, optionMax) {
		return nil, errors.New("a " + l.Algorithm.Name + " limit takes rate, not max")
	}
	rate := l.Rates[0]
	rate.Params.Limit, rate.Text = n, "max "+strconv.FormatInt(n, 10)
	if err := l.Algorithm.Check(&rate.Params); err != nil {
		return nil, err
	}
	rate.ID = r.id()
	return []Rate{rate}, nil
}

// Pool makes the pool that takes the place of the limit's counters until
// untilMS, ms since the epoch.
func (r *RunTime) Pool(l *Limit, units, untilMS int64) ([]Rate, error) {
	if l.Algorithm.Holds {
		return nil, errors.New("a " + l.Algorithm.Name + " limit has no pool: its units come back")
	}
	rate := Rate{Name: l.Name, Text: "pool", Pool: true, Params: limit.Params{Limit: units, UntilMS: untilMS}}
	if err := limit.Pool.Check(&rate.Params); err != nil {
		return nil, err
	}
	n := r.policy.naming(l)
	n.suffix, n.window, n.sharded = limit.Pool.Suffix, 0, false
	n.place(&rate)
	rate.ID = r.id()
	return []Rate{rate}, nil
}

// naming is how the limit's counters are named.
func (p *Policy) naming(l *Limit) naming {
	n := naming{prefix: p.Redis.Prefix, suffix: l.Algorithm.Suffix, limit: l.Name, tagged: l.HashTag != nil, sharded: l.sharded()}
	if len(l.Rates) == 1 {
		n.window = l.Rates[0].Params.WindowMS
	}
	return n
}

// CheckRate reports why a text is no rate of any limit, or nil.
func CheckRate(text string) error {
	if _, message := parseRate(text); message != "" {
		return errors.New(message)
	}
	return nil
}

// ParseDurationMS reads a duration as a configuration writes it, such as 15min or
// 7d, and returns milliseconds.
func ParseDurationMS(text string) (int64, error) {
	ms, message := parseDuration(text, false)
	if message != "" {
		return 0, errors.New(message)
	}
	return ms, nil
}

// EachCounter calls f with what stands for the limit in the name of each of its
// counters: its own name, and names of windows.
func (l *Limit) EachCounter(f func(name string)) {
	f(l.Name)
	l.eachRate(func(r *Rate) {
		if r.counter != l.Name {
			f(r.counter)
		}
	})
}

// Suggest is the name among candidates that was probably meant, or "".
func Suggest(name string, candidates []string) string { return nearest(name, candidates) }
