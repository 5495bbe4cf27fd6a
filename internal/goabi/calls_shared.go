//go:build wasip1

package goabi

// GetSharedData returns a value that all VMs of one vm_id share, and its
// compare-and-swap number. NotFound: never set.
func GetSharedData(key string) (value []byte, cas uint32, s Status) {
	value, s = take(proxyGetSharedData(key, &out.ptr, &out.size, &out.word))
	cas, s = word(s)
	return value, cas, s
}

// SetSharedData sets a shared value. A cas other than 0 must be the number that
// the present value was read with, else CasMismatch; where there is no value
// yet, any number creates it. No call removes one.
func SetSharedData(key string, value []byte, cas uint32) Status {
	return proxySetSharedData(key, text(value), cas)
}

// RegisterSharedQueue creates a queue or finds it, and makes this root context
// the one told of new entries (package goabi/queue).
func RegisterSharedQueue(name string) (id uint32, s Status) {
	return word(proxyRegisterSharedQueue(name, &out.word))
}

// ResolveSharedQueue finds a queue of a VM; vmID "" is this one's.
func ResolveSharedQueue(vmID, name string) (id uint32, s Status) {
	return word(proxyResolveSharedQueue(vmID, name, &out.word))
}

// EnqueueSharedQueue appends to a queue. NotFound: no such queue.
func EnqueueSharedQueue(id uint32, value []byte) Status {
	return proxyEnqueueSharedQueue(id, text(value))
}

// DequeueSharedQueue takes a queue's oldest entry. Empty: there is none.
func DequeueSharedQueue(id uint32) ([]byte, Status) {
	return take(proxyDequeueSharedQueue(id, &out.ptr, &out.size))
}
