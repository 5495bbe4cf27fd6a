package emulator

// Halves of streams, as proxy-wasm numbers them.
const (
	streamRequest    = 0
	streamResponse   = 1
	streamDownstream = 2
	streamUpstream   = 3
)

var streamCalls = []hostCall{
	{"proxy_continue_stream", "i", (*VM).continueStream},
	{"proxy_close_stream", "i", (*VM).closeStream},
	{"proxy_send_local_response", "iiiiiiii", (*VM).sendLocalResponse},
	{"proxy_get_property", "iiii", (*VM).getProperty},
	{"proxy_set_property", "iiii", (*VM).setProperty},
}

func (vm *VM) continueStream(a []uint64) status {
	if a[0] > streamUpstream {
		return badArgument
	}
	c := vm.acting()
	switch a[0] {
	case streamRequest:
		if c.request != nil {
			vm.defers(c.request.req.resume)
		}
	case streamResponse:
		if c.request != nil {
			vm.defers(c.request.resp.resume)
		}
	case streamDownstream:
		if c.conn != nil {
			vm.defers(c.conn.down.resume)
		}
		return ok
	case streamUpstream:
		return unimplemented
	}
	if c.request != nil {
		// Envoy forgets the request's maps and body here, of either half.
		c.request.req.unreach()
	}
	return ok
}

func (vm *VM) closeStream(a []uint64) status {
	if a[0] > streamUpstream {
		return badArgument
	}
	c := vm.acting()
	switch a[0] {
	case streamRequest, streamResponse:
		if r := c.request; r != nil {
			if r.details == "" {
				r.details = "wasm_close_stream"
			}
			vm.defers(r.reset)
		}
	case streamDownstream, streamUpstream:
		if c.conn != nil {
			vm.defers(c.conn.closeByPlugin)
		}
	}
	return ok
}

func (vm *VM) sendLocalResponse(a []uint64) status {
	details, ok1 := vm.text(a[1], a[2])
	body, ok2 := vm.bytes(a[3], a[4])
	raw, ok3 := vm.bytes(a[5], a[6])
	if !ok1 || !ok2 || !ok3 {
		return invalidMemoryAccess
	}
	if r := vm.acting().request; r != nil {
		reply := &LocalReply{
			Status:     uint32(a[0]),
			Details:    underscores(details),
			Headers:    parsePairs(raw).lower(),
			Body:       body,
			GRPCStatus: int32(uint32(a[7])),
		}
		vm.defers(func() { r.answer(reply) })
	}
	vm.stopIteration = true
	return ok
}
