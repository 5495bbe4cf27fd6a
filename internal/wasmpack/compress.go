package wasmpack

import "encoding/binary"

// The compressed form is a run of steps. A step is a byte, whose high half is how
// many bytes follow as they are, and whose low half is how many more than minMatch
// are then copied from what came before; a half of 15 has a number behind the byte
// that is added to it. Then come those bytes, and how far back the copy begins.
// The last step ends with its bytes. Numbers are unsigned LEB128.
const (
	minMatch = 4
	half     = 15
)

const (
	hashBits = 16
	maxTries = 64 // earlier places that are looked at for each match
)

// compress packs data.
func compress(data []byte) []byte {
	var out []byte
	head := make([]int32, 1<<hashBits) // 1 + the last place with a hash
	before := make([]int32, len(data)) // the same for the place before that
	enter := func(i int) {
		if i+minMatch > len(data) {
			return
		}
		h := binary.LittleEndian.Uint32(data[i:]) * 2654435761 >> (32 - hashBits)
		before[i] = head[h]
		head[h] = int32(i + 1)
	}
	longest := func(i int) (length, back int) {
		if i+minMatch > len(data) {
			return 0, 0
		}
		h := binary.LittleEndian.Uint32(data[i:]) * 2654435761 >> (32 - hashBits)
		best := 0
		for at, tries := head[h], maxTries; at > 0 && tries > 0; at, tries = before[at-1], tries-1 {
			j := int(at - 1)
			n := 0
			for i+n < len(data) && data[j+n] == data[i+n] {
				n++
			}
			// A byte further back has to pay for its longer number.
			if gain := n - numberSize(i-j); n >= minMatch && gain > best {
				best, length, back = gain, n, i-j
			}
		}
		return length, back
	}
	from := 0
	for i := 0; i < len(data); {
		length, back := longest(i)
		enter(i)
		if length > 0 {
			// The next byte may begin a match that is worth more.
			if next, far := longest(i + 1); next-numberSize(far) > length-numberSize(back)+1 {
				length = 0
			}
		}
		if length == 0 {
			i++
			continue
		}
		out = appendStep(out, data[from:i], length, back)
		for j := i + 1; j < i+length; j++ {
			enter(j)
		}
		i += length
		from = i
	}
	return appendStep(out, data[from:], 0, 0)
}

func numberSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// appendStep appends a step; the last one has a length of 0.
func appendStep(dst, plain []byte, length, back int) []byte {
	more := max(length-minMatch, 0)
	dst = append(dst, byte(min(len(plain), half)<<4|min(more, half)))
	if len(plain) >= half {
		dst = binary.AppendUvarint(dst, uint64(len(plain)-half))
	}
	dst = append(dst, plain...)
	if length == 0 {
		return dst
	}
	if more >= half {
		dst = binary.AppendUvarint(dst, uint64(more-half))
	}
	return binary.AppendUvarint(dst, uint64(back))
}
