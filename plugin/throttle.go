package plugin

import "sluice/internal/host"

// logEveryUS is the least time between two log lines of one kind.
const logEveryUS = 5_000_000

// throttle keeps a fault that hits each request from writing a line each.
type throttle struct {
	last map[string]int64 // by kind of line; a handful
}

// allow reports whether a line of this kind may be written now.
func (t *throttle) allow(now int64, kind string) bool {
	if t.last == nil {
		t.last = make(map[string]int64)
	}
	if at, seen := t.last[kind]; seen && now-at < logEveryUS {
		return false
	}
	t.last[kind] = now
	return true
}

// warn writes why Redis didn't decide.
func (t *throttle) warn(w *worker, r *request) {
	d := &r.decision
	kind := d.Failure.String()
	if !t.allow(w.host.Steady(), kind) {
		return
	}
	w.host.Log(host.Warn, "sluice: Redis didn't decide ("+kind+"): "+d.FailureText+"; requests follow on_error")
}
