package inspect

import (
	"sluice/internal/limit"
	"sluice/internal/operate"
	"sluice/internal/override"
)

// overridden notes what holds at run time for the counter's requests.
func (u *Usage) overridden(it *item, nowMS int64) {
	if it.override == nil {
		return
	}
	e := &it.override.Entry
	u.Override = e.Spec.String()
	switch e.Kind {
	case override.Block:
		u.Rejected, u.RetryAfterMS = true, max(e.UntilMS-nowMS, 1)
	case override.Unlimited, override.Shadow:
		u.Rejected, u.RetryAfterMS = false, 0
	case override.Pool:
		if it.format.Algorithm != limit.Pool { // nobody asks it now
			u.Rejected, u.RetryAfterMS = false, 0
		}
	}
}

// Overrides are what an operator's list holds, for a report.
func Overrides(f *operate.InForce) []Override {
	var out []Override
	for _, h := range f.Held {
		o := Override{Limit: h.Entry.Name, Override: h.Entry.Spec.String(), UntilMS: h.Entry.UntilMS, LeftMS: h.Entry.UntilMS - f.Now.UnixMilli()}
		if h.Entry.Keyed {
			o.Values = Values(h.Entry.Values)
		}
		if h.Problem != nil {
			o.Problem = h.Problem.Error()
			if h.Entry.Kind == 0 {
				o.Limit, o.Values = h.Field, nil
			}
		}
		out = append(out, o)
	}
	return out
}
