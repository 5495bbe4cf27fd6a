package emulator_test

import (
	"maps"
	"testing"

	"sluice/internal/emulator"
)

// typical is what a plugin might do for one request.
func typical(vm *emulator.VM) {
	r := vm.Request(request([2]string{"x-op", "typical"}, [2]string{"x-user-id", "7"}))
	r.Respond(emulator.Headers{{":status", "200"}}, nil)
}

func typicalVM(t testing.TB) *emulator.VM {
	return start(t, emulator.Config{Properties: map[string][]byte{
		emulator.Path("source", "address"): []byte("192.0.2.7:4711"),
	}})
}

func TestHostCallsAreCounted(t *testing.T) {
	vm := typicalVM(t)
	want := map[string]int{
		"log":                          4, // the probe notes its callbacks
		"get_header_map_pairs":         1,
		"get_property":                 1,
		"get_current_time_nanoseconds": 1,
		"add_header_map_value":         1,
		"set_property":                 1,
	}
	if got := vm.HostCallsDuring(func() { typical(vm) }); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	// In its own context it makes the same, but for the note of its creation.
	r := vm.Request(request([2]string{"x-op", "typical"}))
	r.Respond(emulator.Headers{{":status", "200"}}, nil)
	if got := r.HostCalls(); !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func TestAllocationsAreCounted(t *testing.T) {
	vm := typicalVM(t)
	typical(vm)
	before, given := vm.Mallocs(), vm.Allocations()
	if before <= 0 {
		t.Fatalf("%d objects so far", before)
	}
	const n = 50
	for range n {
		typical(vm)
	}
	if got := vm.Allocations() - given; got != 2*n {
		t.Errorf("the host asked %d times for memory in %d requests, want 2 each", got, n)
	}
	each := float64(vm.Mallocs()-before) / n
	if each < 3 || each > 100 {
		t.Errorf("%.1f objects a request", each)
	}
}

// Values that the host gave are collected when the module is done with them.
func TestMemoryIsReused(t *testing.T) {
	vm := typicalVM(t)
	for range 200 {
		typical(vm)
	}
	before := vm.MemoryBytes()
	for range 20_000 {
		typical(vm)
	}
	if after := vm.MemoryBytes(); after > before+(8<<20) {
		t.Errorf("memory grew from %d to %d bytes", before, after)
	}
}

func BenchmarkRequest(b *testing.B) {
	vm := typicalVM(b)
	b.ReportAllocs()
	for b.Loop() {
		typical(vm)
	}
	b.StopTimer()
	before, n := vm.Mallocs(), int64(1000)
	for range n {
		typical(vm)
	}
	b.ReportMetric(float64(vm.Mallocs()-before)/float64(n), "guest-allocs/op")
}

func BenchmarkStart(b *testing.B) {
	m, err := emulator.Load(probe(b))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		vm, err := m.Start(emulator.Config{})
		if err != nil {
			b.Fatal(err)
		}
		vm.Close()
	}
}

func BenchmarkImports(b *testing.B) {
	wasm := probe(b)
	for b.Loop() {
		if _, err := emulator.Imports(wasm); err != nil {
			b.Fatal(err)
		}
	}
}
