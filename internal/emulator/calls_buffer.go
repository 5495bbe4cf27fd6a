package emulator

import "slices"

// Buffers, as proxy-wasm numbers them.
const (
	bufferRequestBody  = 0
	bufferResponseBody = 1
	bufferDownstream   = 2
	bufferUpstream     = 3
	bufferHTTPBody     = 4
	bufferGRPC         = 5
	bufferVMConfig     = 6
	bufferPluginConfig = 7
	bufferMax          = 8
	bufferRedis        = 9 // Higress's
)

var bufferCalls = []hostCall{
	{"proxy_get_buffer_bytes", "iiiii", (*VM).getBufferBytes},
	{"proxy_get_buffer_status", "iii", (*VM).getBufferStatus},
	{"proxy_set_buffer_bytes", "iiiii", (*VM).setBufferBytes},
}

// bufferMax is the largest number of a buffer that isn't an error.
func (vm *VM) bufferMax() uint64 {
	if vm.proxy.config.Redis != nil {
		return bufferRedis
	}
	return bufferMax
}

// buffer returns a buffer; writable says whether it can be changed. A body that
// can't be reached now is an empty one, and nil means no buffer at all.
func (vm *VM) buffer(kind uint64) (b *[]byte, writable bool) {
	c := vm.acting()
	var found *[]byte
	switch kind {
	case bufferRequestBody:
		if c.request != nil {
			found = c.request.req.reachableBody()
		}
	case bufferResponseBody:
		if c.request != nil {
			found = c.request.resp.reachableBody()
		}
	case bufferDownstream:
		if c.conn != nil {
			found = c.conn.down.reachable()
		}
	case bufferUpstream:
		if c.conn != nil {
			found = c.conn.up.reachable()
		}
	case bufferHTTPBody:
		if vm.httpAnswer == nil {
			return nil, false
		}
		return &vm.httpAnswer.body, false
	case bufferRedis:
		if vm.proxy.config.Redis == nil {
			return nil, false
		}
		return &vm.redisReply, false
	case bufferGRPC:
		return &vm.grpcBuffer, false
	case bufferVMConfig:
		b := []byte(vm.proxy.config.VM)
		return &b, false
	case bufferPluginConfig:
		if !c.configuring {
			return nil, false
		}
		b := []byte(c.plugin)
		return &b, false
	default:
		return nil, false
	}
	if found == nil {
		return new([]byte), false
	}
	return found, true
}

func (vm *VM) getBufferBytes(a []uint64) status {
	if a[0] > vm.bufferMax() {
		return badArgument
	}
	b, _ := vm.buffer(a[0])
	if b == nil {
		return notFound
	}
	// Words of 32 bits can't overflow here.
	start, length := a[1], a[2]
	size := uint64(len(*b))
	start = min(start, size)
	end := min(start+length, size)
	return vm.give((*b)[start:end], a[3], a[4])
}

func (vm *VM) getBufferStatus(a []uint64) status {
	if a[0] > vm.bufferMax() {
		return badArgument
	}
	b, _ := vm.buffer(a[0])
	if b == nil {
		return notFound
	}
	if !vm.putWord(a[1], uint32(len(*b))) || !vm.putWord(a[2], 0) {
		return invalidMemoryAccess
	}
	return ok
}

func (vm *VM) setBufferBytes(a []uint64) status {
	if a[0] > vm.bufferMax() {
		return badArgument
	}
	b, writable := vm.buffer(a[0])
	if b == nil {
		return notFound
	}
	data, readable := vm.bytes(a[3], a[4])
	if !readable {
		return invalidMemoryAccess
	}
	if !writable {
		return badArgument
	}
	start, length, size := int(a[1]), int(a[2]), len(*b)
	switch {
	case start == 0 && length == 0:
		*b = slices.Concat(data, *b)
	case start == 0 && length >= size:
		*b = data
	case start != 0 && start >= size:
		*b = slices.Concat(*b, data)
	default:
		return badArgument
	}
	return ok
}
