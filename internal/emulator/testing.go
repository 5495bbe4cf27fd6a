package emulator

import "fmt"

// TB is what of testing.TB is needed, so that programs can use this package
// without the testing package.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
}

// Start starts a proxy with one worker for a test. The test fails if the module
// doesn't start, if the VM dies and nobody asks for Err, and if the module does
// what Envoy leaves undefined; it then shows what was logged.
func Start(t TB, wasm []byte, c Config) *VM {
	t.Helper()
	m, err := load(wasm, c.Redis != nil)
	if err != nil {
		t.Fatalf("load the module: %v", err)
	}
	vm, err := newProxy(m, c).startWorker(t)
	if vm != nil {
		t.Cleanup(func() { vm.check() })
	}
	if err != nil {
		if vm != nil {
			vm.errSeen = true
			vm.show()
		}
		t.Fatalf("start the module: %v", err)
	}
	return vm
}

// StartWorker is NewWorker for a test.
func (vm *VM) StartWorker() *VM {
	vm.t.Helper()
	w, err := vm.NewWorker()
	if w != nil {
		vm.t.Cleanup(func() { w.check() })
	}
	if err != nil {
		vm.t.Fatalf("start another worker: %v", err)
	}
	return w
}

// check fails the test for what must not have happened, and frees the VM.
func (vm *VM) check() {
	vm.t.Helper()
	bad := false
	if vm.err != nil && !vm.errSeen {
		vm.t.Errorf("%v", vm.err)
		bad = true
	}
	for _, m := range vm.misuse {
		vm.t.Errorf("undefined in Envoy: %s", m)
		bad = true
	}
	if bad {
		vm.show()
	}
	vm.Close()
}

// complain is for mistakes of the test itself.
func (vm *VM) complain(format string, args ...any) {
	if vm.t == nil {
		panic(fmt.Sprintf(format, args...))
	}
	vm.t.Helper()
	vm.t.Errorf(format, args...)
}

func (vm *VM) show() {
	vm.t.Helper()
	for _, l := range vm.logs {
		vm.t.Logf("%s: %s", levelNames[min(l.Level, uint32(len(levelNames)-1))], l.Message)
	}
}

var levelNames = []string{"trace", "debug", "info", "warn", "error", "critical"}
