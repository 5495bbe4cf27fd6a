package tinywasm

import w "sluice/internal/wasmasm"

// Maps of headers, as the proxy numbers them.
const (
	requestHeaders  = 0
	responseHeaders = 2
)

// A header or property with a value like the plugin's.
type named struct{ name, value string }

var (
	appended = []named{
		{"ratelimit-policy", `"a";q=1000000000;w=60`},
		{"ratelimit", `"a";r=999999999;t=60`},
	}
	replaced = []named{
		{"x-ratelimit-limit", "1000000000"},
		{"x-ratelimit-remaining", "999999999"},
		{"x-ratelimit-reset", "1690000058000"},
	}
	properties = []named{
		{"sluice.decision", "admitted"}, {"sluice.limit", "a"}, {"sluice.mode", "redis"}, {"sluice.redis_us", "100"},
	}
)

// What the module's memory is used for.
const (
	scratch   = 16   // two numbers that a host call returns
	texts     = 64   // the names and values above
	allocated = 4096 // what the proxy sends, each time the same place: nothing reads it
)

// Calls is a module that makes the plugin's host calls on a request that one limit
// admits from memory, with the default answer, and does nothing else: it reads the
// request's headers, sets the access log's fields, looks for one header of the
// response and sets five. What it costs is what Envoy takes for those calls,
// whatever language a filter is written in.
func Calls() []byte {
	// Types 0 to 5 take so many i32 and return one; the rest take none, one and two
	// and return nothing.
	types := w.Section(w.TypeSection, w.Vec(
		w.Signature(0, true), w.Signature(1, true), w.Signature(2, true), w.Signature(3, true), w.Signature(4, true), w.Signature(5, true),
		w.Signature(0, false), w.Signature(1, false), w.Signature(2, false)))
	const none, oneNone, two = 6, 7, 8
	host := []struct {
		name string
		args byte
	}{
		{"proxy_get_header_map_pairs", 3},
		{"proxy_get_header_map_value", 5},
		{"proxy_add_header_map_value", 5},
		{"proxy_replace_header_map_value", 5},
		{"proxy_set_property", 4},
	}
	const pairs, value, add, replace, property = 0, 1, 2, 3, 4
	var imported [][]byte
	for _, h := range host {
		imported = append(imported, w.Import("env", h.name, h.args))
	}

	var data []byte
	text := func(s string) []byte { // its address and length, as arguments
		at := texts + len(data)
		data = append(data, s...)
		return w.Cat(w.Number(at), w.Number(len(s)))
	}
	call := func(function byte, args ...[]byte) []byte {
		return w.Cat(w.Cat(args...), []byte{w.Call, function, w.Drop})
	}
	onRequest := call(pairs, w.Number(requestHeaders), w.Number(scratch), w.Number(scratch+4))
	for _, p := range properties {
		onRequest = w.Cat(onRequest, call(property, text(p.name), text(p.value)))
	}
	onResponse := call(value, w.Number(responseHeaders), text("x-ratelimit-remaining"), w.Number(scratch), w.Number(scratch+4))
	for _, h := range appended {
		onResponse = w.Cat(onResponse, call(add, w.Number(responseHeaders), text(h.name), text(h.value)))
	}
	for _, h := range replaced {
		onResponse = w.Cat(onResponse, call(replace, w.Number(responseHeaders), text(h.name), text(h.value)))
	}

	callbacks := []struct {
		name string
		kind byte
		code []byte
	}{
		{"proxy_abi_version_0_2_1", none, nil},
		{"proxy_on_context_create", two, nil},
		{"proxy_on_request_headers", 3, w.Cat(onRequest, w.Number(actionContinue))},
		{"proxy_on_response_headers", 3, w.Cat(onResponse, w.Number(actionContinue))},
		{"proxy_on_memory_allocate", 1, w.Number(allocated)},
		{"proxy_on_done", 1, w.Number(1)},
		{"proxy_on_log", oneNone, nil},
		{"proxy_on_delete", oneNone, nil},
	}
	functions, bodies, exports := [][]byte{}, [][]byte{}, [][]byte{w.Export("memory", w.Memory, 0)}
	for i, c := range callbacks {
		functions = append(functions, []byte{c.kind})
		bodies = append(bodies, w.Body(0, c.code))
		exports = append(exports, w.Export(c.name, w.Function, byte(len(host)+i)))
	}
	return w.Module(types,
		w.Section(w.ImportSection, w.Vec(imported...)),
		w.Section(w.FunctionSection, w.Vec(functions...)),
		w.Section(w.MemorySection, w.Vec([]byte{0, 1})),
		w.Section(w.ExportSection, w.Vec(exports...)),
		w.Section(w.CodeSection, w.Vec(bodies...)),
		w.Section(w.DataSection, w.Vec(w.Data(texts, data))))
}
