package emulator

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// hostCall is one function that the host offers. Its arguments are words, but
// for one 64-bit number in two of them.
type hostCall struct {
	name string
	// params has a letter an argument: i for 32 bits, l for 64.
	params string
	run    func(vm *VM, a []uint64) status
}

// numHostCalls is the length of hostCalls; the first is no call, so that index 0
// means unknown.
const numHostCalls = 42

var hostCalls [numHostCalls]hostCall

// hostCallIndex finds a call by name. It is filled before init functions run.
var hostCallIndex = func() map[string]int {
	index := map[string]int{}
	next := 1
	for _, group := range [][]hostCall{
		headerCalls, bufferCalls, streamCalls, calloutCalls, sharedCalls, metricCalls, generalCalls, redisCalls,
	} {
		for _, c := range group {
			hostCalls[next] = c
			index[c.name] = next
			next++
		}
	}
	if next != numHostCalls {
		panic(fmt.Sprintf("numHostCalls is %d, should be %d", numHostCalls, next))
	}
	return index
}()

// instantiateHostCalls makes the module env. Which VM a call comes from is in
// the context of the call into that VM.
func instantiateHostCalls(ctx context.Context, r wazero.Runtime) error {
	b := r.NewHostModuleBuilder("env")
	for i := 1; i < numHostCalls; i++ {
		c := &hostCalls[i]
		params := make([]api.ValueType, len(c.params))
		for j, p := range c.params {
			params[j] = api.ValueTypeI32
			if p == 'l' {
				params[j] = api.ValueTypeI64
			}
		}
		f := api.GoModuleFunc(func(ctx context.Context, _ api.Module, stack []uint64) {
			stack[0] = uint64(ctx.Value(vmKey{}).(*VM).hostCall(i, stack))
		})
		b.NewFunctionBuilder().
			WithGoModuleFunction(f, params, []api.ValueType{api.ValueTypeI32}).
			Export(c.name)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func (vm *VM) hostCall(i int, a []uint64) status {
	c := &hostCalls[i]
	for j := range c.params {
		if c.params[j] == 'i' {
			a[j] = uint64(uint32(a[j])) // the upper half is anything
		}
	}
	vm.calls[i]++
	if vm.restricted && c.name != "proxy_log" {
		// Envoy allows little while a module starts or hands out memory.
		panic(fmt.Errorf("%s is not allowed here", c.name))
	}
	if acting := vm.acting(); acting != nil {
		acting.calls[i]++
	}
	return c.run(vm, a)
}

// Memory. Addresses and lengths come as they are in a.

// bytes copies memory of the module.
func (vm *VM) bytes(ptr, n uint64) ([]byte, bool) {
	view, ok := vm.memory.Read(uint32(ptr), uint32(n))
	if !ok {
		return nil, false
	}
	return append([]byte(nil), view...), true
}

func (vm *VM) text(ptr, n uint64) (string, bool) {
	view, ok := vm.memory.Read(uint32(ptr), uint32(n))
	return string(view), ok
}

func (vm *VM) putWord(ptr uint64, v uint32) bool {
	return vm.memory.WriteUint32Le(uint32(ptr), v)
}

func (vm *VM) putLong(ptr uint64, v uint64) bool {
	return vm.memory.WriteUint64Le(uint32(ptr), v)
}

// give copies a value into memory that the module allocates, and its address and
// length to where the module wants them.
func (vm *VM) give(b []byte, ptrOut, sizeOut uint64) status {
	var ptr uint32
	if len(b) > 0 {
		restricted := vm.restricted
		vm.restricted = true
		vm.allocs++
		p, _ := vm.call(vm.contexts[0], "proxy_on_memory_allocate", uint64(len(b)))
		vm.restricted = restricted
		if ptr = uint32(p); ptr == 0 || !vm.memory.Write(ptr, b) {
			return invalidMemoryAccess
		}
	}
	if !vm.putWord(ptrOut, ptr) || !vm.putWord(sizeOut, uint32(len(b))) {
		return invalidMemoryAccess
	}
	return ok
}

func (vm *VM) giveWord(v uint32, out uint64) status {
	if !vm.putWord(out, v) {
		return invalidMemoryAccess
	}
	return ok
}
