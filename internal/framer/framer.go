// Package framer writes the filter between the plugin's gRPC stream and Redis: a
// proxy-wasm module of a few hundred bytes, which envoy.yaml holds as it is.
//
// gRPC puts five bytes before each message: a flag, 0 here, and the message's length,
// the highest of its four bytes first. Redis speaks without them. So the filter takes
// them off what goes out, and puts them before each piece that comes in. It runs in
// the cluster's own filter chain, behind which the proxy writes bytes to a TCP
// connection.
//
// A piece that goes out is one message of the plugin's or several, all whole: the
// proxy passes them on as they were written. What isn't that goes out as it is; Redis
// then waits for more, and the plugin gives the connection up.
package framer

import w "sluice/internal/wasmasm"

// Memory.
const (
	found   = 16   // where a buffer's bytes are, as the proxy says, and how many
	frame   = 32   // the five bytes of a piece that comes in
	message = 1024 // what the proxy hands over, one at a time
)

// Buffers, as the proxy numbers them.
const (
	requestBody  = 0
	responseBody = 1
)

const head = 5 // bytes before a message

// Module is the filter.
func Module() []byte {
	// Types 0 to 5 take so many i32 and return one; 6 and 7 take none and two and
	// return nothing.
	const none, two = 6, 7
	types := w.Section(w.TypeSection, w.Vec(
		w.Signature(0, true), w.Signature(1, true), w.Signature(2, true), w.Signature(3, true), w.Signature(4, true), w.Signature(5, true),
		w.Signature(0, false), w.Signature(2, false)))
	imports := w.Section(w.ImportSection, w.Vec(
		w.Import("env", "proxy_get_buffer_bytes", 5),
		w.Import("env", "proxy_set_buffer_bytes", 5)))
	const imported = 2
	functions := []struct {
		name string
		typ  byte
		body []byte
	}{
		{"proxy_abi_version_0_2_1", none, w.Body(0)},
		{"proxy_on_context_create", two, w.Body(0)},
		{"proxy_on_memory_allocate", 1, allocate()},
		{"proxy_on_request_body", 3, onRequestBody()},
		{"proxy_on_response_body", 3, onResponseBody()},
	}
	var indexes, bodies [][]byte
	exports := [][]byte{w.Export("memory", w.Memory, 0)}
	for i, f := range functions {
		indexes = append(indexes, []byte{f.typ})
		bodies = append(bodies, f.body)
		exports = append(exports, w.Export(f.name, w.Function, byte(imported+i)))
	}
	return w.Module(types, imports,
		w.Section(w.FunctionSection, w.Vec(indexes...)),
		w.Section(w.MemorySection, w.Vec([]byte{0, 1})),
		w.Section(w.ExportSection, w.Vec(exports...)),
		w.Section(w.CodeSection, w.Vec(bodies...)))
}

// Instructions, in the order in which their operands come.
var (
	opReturn = []byte{0x0f}
	opEqz    = []byte{0x45}
	opEq     = []byte{0x46}
	opNe     = []byte{0x47}
	opLtU    = []byte{0x49}
	opGtU    = []byte{0x4b}
	opAdd    = []byte{0x6a}
	opSub    = []byte{0x6b}
	opOr     = []byte{0x72}
	opShl    = []byte{0x74}
	opShrU   = []byte{0x76}
	pages    = []byte{0x3f, 0}
	grow     = []byte{0x40, 0}
	copied   = []byte{0xfc, 0x0a, 0, 0} // memory.copy
)

func get(local byte) []byte { return []byte{0x20, local} }

func set(local byte, value ...[]byte) []byte { return w.Cat(w.Cat(value...), []byte{0x21, local}) }

func load(offset byte, address []byte) []byte { return w.Cat(address, []byte{0x28, 2, offset}) }

func loadByte(offset byte, address []byte) []byte { return w.Cat(address, []byte{0x2d, 0, offset}) }

func storeByte(offset byte, address, value []byte) []byte {
	return w.Cat(address, value, []byte{0x3a, 0, offset})
}

