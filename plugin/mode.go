package plugin

import "sluice/internal/engine"

// modes name how requests are decided, in metrics, filter state and headers.
var modes = [...]string{"redis", "memory", "local", "lease", "degraded", "degraded_exhausted", "override"}

const (
	modeNone = iota - 1
	modeRedis
	modeMemory
	modeLocal
	modeLease
	modeDegraded          // a pool was spent, or Redis's clock stood in for the gateway's
	modeDegradedExhausted // a pool that is spent
	modeOverride          // an operator's block
)

// mode is how a request was decided.
func (w *worker) mode(d *engine.Decision) int {
	switch d.Verdict.Mode {
	case engine.ModeRedis, engine.ModeMemory:
		switch {
		case d.Exhausted():
			return modeDegradedExhausted
		case d.Verdict.Mode == engine.ModeMemory:
			return modeMemory
		case d.Plan.Pools, w.control.skew.degraded:
			return modeDegraded
		}
		return modeRedis
	case engine.ModeLease:
		return modeLease
	case engine.ModeLocal:
		return modeLocal
	case engine.ModeOverride:
		return modeOverride
	}
	return modeNone
}

// modeName is the mode's name.
func modeName(mode int) string {
	if mode == modeNone {
		return "none"
	}
	return modes[mode]
}
