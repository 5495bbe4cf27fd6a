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
	p := h.Pairs()
	first, ok := p.Find(name)
	if !ok {
		return "", false
	}
	second, again := p.Find(name)
	if !again {
		return first, true
	}
	total := len(first)
	for rest, v := p, second; again; v, again = rest.Find(name) {
		total += 1 + len(v)
	}
	joined := append(make([]byte, 0, total), first...)
	for v, more := second, true; more; v, more = p.Find(name) {
		joined = append(append(joined, ','), v...)
	}
	return view(joined, len(joined)), true
}

// First returns a field's first value.
func (h Headers) First(name string) (value string, ok bool) {
	p := h.Pairs()
	return p.Find(name)
}

// Pairs reads the fields one by one, in the host's order.
func (h Headers) Pairs() Pairs { return ReadPairs(h.raw) }
