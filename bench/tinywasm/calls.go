package tinywasm

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
	types := section(typeSection, vec(
		signature(0, true), signature(1, true), signature(2, true), signature(3, true), signature(4, true), signature(5, true),
		signature(0, false), signature(1, false), signature(2, false)))
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
		imported = append(imported, cat(name("env"), name(h.name), []byte{0, h.args}))
	}

	var data []byte
	text := func(s string) []byte { // its address and length, as arguments
		at := texts + len(data)
		data = append(data, s...)
		return cat(constant(at), constant(len(s)))
	}
	call := func(function byte, args ...[]byte) []byte {
		return cat(cat(args...), []byte{opCall, function, opDrop})
	}
	onRequest := call(pairs, constant(requestHeaders), constant(scratch), constant(scratch+4))
	for _, p := range properties {
		onRequest = cat(onRequest, call(property, text(p.name), text(p.value)))
	}
	onResponse := call(value, constant(responseHeaders), text("x-ratelimit-remaining"), constant(scratch), constant(scratch+4))
	for _, h := range appended {
		onResponse = cat(onResponse, call(add, constant(responseHeaders), text(h.name), text(h.value)))
	}
	for _, h := range replaced {
		onResponse = cat(onResponse, call(replace, constant(responseHeaders), text(h.name), text(h.value)))
	}

	callbacks := []struct {
		name string
		kind byte
		code []byte
	}{
		{"proxy_abi_version_0_2_1", none, nil},
		{"proxy_on_context_create", two, nil},
		{"proxy_on_request_headers", 3, cat(onRequest, constant(actionContinue))},
		{"proxy_on_response_headers", 3, cat(onResponse, constant(actionContinue))},
		{"proxy_on_memory_allocate", 1, constant(allocated)},
		{"proxy_on_done", 1, constant(1)},
		{"proxy_on_log", oneNone, nil},
		{"proxy_on_delete", oneNone, nil},
	}
	functions, bodies, exports := [][]byte{}, [][]byte{}, [][]byte{cat(name("memory"), []byte{2, 0})}
	for i, c := range callbacks {
		functions = append(functions, []byte{c.kind})
		bodies = append(bodies, body(c.code...))
		exports = append(exports, cat(name(c.name), []byte{0, byte(len(host) + i)}))
	}
	return cat([]byte("\x00asm\x01\x00\x00\x00"), types,
		section(importSection, vec(imported...)),
		section(functionSection, vec(functions...)),
		section(memorySection, vec([]byte{0, 1})),
		section(exportSection, vec(exports...)),
		section(codeSection, vec(bodies...)),
		section(dataSection, vec(cat([]byte{0}, constant(texts), []byte{opEnd}, unsigned(len(data)), data))))
}
