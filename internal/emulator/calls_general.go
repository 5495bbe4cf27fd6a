package emulator

import "strings"

var generalCalls = []hostCall{
	{"proxy_log", "iii", (*VM).log},
	{"proxy_get_log_level", "i", (*VM).getLogLevel},
	{"proxy_get_current_time_nanoseconds", "i", (*VM).getCurrentTime},
	{"proxy_set_tick_period_milliseconds", "i", (*VM).setTickPeriod},
	{"proxy_set_effective_context", "i", (*VM).setEffectiveContext},
	{"proxy_done", "", (*VM).done},
	{"proxy_call_foreign_function", "iiiiii", (*VM).callForeignFunction},
}

// Log is one line that the module logged.
type Log struct {
	Level   uint32 // 0 trace, 1 debug, 2 info, 3 warn, 4 error, 5 critical
	Message string
}

// Logs are all lines so far. What the module writes to standard output comes as
// info, to standard error as error, as in Envoy.
func (vm *VM) Logs() []Log { return vm.logs }

// Logged reports whether a line contains a text.
func (vm *VM) Logged(part string) bool {
	for _, l := range vm.logs {
		if strings.Contains(l.Message, part) {
			return true
		}
	}
	return false
}

func (vm *VM) log(a []uint64) status {
	msg, readable := vm.text(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	if a[0] > 5 {
		vm.misused("proxy_log with level %d, which aborts Envoy", a[0])
	}
	vm.logs = append(vm.logs, Log{uint32(a[0]), msg})
	return ok
}

func (vm *VM) getLogLevel(a []uint64) status {
	return vm.giveWord(vm.proxy.config.LogLevel, a[0])
}

func (vm *VM) getCurrentTime(a []uint64) status {
	if !vm.putLong(a[0], uint64(vm.proxy.clock().UnixNano())) {
		return invalidMemoryAccess
	}
	return ok
}

func (vm *VM) setTickPeriod(a []uint64) status {
	vm.acting().root.tick.set(vm.proxy.clock(), uint32(a[0]))
	return ok
}

func (vm *VM) setEffectiveContext(a []uint64) status {
	id := uint32(a[0])
	if vm.contexts[id] == nil {
		return badArgument
	}
	vm.effective = id
	return ok
}

func (vm *VM) done([]uint64) status {
	root := vm.acting()
	if !root.pendingDone {
		return notFound
	}
	root.pendingDone = false
	vm.defers(func() { vm.deleteRoot(root) })
	return ok
}

func (vm *VM) callForeignFunction(a []uint64) status {
	name, ok1 := vm.text(a[0], a[1])
	arg, ok2 := vm.bytes(a[2], a[3])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	f := vm.proxy.config.Foreign[name]
	if f == nil {
		return notFound
	}
	result, err := f(arg)
	if s := vm.give(result, a[4], a[5]); s != ok {
		return s
	}
	if err != nil {
		return internalFailure
	}
	return ok
}
