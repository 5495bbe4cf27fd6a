package emulator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/api"
)

// VM is one worker of a proxy: one instance of the module. It must be used by
// one goroutine at a time; different workers may be used at the same time.
type VM struct {
	proxy    *proxy
	ctx      context.Context
	instance api.Module
	memory   api.Memory
	funcs    map[string]api.Function
	err      error
	t        TB
	errSeen  bool

	contexts      map[uint32]*vmContext
	nextContext   uint32
	root          *vmContext // of the configuration that new requests get
	roots         []*vmContext
	current       *vmContext // whose callback runs; nil outside of one
	effective     uint32     // set by the module; 0: current
	restricted    bool       // only logging is allowed
	stopIteration bool       // an answer was sent in this callback
	after         []func()   // what waits for the callback to return

	calls   [numHostCalls]int
	allocs  int
	logs    []Log
	misuse  []string
	metrics vmMetrics
	stdio   [3]lineLog

	streams     []*Stream
	grpcCalls   []*GRPCCall
	httpCalls   []*HTTPCall
	nextHTTP    uint32
	nextGRPC    uint32
	nextStream  uint32
	statusCode  uint32
	statusText  string
	grpcBuffer  []byte
	grpcInitial Headers
	grpcTrailer Headers
	httpAnswer  *httpAnswer
	redis       map[string]*redisCluster
	nextRedis   uint32
	redisReply  []byte

	events events
}

// vmContext is a context of the module: the plugin's own (root) or a stream's.
type vmContext struct {
	id      uint32
	root    *vmContext // itself, for a root
	plugin  string     // a root's configuration
	created bool       // the module knows it
	request *Request
	conn    *Connection
	calls   [numHostCalls]int

	// Roots only.
	streams     int  // contexts that still belong to it
	retired     bool // replaced by a newer configuration
	pendingDone bool
	configuring bool
	tick        ticker
}

// ErrStart is wrapped by the error of a VM or plugin that refused to start.
var ErrStart = errors.New("the module refused to start")

// Start starts a proxy with one worker. With an error that wraps ErrStart or
// tells of a trap, the VM is returned too, for its logs.
func (m *Module) Start(c Config) (*VM, error) {
	return newProxy(m, c).startWorker(nil)
}

// NewWorker starts another worker of the same proxy: a VM of its own that shares
// data, queues, metrics and the clock.
func (vm *VM) NewWorker() (*VM, error) { return vm.proxy.startWorker(vm.t) }

func (p *proxy) startWorker(t TB) (*VM, error) {
	vm := &VM{
		proxy:       p,
		t:           t,
		funcs:       map[string]api.Function{},
		contexts:    map[uint32]*vmContext{},
		nextContext: 1,
	}
	vm.ctx = context.WithValue(context.Background(), vmKey{}, vm)
	vm.events.init()
	var err error
	if vm.instance, err = p.module.instantiate(vm.ctx, vm.wasi()); err != nil {
		return nil, fmt.Errorf("start the instance: %w", err)
	}
	vm.memory = vm.instance.Memory()
	p.mu.Lock()
	p.workers = append(p.workers, vm)
	plugin := p.plugin
	p.mu.Unlock()
	return vm, vm.start(plugin)
}

type vmKey struct{}

func (vm *VM) start(plugin string) error {
	// Context 0 is the VM's own.
	vm.contexts[0] = &vmContext{}
	vm.contexts[0].root = vm.contexts[0]
	vm.restricted = true
	vm.call(vm.contexts[0], "_initialize")
	vm.restricted = false
	if vm.err != nil {
		return vm.err
	}
	root := vm.newRoot(plugin)
	started := func() bool {
		defer vm.afterCall()
		vm.call(root, "proxy_on_context_create", uint64(root.id), 0)
		root.created = true
		result, exported := vm.call(root, "proxy_on_vm_start", uint64(root.id), uint64(len(vm.proxy.config.VM)))
		return !exported || result != 0
	}()
	if vm.err != nil {
		return vm.err
	}
	if !started {
		return fmt.Errorf("%w: proxy_on_vm_start", ErrStart)
	}
	if !vm.configure(root) {
		if vm.err != nil {
			return vm.err
		}
		return fmt.Errorf("%w: proxy_on_configure", ErrStart)
	}
	vm.root = root
	return nil
}

func (vm *VM) newContext(root *vmContext) *vmContext {
	c := &vmContext{id: vm.nextContext, root: root}
	vm.nextContext++
	vm.contexts[c.id] = c
	if root == nil {
		c.root = c
	} else {
		root.streams++
	}
	return c
}

// newStreamContext makes the context of a request or connection.
func (vm *VM) newStreamContext() *vmContext {
	if vm.root == nil { // the plugin never started, or has been shut down
		return vm.newContext(vm.contexts[0])
	}
	return vm.newContext(vm.root)
}

// create tells the module of a context, once.
func (vm *VM) create(c *vmContext) {
	if c.created || vm.err != nil {
		return
	}
	c.created = true
	parent := uint64(0)
	if c.root != c {
		parent = uint64(c.root.id)
	}
	defer vm.afterCall()
	vm.call(c, "proxy_on_context_create", uint64(c.id), parent)
}

