package emulator_test

import (
	"sync"
	"testing"
	"time"

	"sluice/internal/emulator"
)

func TestWorkersShare(t *testing.T) {
	one := start(t, emulator.Config{VMID: "v"})
	two := one.StartWorker()
	do(one, "abi.set_shared,k,v,0 host.define,c,g,h host.count,3")
	do(two, "abi.shared,k host.define,c,g,h host.count,4")
	equal(t, "shared", found(two, "shared"), "0 1 v")
	equal(t, "counter", two.Metric("c"), int64(7))
	equal(t, "seen from the first", one.Metric("c"), int64(7))
	one.SetSharedData("other", []byte("x"))
	equal(t, "SharedData", string(two.SharedData("other")), "x")
	equal(t, "SharedKeys", two.SharedKeys(), []string{"k", "other"})
	two.Advance(time.Second)
	equal(t, "clock", one.Now(), two.Now())
}

// Compare-and-swap loses no update of workers that run at the same time.
func TestCompareAndSwap(t *testing.T) {
	const each = 200
	workers := []*emulator.VM{start(t, emulator.Config{})}
	for range 3 {
		workers = append(workers, workers[0].StartWorker())
	}
	var wg sync.WaitGroup
	for _, vm := range workers {
		wg.Go(func() {
			for range each {
				do(vm, "abi.count,n").Done()
			}
		})
	}
	wg.Wait()
	equal(t, "count", string(workers[0].SharedData("n")), "800")
}

func TestQueueTellsWhoRegistered(t *testing.T) {
	one := start(t, emulator.Config{Plugin: "drain"})
	two := one.StartWorker()
	do(one, "abi.register_queue,q")
	from := len(one.Logs())
	do(two, "abi.resolve_queue,,q abi.enqueue,1,job")
	equal(t, "before pumping", len(callbacks(one, from)), 0)
	equal(t, "pumped by the other", two.Pump(0), 0)
	equal(t, "pumped", one.Pump(0), 1)
	equal(t, "callbacks", callbacks(one, from), []string{"proxy_on_queue_ready 1 1"})
	equal(t, "drained", found(one, "drained"), "0 job")
}

func TestReconfigure(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "first"})
	old := do(vm, "pause")
	from := len(vm.Logs())
	if !vm.Reconfigure("second") {
		t.Fatal("refused")
	}
	equal(t, "roots", vm.RootContexts(), 2)
	fresh := do(vm, "pause")
	old.Cancel()
	equal(t, "roots", vm.RootContexts(), 1)
	equal(t, "callbacks", callbacks(vm, from), []string{
		"proxy_on_context_create 3",
		"proxy_on_configure 3 6",
		"proxy_on_context_create 4 3",
		"proxy_on_request_headers 4 5 1",
		"proxy_on_log 2",
		"proxy_on_done 1",
	})
	if vm.Reconfigure("fail") {
		t.Fatal("accepted")
	}
	equal(t, "roots", vm.RootContexts(), 1)
	if !fresh.Paused() {
		t.Error("the waiting request was touched")
	}
	from = len(vm.Logs())
	do(vm, "")
	equal(t, "callbacks", callbacks(vm, from)[0], "proxy_on_context_create 6 3")
}

// A plugin that isn't ready to go says so later.
func TestPluginDone(t *testing.T) {
	vm := start(t, emulator.Config{Plugin: "slow to go"})
	do(vm, "at-tick,abi.done abi.tick,10").Done()
	vm.Reconfigure("next")
	equal(t, "roots", vm.RootContexts(), 2)
	vm.Advance(10 * time.Millisecond)
	equal(t, "done", found(vm, "done"), "0")
	equal(t, "roots", vm.RootContexts(), 1)
}

func TestShutdown(t *testing.T) {
	vm := start(t, emulator.Config{})
	r := do(vm, "pause")
	vm.Shutdown()
	equal(t, "roots", vm.RootContexts(), 1)
	r.Cancel()
	equal(t, "roots", vm.RootContexts(), 0)
}
