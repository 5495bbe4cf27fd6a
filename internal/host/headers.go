package host

// Headers is a header map as the host serialised it, searched in place. Hosts
// send names in lower case, and names are compared as they are.
type Headers struct {
	raw []byte
}

// NewHeaders looks into raw, which must not be written to again: the strings
// that Headers returns are views of it.
func NewHeaders(raw []byte) Headers { return Headers{raw: raw} }

// Get returns a field's value, of a repeated one its values joined by commas.
// Only joining allocates. ok is false when there is no such field.
func (h Headers) Get(name string) (value string, ok bool) {
	first, n, total := "", 0, 0
	p := h.Pairs()
	for {
		k, v, more := p.Next()
		if !more {
			break
		}
		if k != name {
			continue
		}
		if n == 0 {
			first = v
		}
		n++
		total += len(v) + 1
	}
	switch n {
	case 0:
		return "", false
	case 1:
		return first, true
	}
	joined := append(make([]byte, 0, total), first...)
	p = h.Pairs()
	for seen := 0; seen < n; {
		k, v, _ := p.Next()
		if k != name {
			continue
		}
		if seen > 0 {
			joined = append(joined, ',')
			joined = append(joined, v...)
		}
		seen++
	}
	return view(joined, len(joined)), true
}

// First returns a field's first value.
func (h Headers) First(name string) (value string, ok bool) {
	p := h.Pairs()
	for {
		k, v, more := p.Next()
		if !more {
			return "", false
		}
		if k == name {
			return v, true
		}
	}
}

// Pairs reads the fields one by one, in the host's order.
func (h Headers) Pairs() Pairs { return ReadPairs(h.raw) }