// destroy ends a context: proxy_on_done, proxy_on_delete, gone.
func (vm *VM) destroy(c *vmContext) {
	if c.created {
		vm.simple(c, "proxy_on_done", uint64(c.id))
		vm.simple(c, "proxy_on_delete", uint64(c.id))
	}
	delete(vm.contexts, c.id)
	c.root.streams--
	vm.releaseRoot(c.root)
}

// call runs an exported function in a context. exported is false if there is no
// such function, or the VM is dead.
func (vm *VM) call(c *vmContext, name string, args ...uint64) (result uint64, exported bool) {
	if vm.err != nil || !vm.proxy.module.exports[name] {
		return 0, false
	}
	f := vm.funcs[name]
	if f == nil {
		f = vm.instance.ExportedFunction(name)
		vm.funcs[name] = f
	}
	current, effective := vm.current, vm.effective
	vm.current, vm.effective = c, 0
	results, err := f.Call(vm.ctx, args...)
	vm.current, vm.effective = current, effective
	if err != nil {
		vm.die(name, err)
		return 0, true
	}
	if len(results) > 0 {
		result = results[0]
		if f.Definition().ResultTypes()[0] == api.ValueTypeI32 {
			result = uint64(uint32(result))
		}
	}
	return result, true
}

// simple is a callback whose result doesn't matter, with what it put off.
func (vm *VM) simple(c *vmContext, name string, args ...uint64) {
	defer vm.afterCall()
	vm.call(c, name, args...)
}

// action is a callback on a half of a stream. stopped: an answer was sent in it,
// so that the half stops whatever the callback said.
func (vm *VM) action(c *vmContext, name string, args ...uint64) (action uint64, stopped bool) {
	defer vm.afterCall()
	action, _ = vm.call(c, name, args...)
	return action, vm.stopIteration
}

// afterCall does what host calls put off until their callback has returned.
func (vm *VM) afterCall() {
	vm.stopIteration = false
	for len(vm.after) > 0 {
		f := vm.after[0]
		vm.after = vm.after[1:]
		f()
	}
}

func (vm *VM) defers(f func()) { vm.after = append(vm.after, f) }

// acting is the context that host calls act on.
func (vm *VM) acting() *vmContext {
	if vm.effective != 0 {
		if c := vm.contexts[vm.effective]; c != nil {
			return c
		}
	}
	return vm.current
}

// die marks the VM dead for good.
func (vm *VM) die(name string, err error) {
	if vm.err != nil {
		return
	}
	text := err.Error()
	if i := strings.Index(text, "\nwasm stack trace:"); i > 0 {
		text = text[:i]
	}
	for i := range vm.stdio {
		vm.stdio[i].flush(vm)
	}
	vm.err = fmt.Errorf("the VM died in %s: %s", name, text)
}

// Err tells how the VM died, nil if it lives. A dead VM makes no callback any
// more; what it had paused stays paused, new requests get 503.
func (vm *VM) Err() error {
	vm.errSeen = true
	return vm.err
}

// Misuse lists what the module did that is undefined in Envoy, such as sending
// on a stream that has been closed.
func (vm *VM) Misuse() []string { return vm.misuse }

func (vm *VM) misused(format string, args ...any) {
	vm.misuse = append(vm.misuse, fmt.Sprintf(format, args...))
}

// HostCalls counts the host calls so far, by name without proxy_.
func (vm *VM) HostCalls() map[string]int { return callsByName(&vm.calls) }

// HostCallsDuring counts the host calls that f makes.
func (vm *VM) HostCallsDuring(f func()) map[string]int {
	before := vm.HostCalls()
	f()
	made := vm.HostCalls()
	for name, n := range before {
		if made[name] -= n; made[name] == 0 {
			delete(made, name)
		}
	}
	return made
}

// Allocations counts the times that the host asked the module for memory.
func (vm *VM) Allocations() int { return vm.allocs }

// Mallocs is how many objects the module has allocated, -1 if it doesn't say
// (package goabi/memstats exports the count).
func (vm *VM) Mallocs() int64 {
	n, exported := vm.call(vm.contexts[0], "sluice_mallocs")
	if !exported {
		return -1
	}
	return int64(n)
}

// MemoryBytes is the size of the module's memory.
func (vm *VM) MemoryBytes() uint32 { return vm.memory.Size() }

// Close ends the VM's connections and frees its instance. No callback is made.
func (vm *VM) Close() {
	for _, s := range vm.streams {
		s.unbridge()
	}
	vm.closeRedis()
	_ = vm.instance.Close(vm.ctx)
	if vm.err == nil {
		vm.err = errors.New("the VM was closed")
		vm.errSeen = true
	}
}

func callsByName(counts *[numHostCalls]int) map[string]int {
	m := map[string]int{}
	for i, n := range counts {
		if n > 0 {
			m[strings.TrimPrefix(hostCalls[i].name, "proxy_")] = n
		}
	}
	return m
}

// Global is the value of a 64-bit global that the module exports; 0 for none.
func (vm *VM) Global(name string) uint64 {
	g := vm.instance.ExportedGlobal(name)
	if g == nil {
		return 0
	}
	return g.Get()
}
