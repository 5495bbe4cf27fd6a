package emulator_test

import (
	"testing"
	"time"

	"sluice/internal/emulator"
)

func TestTicks(t *testing.T) {
	vm := start(t, emulator.Config{})
	vm.Advance(time.Hour)
	equal(t, "period before", vm.TickPeriod(), time.Duration(0))
	do(vm, "abi.tick,100 at-tick,abi.time")
	equal(t, "period", vm.TickPeriod(), 100*time.Millisecond)
	begin := vm.Now()
	ticks := func(d time.Duration) int {
		from := len(vm.Logs())
		vm.Advance(d)
		return len(callbacks(vm, from))
	}
	equal(t, "99 ms", ticks(99*time.Millisecond), 0)
	equal(t, "1 ms", ticks(time.Millisecond), 1)
	equal(t, "1 s", ticks(time.Second), 10)
	// Each tick sees its own time.
	equal(t, "time", found(vm, "time"), "0 "+nanos(begin.Add(1100*time.Millisecond)))
	equal(t, "now", vm.Now(), begin.Add(1100*time.Millisecond))
	// Asking again starts the period anew, which can starve the ticks.
	vm.Advance(60 * time.Millisecond)
	do(vm, "host.tick,100")
	equal(t, "60 ms", ticks(60*time.Millisecond), 0)
	equal(t, "40 ms", ticks(40*time.Millisecond), 1)
	do(vm, "host.tick,0")
	equal(t, "stopped", ticks(time.Hour), 0)
}

func TestClockStarts(t *testing.T) {
	at := time.Date(2031, 2, 3, 4, 5, 6, 7000, time.UTC)
	vm := start(t, emulator.Config{Now: at})
	do(vm, "abi.time")
	equal(t, "time", found(vm, "time"), "0 "+nanos(at))
	vm.Advance(time.Second)
	do(vm, "abi.monotonic")
	equal(t, "monotonic", found(vm, "monotonic"), "0 3601000000000")
}

func nanos(t time.Time) string {
	b := []byte{}
	for n := t.UnixNano(); n > 0; n /= 10 {
		b = append([]byte{byte('0' + n%10)}, b...)
	}
	return string(b)
}
