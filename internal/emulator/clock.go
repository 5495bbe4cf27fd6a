package emulator

import "time"

// ticker is a root context's timer.
type ticker struct {
	period time.Duration
	next   time.Time
}

// set starts the timer anew, also when it runs already; 0 stops it.
func (t *ticker) set(now time.Time, ms uint32) {
	t.period = time.Duration(ms) * time.Millisecond
	t.next = now.Add(t.period)
}

// Now is the proxy's wall clock.
func (vm *VM) Now() time.Time { return vm.proxy.clock() }

// TickPeriod is how often the plugin wants proxy_on_tick now; 0 is never.
func (vm *VM) TickPeriod() time.Duration {
	if vm.root == nil {
		return 0
	}
	return vm.root.tick.period
}

// Tick calls proxy_on_tick on the plugin at once.
func (vm *VM) Tick() {
	if vm.root != nil {
		vm.simple(vm.root, "proxy_on_tick", uint64(vm.root.id))
	}
}

// Advance moves the clock of all workers on, making what falls due on the way
// at its own time: ticks and timeouts of HTTP calls. It must not run while
// another worker is in use.
func (vm *VM) Advance(d time.Duration) {
	p := vm.proxy
	end := p.clock().Add(d)
	for {
		at, run := p.nextDue()
		if run == nil || at.After(end) {
			break
		}
		p.setClock(at)
		run()
	}
	p.setClock(end)
}

// nextDue finds what is due first over all workers.
func (p *proxy) nextDue() (at time.Time, run func()) {
	consider := func(t time.Time, f func()) {
		if run == nil || t.Before(at) {
			at, run = t, f
		}
	}
	for _, vm := range p.snapshot() {
		vm.eachDue(consider)
	}
	return at, run
}

// eachDue reports the VM's own timers.
func (vm *VM) eachDue(consider func(time.Time, func())) {
	if vm.err != nil {
		return
	}
	for _, root := range vm.roots {
		if root.tick.period > 0 {
			consider(root.tick.next, func() { vm.tickDue(root) })
		}
	}
	for _, c := range vm.httpCalls {
		if t, ok := c.due(); ok {
			consider(t, c.timeOut)
		}
	}
}

func (vm *VM) tickDue(root *vmContext) {
	vm.simple(root, "proxy_on_tick", uint64(root.id))
	// Envoy starts the timer again when the callback has returned.
	root.tick.next = vm.proxy.clock().Add(root.tick.period)
}
