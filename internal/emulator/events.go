package emulator

import (
	"sync"
	"time"
)

// events are callbacks that wait for Pump: bytes from bridges, and entries in
// shared queues.
type events struct {
	mu    sync.Mutex
	queue []func()
	wake  chan struct{} // has room for one
}

func (e *events) init() { e.wake = make(chan struct{}, 1) }

func (e *events) post(f func()) {
	e.mu.Lock()
	e.queue = append(e.queue, f)
	e.mu.Unlock()
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *events) take() []func() {
	e.mu.Lock()
	defer e.mu.Unlock()
	q := e.queue
	e.queue = nil
	return q
}

// Pump delivers what has come for this worker: bytes from bridges, queue
// notices, and in real time the timers that are due. If there is nothing it
// waits for something, at most for timeout. It returns how many callbacks it
// made.
func (vm *VM) Pump(timeout time.Duration) int {
	deadline := time.Now().Add(timeout)
	for {
		if n := vm.deliver(); n > 0 {
			return n
		}
		wait := time.Until(deadline)
		if wait <= 0 {
			return 0
		}
		if due, ok := vm.untilDue(); ok {
			wait = min(wait, due)
		}
		timer := time.NewTimer(wait)
		select {
		case <-vm.events.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// PumpUntil pumps until cond holds, at most for timeout, and reports whether it
// does.
func (vm *VM) PumpUntil(timeout time.Duration, cond func() bool) bool {
	deadline := time.Now().Add(timeout)
	for !cond() {
		wait := time.Until(deadline)
		if wait <= 0 {
			return false
		}
		vm.Pump(wait)
	}
	return true
}

// deliver makes what is ready now.
func (vm *VM) deliver() int {
	n := 0
	for _, f := range vm.events.take() {
		f()
		n++
	}
	if !vm.proxy.config.RealTime {
		return n
	}
	var due []func()
	now := vm.proxy.clock()
	vm.eachDue(func(t time.Time, f func()) {
		if !t.After(now) {
			due = append(due, f)
		}
	})
	for _, f := range due {
		f()
		n++
	}
	return n
}

// untilDue is how long until the first timer in real time.
func (vm *VM) untilDue() (wait time.Duration, ok bool) {
	if !vm.proxy.config.RealTime {
		return 0, false
	}
	now := vm.proxy.clock()
	vm.eachDue(func(t time.Time, _ func()) {
		if d := max(t.Sub(now), 0); !ok || d < wait {
			wait, ok = d, true
		}
	})
	return wait, ok
}
