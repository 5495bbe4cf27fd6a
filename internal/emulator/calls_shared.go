package emulator

import (
	"maps"
	"slices"
)

var sharedCalls = []hostCall{
	{"proxy_get_shared_data", "iiiii", (*VM).getSharedData},
	{"proxy_set_shared_data", "iiiii", (*VM).setSharedData},
	{"proxy_register_shared_queue", "iii", (*VM).registerSharedQueue},
	{"proxy_resolve_shared_queue", "iiiii", (*VM).resolveSharedQueue},
	{"proxy_enqueue_shared_queue", "iii", (*VM).enqueueSharedQueue},
	{"proxy_dequeue_shared_queue", "iii", (*VM).dequeueSharedQueue},
}

// shared is the data of one vm_id, which is all that a proxy here has.
type shared struct {
	values map[string]sharedValue
	cas    uint32
	queues []*sharedQueue // by token - 1
}

type sharedValue struct {
	data []byte
	cas  uint32
}

type sharedQueue struct {
	name    string
	entries [][]byte
	vm      *VM // whom to tell
	root    uint32
}

func (s *shared) set(key string, data []byte) {
	if s.values == nil {
		s.values = map[string]sharedValue{}
	}
	s.cas++
	s.values[key] = sharedValue{data, s.cas}
}

// SharedData returns a value that the workers share, nil when there is none.
func (vm *VM) SharedData(key string) []byte {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	return slices.Clone(vm.proxy.shared.values[key].data)
}

// SetSharedData overwrites a shared value, as another plugin might.
func (vm *VM) SetSharedData(key string, data []byte) {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	vm.proxy.shared.set(key, slices.Clone(data))
}

// SharedKeys lists the keys of all shared values, sorted.
func (vm *VM) SharedKeys() []string {
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	return slices.Sorted(maps.Keys(vm.proxy.shared.values))
}

func (vm *VM) getSharedData(a []uint64) status {
	key, readable := vm.text(a[0], a[1])
	if !readable {
		return invalidMemoryAccess
	}
	vm.proxy.mu.Lock()
	v, found := vm.proxy.shared.values[key]
	vm.proxy.mu.Unlock()
	if !found {
		return notFound
	}
	if s := vm.give(v.data, a[2], a[3]); s != ok {
		return s
	}
	return vm.giveWord(v.cas, a[4])
}

func (vm *VM) setSharedData(a []uint64) status {
	key, ok1 := vm.text(a[0], a[1])
	data, ok2 := vm.bytes(a[2], a[3])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	cas := uint32(a[4])
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	s := &vm.proxy.shared
	if v, found := s.values[key]; found && cas != 0 && cas != v.cas {
		return casMismatch
	}
	s.set(key, data)
	return ok
}

func (vm *VM) registerSharedQueue(a []uint64) status {
	name, readable := vm.text(a[0], a[1])
	if !readable {
		return invalidMemoryAccess
	}
	vm.proxy.mu.Lock()
	s := &vm.proxy.shared
	i := s.findQueue(name)
	if i < 0 {
		i = len(s.queues)
		s.queues = append(s.queues, &sharedQueue{name: name})
	}
	s.queues[i].vm, s.queues[i].root = vm, vm.acting().root.id
	vm.proxy.mu.Unlock()
	return vm.giveWord(uint32(i+1), a[2])
}

func (vm *VM) resolveSharedQueue(a []uint64) status {
	vmID, ok1 := vm.text(a[0], a[1])
	name, ok2 := vm.text(a[2], a[3])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	vm.proxy.mu.Lock()
	i := vm.proxy.shared.findQueue(name)
	vm.proxy.mu.Unlock()
	if i < 0 || vmID != "" && vmID != vm.proxy.config.VMID {
		return notFound
	}
	return vm.giveWord(uint32(i+1), a[4])
}

func (s *shared) findQueue(name string) int {
	return slices.IndexFunc(s.queues, func(q *sharedQueue) bool { return q.name == name })
}

func (s *shared) queue(token uint64) *sharedQueue {
	if token == 0 || token > uint64(len(s.queues)) {
		return nil
	}
	return s.queues[token-1]
}

func (vm *VM) enqueueSharedQueue(a []uint64) status {
	data, readable := vm.bytes(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	vm.proxy.mu.Lock()
	defer vm.proxy.mu.Unlock()
	q := vm.proxy.shared.queue(a[0])
	if q == nil {
		return notFound
	}
	q.entries = append(q.entries, data)
	// The worker that registered the queue hears of it on its own thread.
	token, root, to := a[0], q.root, q.vm
	to.events.post(func() {
		if c := to.contexts[root]; c != nil {
			to.simple(c, "proxy_on_queue_ready", uint64(root), token)
		}
	})
	return ok
}

func (vm *VM) dequeueSharedQueue(a []uint64) status {
	vm.proxy.mu.Lock()
	q := vm.proxy.shared.queue(a[0])
	var data []byte
	s := ok
	switch {
	case q == nil:
		s = notFound
	case len(q.entries) == 0:
		s = empty
	default:
		data = q.entries[0]
		q.entries = q.entries[1:]
	}
	vm.proxy.mu.Unlock()
	if s != ok {
		return s
	}
	return vm.give(data, a[1], a[2])
}
