package plugin

import (
	"runtime"

	"sluice/internal/host"
)

// recoverIn is deferred by every callback: a panic is counted and logged, and
// settle, when given, answers the request that it hit. What can't be recovered
// (memory, stack) ends the VM.
func (w *worker) recoverIn(callback string, settle func()) {
	v := recover()
	if v == nil {
		return
	}
	w.metrics.panics.add(1)
	if w.logs.allow(w.host.Steady(), "panic") {
		w.host.Log(host.Error, "sluice: panic in "+callback+": "+panicText(v))
		w.host.Log(host.Error, stack())
	}
	if settle == nil {
		return
	}
	defer func() {
		if recover() != nil {
			w.host.Log(host.Error, "sluice: a second panic in "+callback)
		}
	}()
	settle()
}

// maxStack is how much of a stack is logged, bytes: more would be cut by most that
// keep logs.
const maxStack = 8 << 10

func stack() string {
	b := make([]byte, maxStack)
	return string(b[:runtime.Stack(b, false)])
}

// panicText prints what was thrown without the machinery of fmt.
func panicText(v any) string {
	switch x := v.(type) {
	case error:
		return x.Error()
	case string:
		return x
	}
	return "a value that is no error"
}
