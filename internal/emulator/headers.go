package emulator

import (
	"encoding/binary"
	"slices"
	"strings"

	"sluice/internal/host"
)

// Headers are header fields in order; a name may come several times. Names are
// in lower case.
type Headers [][2]string

// Get returns the first value of a name, "" when there is none.
func (h Headers) Get(name string) string {
	for _, f := range h {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// Has reports whether there is a field of that name.
func (h Headers) Has(name string) bool {
	return slices.ContainsFunc(h, func(f [2]string) bool { return f[0] == name })
}

// Values returns all values of a name, in order.
func (h Headers) Values(name string) []string {
	var values []string
	for _, f := range h {
		if f[0] == name {
			values = append(values, f[1])
		}
	}
	return values
}

// Clone returns a copy.
func (h Headers) Clone() Headers { return slices.Clone(h) }

// lower returns a copy with all names in lower case, as Envoy keeps them.
func (h Headers) lower() Headers {
	c := make(Headers, len(h))
	for i, f := range h {
		c[i] = [2]string{strings.ToLower(f[0]), f[1]}
	}
	return c
}

// add appends a field; those whose names start with a colon stay in front.
func (h *Headers) add(name, value string) {
	field := [2]string{strings.ToLower(name), value}
	i := len(*h)
	if strings.HasPrefix(name, ":") {
		i = slices.IndexFunc(*h, func(f [2]string) bool { return !strings.HasPrefix(f[0], ":") })
		if i < 0 {
			i = len(*h)
		}
	}
	*h = slices.Insert(*h, i, field)
}

func (h *Headers) remove(name string) {
	name = strings.ToLower(name)
	*h = slices.DeleteFunc(*h, func(f [2]string) bool { return f[0] == name })
}

// set replaces all fields of a name by one, which comes last.
func (h *Headers) set(name, value string) {
	h.remove(name)
	h.add(name, value)
}

func (h Headers) byteSize() int {
	n := 0
	for _, f := range h {
		n += len(f[0]) + len(f[1])
	}
	return n
}

func (h Headers) serialise() []byte { return host.AppendPairs(nil, h) }

// parsePairs reads a serialised map as strictly as Envoy does: anything unsound,
// too large or too long is no fields at all.
func parsePairs(raw []byte) Headers {
	if len(raw) < 4 || len(raw) > host.MaxPairsBytes {
		return nil
	}
	n := int(binary.LittleEndian.Uint32(raw))
	if n > host.MaxPairs {
		return nil
	}
	var h Headers
	size := 4
	p := host.ReadPairs(raw)
	for name, value, ok := p.Next(); ok; name, value, ok = p.Next() {
		h = append(h, [2]string{strings.Clone(name), strings.Clone(value)})
		size += 8 + len(name) + 1 + len(value) + 1
	}
	if len(h) != n || size != len(raw) {
		return nil
	}
	end := 4 + 8*n
	for _, f := range h {
		for _, s := range f {
			end += len(s)
			if raw[end] != 0 {
				return nil
			}
			end++
		}
	}
	return h
}
