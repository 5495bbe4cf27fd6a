package config

import (
	"sluice/internal/source"
)

// Match calls f for each limit that applies to a request, in the order of the
// text, until f returns false.
func (p *Policy) Match(v *source.View, f func(l *Limit) bool) {
	if p.exempt(v) {
		return
	}
	hits := p.Index.Append(v.Hits[:0], v)
	v.Hits = hits // searches in f and below use the room behind them
	n := 0
	for _, i := range hits {
		l := p.Limits[i]
		if l.exceptIndex != nil && l.exceptIndex.First(v) >= 0 {
			continue
		}
		if l.Group != "" && p.hasGroup(hits[:n], l.Group) {
			continue
		}
		hits[n] = i
		n++
	}
	for _, i := range hits[:n] {
		if !f(p.Limits[i]) {
			return
		}
	}
}

// exempt reports whether no limit applies to a request.
func (p *Policy) exempt(v *source.View) bool {
	if !p.CountPreflights && isPreflight(v) {
		return true
	}
	return p.exceptIndex != nil && p.exceptIndex.First(v) >= 0
}

func (p *Policy) hasGroup(limits []int, group string) bool {
	for _, i := range limits {
		if p.Limits[i].Group == group {
			return true
		}
	}
	return false
}

// isPreflight reports whether a browser asks for permission to send a request,
// on its own and without credentials.
func isPreflight(v *source.View) bool {
	if v.Method() != "OPTIONS" {
		return false
	}
	if _, ok := v.Header("origin"); !ok {
		return false
	}
	_, ok := v.Header("access-control-request-method")
	return ok
}

// Why returns why a limit doesn't apply to a request, "" when it does.
func (p *Policy) Why(v *source.View, l *Limit) string {
	if !p.CountPreflights && isPreflight(v) {
		return "it is a CORS preflight"
	}
	if p.exceptIndex != nil {
		if i := p.exceptIndex.First(v); i >= 0 {
			return "except: " + p.Except[i].String()
		}
	}
	if c := l.Match.Failing(v); c != nil {
		return c.String()
	}
	if l.exceptIndex != nil {
		if i := l.exceptIndex.First(v); i >= 0 {
			return "except: " + l.Except[i].String()
		}
	}
	if l.Group != "" {
		applies, before := false, ""
		p.Match(v, func(m *Limit) bool {
			if m.Group == l.Group {
				applies, before = m == l, m.Name
				return false
			}
			return true
		})
		if !applies {
			return "group " + l.Group + ": " + before + " comes first"
		}
	}
	return ""
}
