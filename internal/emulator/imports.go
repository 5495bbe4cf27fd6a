package emulator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tetratelabs/wazero"
)

// Import is a function that a module wants from its host.
type Import struct {
	Module, Name string
}

func (i Import) String() string { return i.Module + "." + i.Name }

const wasiModule = "wasi_snapshot_preview1"

// wasiNames are the WASI functions that Envoy has had since 1.33, the oldest
// that is supported; a module that imports any other doesn't load there.
var wasiNames = names(
	"fd_write", "fd_read", "fd_seek", "fd_close", "fd_fdstat_get", "fd_fdstat_set_flags",
	"fd_prestat_get", "fd_prestat_dir_name", "environ_get", "environ_sizes_get",
	"args_get", "args_sizes_get", "clock_time_get", "random_get", "sched_yield",
	"poll_oneoff", "proc_exit", "path_open",
)

func names(list ...string) map[string]bool {
	m := make(map[string]bool, len(list))
	for _, n := range list {
		m[n] = true
	}
	return m
}

// Imports lists the functions that a module imports, sorted.
func Imports(wasm []byte) ([]Import, error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	defer func() { _ = r.Close(ctx) }()
	m, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("not a module: %w", err)
	}
	set := map[Import]bool{}
	for _, f := range m.ImportedFunctions() {
		module, name, _ := f.Import()
		set[Import{module, name}] = true
	}
	return slices.SortedFunc(maps.Keys(set), compareImports), nil
}

// Foreign returns those of the imports that an Envoy since 1.33 doesn't have:
// WASI functions outside the 18 that it knows, and functions that are no part
// of proxy-wasm 0.2.1.
func Foreign(imports []Import) []Import {
	var foreign []Import
	for _, i := range imports {
		switch {
		case i.Module == wasiModule && wasiNames[i.Name]:
		case i.Module == "env" && hostCallIndex[i.Name] != 0 && !higressOnly(i.Name):
		default:
			foreign = append(foreign, i)
		}
	}
	return foreign
}

func compareImports(a, b Import) int {
	if a.String() < b.String() {
		return -1
	}
	if a.String() > b.String() {
		return 1
	}
	return 0
}
