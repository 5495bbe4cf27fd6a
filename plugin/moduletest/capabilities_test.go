package moduletest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"sluice/internal/goabi/capabilities"
)

// Go's linker keeps only the host calls that the plugin's code can reach, and
// the plugin exports only the callbacks that it uses. So a list that names just
// these is complete, and has nothing to spare.
func TestCapabilitiesAreThoseOfTheModule(t *testing.T) {
	compareCapabilities(t, release(t), capabilities.Needed())
	compareCapabilities(t, higress(t), capabilities.Higress())
}

func compareCapabilities(t *testing.T, wasm []byte, needed []capabilities.Capability) {
	t.Helper()
	r := wazero.NewRuntimeWithConfig(t.Context(), wazero.NewRuntimeConfigInterpreter())
	defer r.Close(context.Background())
	m, err := r.CompileModule(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	var module []string
	for name := range m.ExportedFunctions() {
		// Two more are no callbacks, and allowed to all plugins.
		if strings.HasPrefix(name, "proxy_on_") && name != "proxy_on_memory_allocate" {
			module = append(module, name)
		}
	}
	for _, f := range m.ImportedFunctions() {
		if where, name, _ := f.Import(); where == "env" {
			module = append(module, name)
		}
	}
	var listed []string
	for _, c := range needed {
		if strings.HasPrefix(c.Name, "proxy_") {
			listed = append(listed, c.Name)
		}
		if c.Why == "" {
			t.Errorf("%s: no reason", c.Name)
		}
	}
	slices.Sort(module)
	slices.Sort(listed)
	if d := cmp.Diff(module, listed); d != "" {
		t.Errorf("the module's host calls and callbacks (-) and the list (+):\n%s", d)
	}
}

// compiled keeps the machine code from one start to the next.
var compiled = wazero.NewCompilationCache()

// run is what became of a module's start.
type run struct {
	started bool
	calls   map[string]int
}

// initialize starts the module and refuses it some WASI functions, as Envoy
// does: they return 76.
func initialize(t *testing.T, wasm []byte, refused func(name string) bool) run {
	t.Helper()
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigCompiler().WithCompilationCache(compiled))
	defer r.Close(ctx)
	out := run{calls: map[string]int{}}
	m, err := r.CompileModule(ctx, wasm)
	if err != nil {
		t.Fatal(err)
	}
	hosts := map[string]wazero.HostModuleBuilder{
		"env":                    r.NewHostModuleBuilder("env"),
		"wasi_snapshot_preview1": r.NewHostModuleBuilder("wasi_snapshot_preview1"),
	}
	wasi_snapshot_preview1.NewFunctionExporter().ExportFunctions(hosts["wasi_snapshot_preview1"])
	for _, f := range m.ImportedFunctions() {
		where, name, _ := f.Import()
		if where != "env" && !refused(name) {
			continue
		}
		answer := uint64(0)
		if where != "env" {
			answer = 76
		}
		hosts[where].NewFunctionBuilder().WithGoFunction(api.GoFunc(func(_ context.Context, stack []uint64) {
			out.calls[name]++
			if len(f.ResultTypes()) > 0 {
				stack[0] = answer
			}
		}), f.ParamTypes(), f.ResultTypes()).Export(name)
	}
	for _, b := range hosts {
		if _, err := b.Instantiate(ctx); err != nil {
			t.Fatal(err)
		}
	}
	_, err = r.InstantiateModule(ctx, m, wazero.NewModuleConfig().WithStartFunctions("_initialize").
		WithSysWalltime().WithSysNanotime().WithEnv("REDIS_PASSWORD", "x"))
	out.started = err == nil
	return out
}

// With the WASI functions of the list the module starts, without any of them it
// doesn't, or couldn't say why it ended.
func TestEachWASICapabilityIsNeeded(t *testing.T) {
	wasm := release(t)
	var listed []string
	for _, c := range capabilities.Needed() {
		if !strings.HasPrefix(c.Name, "proxy_") {
			listed = append(listed, c.Name)
		}
	}
	// Go's runtime goes on without these, and Envoy logs an error for each call.
	for _, name := range []string{"fd_fdstat_get", "fd_fdstat_set_flags"} {
		asked := initialize(t, wasm, func(n string) bool { return n == name })
		if slices.Contains(listed, name) != (asked.calls[name] > 0) {
			t.Errorf("%s: in the list %v, called %d times", name, slices.Contains(listed, name), asked.calls[name])
		}
	}
	others := func(name string) bool { return !slices.Contains(listed, name) }
	if !initialize(t, wasm, others).started {
		t.Fatal("the module doesn't start with what the list allows")
	}
	// Not at the start: random_get gives a gateway its own name, and Go's runtime
	// throws when its collector's short sleep fails. How it ends is looked at below.
	later := []string{"fd_fdstat_get", "fd_fdstat_set_flags", "random_get", "poll_oneoff", "fd_write", "proc_exit"}
	for _, name := range listed {
		if slices.Contains(later, name) {
			continue
		}
		if initialize(t, wasm, func(n string) bool { return n == name || others(n) }).started {
			t.Errorf("the module starts without %s: the list needn't have it", name)
		}
	}
	for _, name := range []string{"fd_write", "proc_exit"} {
		end := initialize(t, wasm, func(n string) bool { return n == "args_sizes_get" || n == name })
		if end.started || end.calls[name] == 0 {
			t.Errorf("a start that fails calls %v, not %s", end.calls, name)
		}
	}
}