func when(condition []byte, then ...[]byte) []byte {
	return w.Cat(condition, []byte{0x04, 0x40}, w.Cat(then...), []byte{0x0b})
}

// loop repeats its body until leave.
func loop(body ...[]byte) []byte {
	return w.Cat([]byte{0x02, 0x40, 0x03, 0x40}, w.Cat(body...), []byte{0x0c, 0, 0x0b, 0x0b})
}

// leave ends the loop around it.
func leave(condition []byte) []byte { return w.Cat(condition, []byte{0x0d, 1}) }

func operation(op []byte, operands ...[]byte) []byte { return w.Cat(w.Cat(operands...), op) }

// call calls an imported function and returns what it returns.
func call(function byte, args ...[]byte) []byte {
	return w.Cat(w.Cat(args...), []byte{w.Call, function})
}

const (
	getBuffer = 0 // of a buffer: from, bytes, where to say what was found
	setBuffer = 1 // in a buffer: from, bytes replaced, by what
)

var (
	continues = w.Number(0)
	stops     = operation(opReturn, continues)
)

// allocate makes room for what the proxy hands over: always in the same place, since
// nothing is kept.
func allocate() []byte {
	size := get(0)
	const page = 16 // bits
	room := operation(opShl, pages, w.Number(page))
	return w.Body(0,
		when(operation(opGtU, operation(opAdd, size, w.Number(message)), room),
			operation(grow, operation(opAdd, operation(opShrU, size, w.Number(page)), w.Number(1))), []byte{w.Drop}),
		w.Number(message))
}

// onRequestBody takes the heads off.
func onRequestBody() []byte {
	size := get(1)
	const p, q, stop, length = 3, 4, 5, 6
	lengthAt := func(at []byte) []byte {
		highest := operation(opShl, loadByte(1, at), w.Number(24))
		higher := operation(opShl, loadByte(2, at), w.Number(16))
		lower := operation(opShl, loadByte(3, at), w.Number(8))
		return operation(opOr, operation(opOr, highest, higher), operation(opOr, lower, loadByte(4, at)))
	}
	first := load(0, w.Number(found))
	fetch := func(n []byte) []byte {
		return when(operation(opNe, call(getBuffer, w.Number(requestBody), w.Number(0), n, w.Number(found), w.Number(found+4)), w.Number(0)), stops)
	}
	return w.Body(4,
		when(operation(opLtU, size, w.Number(head)), stops),
		// Nearly always: one message.
		fetch(w.Number(head)),
		when(operation(opEq, lengthAt(first), operation(opSub, size, w.Number(head))),
			call(setBuffer, w.Number(requestBody), w.Number(0), w.Number(head), w.Number(0), w.Number(0)), []byte{w.Drop},
			stops),
		fetch(size),
		set(p, first), set(q, first), set(stop, operation(opAdd, first, size)),
		loop(
			leave(operation(opEq, get(p), get(stop))),
			when(operation(opLtU, operation(opSub, get(stop), get(p)), w.Number(head)), stops),
			set(length, lengthAt(get(p))),
			set(p, operation(opAdd, get(p), w.Number(head))),
			when(operation(opGtU, get(length), operation(opSub, get(stop), get(p))), stops),
			operation(copied, get(q), get(p), get(length)),
			set(p, operation(opAdd, get(p), get(length))),
			set(q, operation(opAdd, get(q), get(length)))),
		call(setBuffer, w.Number(requestBody), w.Number(0), size, first, operation(opSub, get(q), first)), []byte{w.Drop},
		continues)
}

// onResponseBody puts a head before a piece.
func onResponseBody() []byte {
	size, at := get(1), w.Number(frame)
	return w.Body(0,
		when(operation(opEqz, size), stops),
		storeByte(1, at, operation(opShrU, size, w.Number(24))),
		storeByte(2, at, operation(opShrU, size, w.Number(16))),
		storeByte(3, at, operation(opShrU, size, w.Number(8))),
		storeByte(4, at, size),
		call(setBuffer, w.Number(responseBody), w.Number(0), w.Number(0), at, w.Number(head)), []byte{w.Drop},
		continues)
}
