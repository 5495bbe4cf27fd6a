package emulator

import "strings"

// Header maps, as proxy-wasm numbers them.
const (
	mapRequestHeaders   = 0
	mapRequestTrailers  = 1
	mapResponseHeaders  = 2
	mapResponseTrailers = 3
	mapGRPCInitial      = 4
	mapGRPCTrailing     = 5
	mapHTTPHeaders      = 6
	mapHTTPTrailers     = 7
	mapMax              = 7
)

var headerCalls = []hostCall{
	{"proxy_get_header_map_pairs", "iii", (*VM).getHeaderMapPairs},
	{"proxy_set_header_map_pairs", "iii", (*VM).setHeaderMapPairs},
	{"proxy_get_header_map_size", "ii", (*VM).getHeaderMapSize},
	{"proxy_get_header_map_value", "iiiii", (*VM).getHeaderMapValue},
	{"proxy_add_header_map_value", "iiiii", (*VM).addHeaderMapValue},
	{"proxy_replace_header_map_value", "iiiii", (*VM).replaceHeaderMapValue},
	{"proxy_remove_header_map_value", "iii", (*VM).removeHeaderMapValue},
}

// readable returns a map that may be read now, nil when it can't be reached.
func (vm *VM) readable(kind uint64) *Headers {
	switch kind {
	case mapGRPCInitial:
		return present(&vm.grpcInitial)
	case mapGRPCTrailing:
		return present(&vm.grpcTrailer)
	case mapHTTPHeaders:
		if vm.httpAnswer != nil {
			return &vm.httpAnswer.headers
		}
		return nil
	case mapHTTPTrailers:
		if vm.httpAnswer != nil {
			return present(&vm.httpAnswer.trailers)
		}
		return nil
	}
	r := vm.acting().request
	if r == nil {
		return nil
	}
	if r.logging {
		return r.logged(kind)
	}
	return r.reachable(kind, false)
}

// writable returns a map that may be changed now.
func (vm *VM) writable(kind uint64) *Headers {
	r := vm.acting().request
	if r == nil {
		return nil
	}
	return r.reachable(kind, true)
}

// reachable returns one of the request's maps. Trailers that aren't there can be
// created at the end of a body.
func (r *Request) reachable(kind uint64, create bool) *Headers {
	switch kind {
	case mapRequestHeaders:
		return r.req.reachableHeaders()
	case mapRequestTrailers:
		return r.req.reachableTrailers(create)
	case mapResponseHeaders:
		return r.resp.reachableHeaders()
	case mapResponseTrailers:
		return r.resp.reachableTrailers(create)
	}
	return nil
}

func present(h *Headers) *Headers {
	if *h == nil {
		return nil
	}
	return h
}

func (vm *VM) getHeaderMapPairs(a []uint64) status {
	if a[0] > mapMax {
		return badArgument
	}
	h := vm.readable(a[0])
	if h == nil || len(*h) == 0 {
		return vm.give(nil, a[1], a[2])
	}
	return vm.give(h.serialise(), a[1], a[2])
}

func (vm *VM) setHeaderMapPairs(a []uint64) status {
	if a[0] > mapMax {
		return badArgument
	}
	raw, readable := vm.bytes(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	h := vm.writable(a[0])
	if h == nil {
		return badArgument
	}
	*h = parsePairs(raw).lower()
	return ok
}

func (vm *VM) getHeaderMapSize(a []uint64) status {
	if a[0] > mapMax {
		return badArgument
	}
	h := vm.writable(a[0])
	if h == nil {
		return badArgument
	}
	return vm.giveWord(uint32(h.byteSize()), a[1])
}

func (vm *VM) getHeaderMapValue(a []uint64) status {
	if a[0] > mapMax {
		return badArgument
	}
	name, readable := vm.text(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	h := vm.readable(a[0])
	if h == nil {
		if r := vm.acting().request; r != nil && r.logging {
			return notFound
		}
		return badArgument
	}
	values := h.Values(strings.ToLower(name))
	if len(values) == 0 {
		return notFound
	}
	return vm.give([]byte(values[0]), a[3], a[4])
}

func (vm *VM) addHeaderMapValue(a []uint64) status {
	return vm.changeHeader(a, (*Headers).add)
}

func (vm *VM) replaceHeaderMapValue(a []uint64) status {
	return vm.changeHeader(a, (*Headers).set)
}

func (vm *VM) changeHeader(a []uint64, change func(h *Headers, name, value string)) status {
	if a[0] > mapMax {
		return badArgument
	}
	name, ok1 := vm.text(a[1], a[2])
	value, ok2 := vm.text(a[3], a[4])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	h := vm.writable(a[0])
	if h == nil {
		return badArgument
	}
	change(h, name, value)
	return ok
}

func (vm *VM) removeHeaderMapValue(a []uint64) status {
	if a[0] > mapMax {
		return badArgument
	}
	name, readable := vm.text(a[1], a[2])
	if !readable {
		return invalidMemoryAccess
	}
	h := vm.writable(a[0])
	if h == nil {
		return badArgument
	}
	h.remove(name)
	return ok
}
