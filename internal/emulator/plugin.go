package emulator

import "slices"

func (vm *VM) newRoot(plugin string) *vmContext {
	root := vm.newContext(nil)
	root.plugin = plugin
	vm.roots = append(vm.roots, root)
	return root
}

func (vm *VM) configure(root *vmContext) bool {
	vm.create(root)
	root.configuring = true
	defer func() { root.configuring = false }()
	defer vm.afterCall()
	result, exported := vm.call(root, "proxy_on_configure", uint64(root.id), uint64(len(root.plugin)))
	return vm.err == nil && (!exported || result != 0)
}

// Reconfigure gives the plugin a new configuration, as Envoy does: a new root
// context in the same VM. If the module takes it, new requests get it, and the
// old root context goes when its last request has gone; if not, the new one goes
// and everything stays as it was.
func (vm *VM) Reconfigure(plugin string) bool {
	root := vm.newRoot(plugin)
	if !vm.configure(root) {
		root.retired = true
		vm.releaseRoot(root)
		return false
	}
	old := vm.root
	vm.root = root
	vm.proxy.mu.Lock()
	vm.proxy.plugin = plugin
	vm.proxy.mu.Unlock()
	if old != nil {
		old.retired = true
		vm.releaseRoot(old)
	}
	return true
}

// releaseRoot shuts a replaced root context down once nothing needs it.
func (vm *VM) releaseRoot(root *vmContext) {
	if !root.retired || root.streams > 0 || root.pendingDone || vm.contexts[root.id] == nil {
		return
	}
	done := func() bool {
		defer vm.afterCall()
		result, exported := vm.call(root, "proxy_on_done", uint64(root.id))
		return !exported || result != 0
	}()
	if !done {
		root.pendingDone = true // until proxy_done
		return
	}
	vm.deleteRoot(root)
}

func (vm *VM) deleteRoot(root *vmContext) {
	if vm.contexts[root.id] == nil {
		return
	}
	vm.simple(root, "proxy_on_delete", uint64(root.id))
	delete(vm.contexts, root.id)
	vm.roots = slices.DeleteFunc(vm.roots, func(c *vmContext) bool { return c == root })
	for _, s := range vm.streams {
		if s.root == root {
			s.drop()
		}
	}
}

// Shutdown ends the plugin as when its listener is removed: proxy_on_done and
// proxy_on_delete on the root context, as soon as no request needs it.
func (vm *VM) Shutdown() {
	if vm.root == nil {
		return
	}
	vm.root.retired = true
	vm.releaseRoot(vm.root)
	vm.root = nil
}

// RootContexts counts the root contexts that the module has.
func (vm *VM) RootContexts() int { return len(vm.roots) }
