package host

import (
	"encoding/binary"
	"unsafe"
)

// What Envoy accepts of a serialised map; it drops a larger one whole.
const (
	MaxPairs      = 1024
	MaxPairsBytes = 1 << 20
)

// Pairs reads a serialised map: the number of fields, then each name's and
// value's length, all 32-bit little-endian, then names and values, each followed
// by a NUL. It allocates nothing: the strings are views of the buffer, which
// must not be written to again.
//
// A buffer that ends too soon, or whose lengths point outside it, yields the
// fields before the fault and no more.
type Pairs struct {
	raw  []byte
	left int // fields not yet read
	size int // where the next field's lengths are
	data int // where the next field's name is
}

// ReadPairs starts at the first field of raw.
func ReadPairs(raw []byte) Pairs {
	const head = 4
	if len(raw) < head {
		return Pairs{}
	}
	n := int(binary.LittleEndian.Uint32(raw))
	if n > (len(raw)-head)/8 {
		// The lengths alone don't fit, so where the names begin is unknown.
		return Pairs{}
	}
	return Pairs{raw: raw, left: n, size: head, data: head + 8*n}
}

// Next returns the next field; ok is false after the last.
func (p *Pairs) Next() (name, value string, ok bool) {
	if p.left == 0 {
		return "", "", false
	}
	nameLen := uint64(binary.LittleEndian.Uint32(p.raw[p.size:]))
	valueLen := uint64(binary.LittleEndian.Uint32(p.raw[p.size+4:]))
	if uint64(p.data)+nameLen+valueLen+2 > uint64(len(p.raw)) {
		p.left = 0
		return "", "", false
	}
	name = view(p.raw[p.data:], int(nameLen))
	p.data += int(nameLen) + 1
	value = view(p.raw[p.data:], int(valueLen))
	p.data += int(valueLen) + 1
	p.size += 8
	p.left--
	return name, value, true
}

// Find returns the value of the next field of a name. Requests are searched
// several times, so it looks no closer at the others than at their lengths.
func (p *Pairs) Find(name string) (value string, ok bool) {
	raw, left, size, data := p.raw, p.left, p.size, p.data
	for left > 0 {
		lengths := binary.LittleEndian.Uint64(raw[size:]) // both in one go
		n := int64(uint32(lengths))
		end := int64(data) + n + int64(lengths>>32) + 2
		if end > int64(len(raw)) {
			left = 0
			break
		}
		at := data
		left, size, data = left-1, size+8, int(end)
		if n == int64(len(name)) && view(raw[at:], int(n)) == name {
			p.left, p.size, p.data = left, size, data
			at += int(n) + 1
			return view(raw[at:], data-1-at), true
		}
	}
	p.left = left
	return "", false
}

// Len is how many fields are left to read, if the buffer is sound.
func (p *Pairs) Len() int { return p.left }

// Text returns b as a string without copying. b must not be written to while the
// string is in use; what goes into a Host isn't kept, so it is free after the
// call.
func Text(b []byte) string { return view(b, len(b)) }

// view returns the first n bytes of b as a string without copying.
func view(b []byte, n int) string {
	if n == 0 {
		return ""
	}
	return unsafe.String(unsafe.SliceData(b), n)
}

// AppendPairs appends the serialised form of pairs to dst.
func AppendPairs(dst []byte, pairs [][2]string) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, uint32(len(pairs)))
	for i := range pairs {
		p := &pairs[i]
		dst = binary.LittleEndian.AppendUint64(dst, uint64(uint32(len(p[0])))|uint64(len(p[1]))<<32)
	}
	for i := range pairs {
		p := &pairs[i]
		dst = append(append(dst, p[0]...), 0)
		dst = append(append(dst, p[1]...), 0)
	}
	return dst
}
