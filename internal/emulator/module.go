package emulator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
)

// Module is a compiled module, of which any number of VMs can be started.
type Module struct {
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	exports  map[string]bool
	started  atomic.Int64
}

// ErrImports is wrapped by the error of a module that Envoy would refuse for
// what it imports.
var ErrImports = errors.New("imports unknown to Envoy")

var (
	loadMu sync.Mutex
	loaded = map[loadedKey]*Module{}
)

type loadedKey struct {
	sum     [sha256.Size]byte
	higress bool
}

// Load compiles a module. Compiling the same bytes again is free, and quick in
// later processes, since the machine code is kept in the user's cache folder.
func Load(wasm []byte) (*Module, error) { return load(wasm, false) }

// LoadHigress is Load for a module that may import Higress's Redis calls. It needs a
// Config whose Redis isn't nil.
func LoadHigress(wasm []byte) (*Module, error) { return load(wasm, true) }

func load(wasm []byte, higress bool) (*Module, error) {
	loadMu.Lock()
	defer loadMu.Unlock()
	sum := loadedKey{sha256.Sum256(wasm), higress}
	if m := loaded[sum]; m != nil {
		return m, nil
	}
	m, err := compile(wasm, higress)
	if err != nil {
		return nil, err
	}
	loaded[sum] = m
	return m, nil
}

func compile(wasm []byte, higress bool) (*Module, error) {
	ctx := context.Background()
	config := wazero.NewRuntimeConfigCompiler()
	if cache := compilationCache(); cache != nil {
		config = config.WithCompilationCache(cache)
	}
	r := wazero.NewRuntimeWithConfig(ctx, config)
	m, err := build(ctx, r, wasm, higress)
	if err != nil {
		_ = r.Close(ctx)
		return nil, err
	}
	return m, nil
}

func build(ctx context.Context, r wazero.Runtime, wasm []byte, higress bool) (*Module, error) {
	if _, err := wasi_snapshot_preview1.Instantiate(ctx, r); err != nil {
		return nil, fmt.Errorf("WASI: %w", err)
	}
	if err := instantiateHostCalls(ctx, r); err != nil {
		return nil, fmt.Errorf("host calls: %w", err)
	}
	c, err := r.CompileModule(ctx, wasm)
	if err != nil {
		return nil, fmt.Errorf("not a module: %w", err)
	}
	var imports []Import
	for _, f := range c.ImportedFunctions() {
		module, name, _ := f.Import()
		imports = append(imports, Import{module, name})
	}
	foreign := Foreign(imports)
	if higress {
		foreign = slices.DeleteFunc(foreign, func(i Import) bool { return i.Module == "env" && higressOnly(i.Name) })
	}
	if len(foreign) > 0 {
		return nil, fmt.Errorf("%w: %v", ErrImports, foreign)
	}
	m := &Module{runtime: r, compiled: c, exports: map[string]bool{}}
	for name := range c.ExportedFunctions() {
		m.exports[name] = true
	}
	for _, need := range []string{"_initialize", "proxy_on_memory_allocate"} {
		if !m.exports[need] {
			return nil, fmt.Errorf("the module doesn't export %s", need)
		}
	}
	if !m.exports["proxy_abi_version_0_2_0"] && !m.exports["proxy_abi_version_0_2_1"] {
		return nil, fmt.Errorf("the module doesn't say that it speaks proxy-wasm 0.2")
	}
	return m, nil
}

// compilationCache is a folder of the user's, or nil where there can be none.
func compilationCache() wazero.CompilationCache {
	dir, err := os.UserCacheDir()
	if err != nil {
		return nil
	}
	cache, err := wazero.NewCompilationCacheWithDir(filepath.Join(dir, "sluice", "wazero"))
	if err != nil {
		return nil
	}
	return cache
}

// Exports reports whether the module exports a function of that name.
func (m *Module) Exports(name string) bool { return m.exports[name] }

// instantiate makes a fresh instance whose _initialize hasn't run.
func (m *Module) instantiate(ctx context.Context, config wazero.ModuleConfig) (api.Module, error) {
	name := "vm" + strconv.FormatInt(m.started.Add(1), 10)
	return m.runtime.InstantiateModule(ctx, m.compiled, config.WithName(name).WithStartFunctions())
}
