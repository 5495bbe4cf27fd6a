package emulator

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"
)

// Path joins the elements of an attribute's path, as Properties want it.
func Path(elements ...string) string { return strings.Join(elements, "\x00") }

// Number is the form of a number as an attribute's value.
func Number(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

func (vm *VM) getProperty(a []uint64) status {
	path, readable := vm.text(a[0], a[1])
	if !readable {
		return invalidMemoryAccess
	}
	v, found := vm.property(vm.acting(), path)
	if !found {
		return notFound
	}
	return vm.give(v, a[2], a[3])
}

func (vm *VM) setProperty(a []uint64) status {
	path, ok1 := vm.text(a[0], a[1])
	value, ok2 := vm.bytes(a[2], a[3])
	if !ok1 || !ok2 {
		return invalidMemoryAccess
	}
	r := vm.acting().request
	if r == nil {
		return notFound
	}
	r.state[path] = value
	return ok
}

// property finds an attribute: one that the test set, one that the proxy knows
// by itself, or filter state that the plugin set.
func (vm *VM) property(c *vmContext, path string) (value []byte, found bool) {
	r := c.request
	if r != nil {
		if v, ok := r.properties[path]; ok {
			return v, true
		}
	}
	if v, ok := vm.proxy.config.Properties[path]; ok {
		return v, true
	}
	first, rest, _ := strings.Cut(path, "\x00")
	switch first {
	case "plugin_name":
		return []byte(vm.proxy.config.Name), true
	case "plugin_root_id":
		return []byte(vm.proxy.config.RootID), true
	case "plugin_vm_id":
		return []byte(vm.proxy.config.VMID), true
	}
	if r == nil {
		return nil, false
	}
	switch first {
	case "request":
		return r.requestProperty(rest)
	case "response":
		return r.responseProperty(rest)
	case "filter_state":
		v, ok := r.state[strings.TrimPrefix(rest, "wasm.")]
		return slices.Clone(v), ok
	}
	v, ok := r.state[first]
	return slices.Clone(v), ok && rest == ""
}

// requestProperty knows what the request's headers say, while they can be
// reached.
func (r *Request) requestProperty(name string) ([]byte, bool) {
	h := r.req.headers
	if !r.req.reachHeaders && !r.logging {
		return nil, false
	}
	text := func(field string) ([]byte, bool) { return []byte(h.Get(field)), h.Has(field) }
	path, query, _ := strings.Cut(h.Get(":path"), "?")
	if field, ok := strings.CutPrefix(name, "headers\x00"); ok {
		return text(field)
	}
	switch name {
	case "headers":
		return h.serialise(), true
	case "path":
		return text(":path")
	case "url_path":
		return []byte(path), true
	case "query":
		return []byte(query), true
	case "host":
		return text(":authority")
	case "scheme":
		return text(":scheme")
	case "method":
		return text(":method")
	case "id":
		return text("x-request-id")
	case "referer":
		return text("referer")
	case "useragent":
		return text("user-agent")
	case "size":
		n, err := strconv.ParseInt(h.Get("content-length"), 10, 64)
		if err != nil {
			n = int64(len(r.upstream.Body))
		}
		return Number(n), true
	}
	return nil, false
}

func (r *Request) responseProperty(name string) ([]byte, bool) {
	h := r.resp.headers
	if r.client.Headers != nil {
		h = r.client.Headers
	}
	if field, ok := strings.CutPrefix(name, "headers\x00"); ok {
		return []byte(h.Get(field)), h.Has(field)
	}
	switch name {
	case "headers":
		return h.serialise(), h != nil
	case "code":
		n, err := strconv.ParseInt(h.Get(":status"), 10, 64)
		return Number(n), err == nil
	case "code_details":
		return []byte(r.details), r.details != ""
	case "size":
		return Number(int64(len(r.client.Body))), true
	}
	return nil, false
}
