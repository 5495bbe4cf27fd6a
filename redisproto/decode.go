package redisproto

import "math"

// Decoder turns a byte stream, cut anywhere, into replies. Feed it what came,
// then call Next until it has no more:
//
//	d.Feed(p)
//	for {
//		v, ok, err := d.Next()
//		if err != nil { … } // the stream is lost; Reset for the next one
//		if !ok { break }    // wait for more bytes
//		…                   // v is valid until the next call
//	}
//
// What Next returns depends on the bytes alone, never on how they were cut. A
// byte is looked at once (those of a number's line up to 24 times), however
// often a reply arrives in parts. Buffers are reused: replies like earlier ones
// allocate nothing.
//
// The zero value is ready, with default limits. It is not safe for concurrent
// use.
type Decoder struct {
	lim Limits
	set bool // lim holds no zeros

	buf   []byte
	start int // in buf: the first byte of the reply being parsed
	pos   int // in buf: the first byte that isn't parsed

	// The reply being parsed.
	look  int // in buf: where the search for a line's end goes on
	body  int // length of the bulk string whose header was parsed, or -1
	nodes []node
	open  []int // elements that each unfinished array still lacks, outermost first
	elems int   // elements announced so far

	vals  []Value // what the last Next returned points here
	fills []fill

	err error
}

// node is one parsed value. A reply's nodes lie in the order of its bytes.
type node struct {
	kind Kind
	off  int   // a string's first byte, counted from the reply's first
	n    int64 // an integer's value, a string's length, an array's element count
}

// fill is an array under construction: the part of vals still to be filled.
type fill struct{ next, end int }

// A number longer than maxDigits isn't one that Redis sends: no int64 needs more
// than 19. maxNumberLine adds the type byte, a sign, CR and LF.
const (
	maxDigits     = 20
	maxNumberLine = maxDigits + 4
	safeDigits    = 18 // so many can't be too large
)

// Buffers that grew beyond this for one reply are given up after it.
const (
	keepBytes = 64 << 10
	keepElems = 1 << 10
)

// NewDecoder returns a Decoder with the given limits.
func NewDecoder(l Limits) *Decoder {
	d := &Decoder{lim: l}
	d.Reset()
	return d
}

// Reset forgets every byte fed and any error, for a new stream.
func (d *Decoder) Reset() {
	d.lim, d.set = d.lim.withDefaults(), true
	d.err = nil
	d.buf, d.start, d.pos = d.buf[:0], 0, 0
	d.trim()
	d.begin()
}

// Feed adds bytes of the stream; p isn't kept. Bytes after an error are
// dropped. Feeding on without taking replies out by Next is an error once more
// than MaxBuffered bytes wait.
func (d *Decoder) Feed(p []byte) {
	if !d.set {
		d.Reset()
	}
	if d.err != nil {
		return
	}
	// A number's line is refused at its end only, hence the slack.
	if len(d.buf)-d.start > d.lim.MaxBuffered+maxNumberLine {
		d.fail(ErrUndrained)
		return
	}
	switch {
	case d.start == len(d.buf):
		d.buf, d.start, d.pos, d.look = d.buf[:0], 0, 0, 0
		d.trim()
	case d.start >= len(d.buf)/2:
		// Moving less than what was consumed keeps the cost linear.
		n := copy(d.buf, d.buf[d.start:])
		d.buf = d.buf[:n]
		d.pos -= d.start
		d.look -= d.start
		d.start = 0
	}
	d.buf = append(d.buf, p...)
}

// Next returns the next whole reply. Without one, ok is false and err is nil.
// After an error, which is a DecodeError, every call returns that error until
// Reset.
func (d *Decoder) Next() (v Value, ok bool, err error) {
	if d.err != nil {
		return Value{}, false, d.err
	}
	if !d.set {
		d.Reset()
	}
	if v, ok := d.integers(); ok {
		return v, true, nil
	}
	done, err := d.parse()
	if err != nil {
		d.fail(err)
		return Value{}, false, err
	}
	if !done {
		return Value{}, false, nil
	}
	v = d.build()
	d.start = d.pos
	d.begin()
	return v, true, nil
}

func (d *Decoder) fail(err error) {
	d.err = err
	d.buf, d.start, d.pos = d.buf[:0], 0, 0
	d.begin()
	d.trim()
}

// begin prepares for a reply that starts at d.start.
func (d *Decoder) begin() {
	d.look, d.body, d.elems = d.pos, -1, 0
	d.nodes, d.open = d.nodes[:0], d.open[:0]
}

// trim gives up buffers that one long reply made large.
func (d *Decoder) trim() {
	if cap(d.vals) > keepElems || cap(d.nodes) > keepElems {
		d.vals, d.nodes = nil, nil
	}
	if cap(d.buf) > keepBytes {
		d.buf = nil
		clear(d.vals) // they point into it
	}
}

// parse goes on until the reply is whole, the bytes end, or they are wrong.
func (d *Decoder) parse() (done bool, err error) {
	for {
		if d.body < 0 {
			more, err := d.header()
			if err != nil || !more {
				return false, err
			}
			if d.body < 0 && d.complete() {
				return true, nil
			}
			continue
		}
		end := d.pos + d.body
		if len(d.buf) < end+2 {
			return false, nil
		}
		if d.buf[end] != '\r' || d.buf[end+1] != '\n' {
			return false, ErrTerminator
		}
		d.nodes = append(d.nodes, node{kind: Bulk, off: d.pos - d.start, n: int64(d.body)})
		d.pos, d.body = end+2, -1
		if d.complete() {
			return true, nil
		}
	}
}

// complete accounts for one value that ended, or for an array header, and
// reports whether the reply is whole.
func (d *Decoder) complete() bool {
	d.look = d.pos
	if last := d.nodes[len(d.nodes)-1]; last.kind == Array && last.n > 0 {
		d.open = append(d.open, int(last.n))
		return false
	}
	for len(d.open) > 0 {
		top := len(d.open) - 1
		d.open[top]--
		if d.open[top] > 0 {
			return false
		}
		d.open = d.open[:top]
	}
	return true
}

// header parses one line: a value other than a bulk string, or a bulk string's
// length, which it leaves in d.body. more is false when the line isn't whole.
func (d *Decoder) header() (more bool, err error) {
	if d.pos == len(d.buf) {
		return false, nil
	}
	kind := Kind(d.buf[d.pos])
	switch kind {
	case SimpleString, Error:
		return d.textLine(kind)
	case Integer, Bulk, Array:
		n, next, err := d.number(kind)
		if err != nil || next == 0 {
			return false, err
		}
		if next-d.start > d.lim.MaxBuffered {
			return false, ErrSize
		}
		return true, d.counted(kind, n, next)
	}
	return false, ErrType
}

// counted takes a number's meaning from its type. next is where its line ends.
func (d *Decoder) counted(kind Kind, n int64, next int) error {
	switch {
	case kind == Integer:
	case n == -1:
		kind, n = Null, 0
	case kind == Bulk:
		if n > int64(d.lim.MaxBulk) || n > int64(d.lim.MaxBuffered-(next-d.start)-2) {
			return ErrSize
		}
		d.pos, d.body = next, int(n)
		return nil
	default:
		if len(d.open) >= d.lim.MaxDepth {
			return ErrDepth
		}
		if n > int64(d.lim.MaxElems-d.elems) {
			return ErrElems
		}
		d.elems += int(n)
	}
	d.nodes = append(d.nodes, node{kind: kind, n: n})
	d.pos = next
	return nil
}

// textLine parses a simple string or an error.
func (d *Decoder) textLine(kind Kind) (more bool, err error) {
	text := d.pos + 1
	// The CR may lie here at the latest.
	last := min(text+d.lim.MaxBulk, d.start+d.lim.MaxBuffered-2)
	end := min(len(d.buf), last+1)
	i := max(d.look, text)
	for i < end && d.buf[i] != '\r' && d.buf[i] != '\n' {
		i++
	}
	d.look = i
	switch {
	case i > last:
		return false, ErrSize
	case i >= end:
		return false, nil
	case d.buf[i] == '\n':
		return false, ErrTerminator
	case i+1 == len(d.buf):
		return false, nil
	case d.buf[i+1] != '\n':
		return false, ErrTerminator
	}
	d.nodes = append(d.nodes, node{kind: kind, off: text - d.start, n: int64(i - text)})
	d.pos = i + 2
	return true, nil
}

// number parses the line of an integer or a length. next is where the line
// ends, or 0 when it isn't whole. A length is ≥ -1.
func (d *Decoder) number(kind Kind) (n int64, next int, err error) {
	b := d.buf[d.pos+1:]
	i, neg := 0, false
	if len(b) > 0 && (b[0] == '-' || b[0] == '+' && kind == Integer) {
		i, neg = 1, b[0] == '-'
	}
	first := i
	var u uint64
	for most := min(len(b), first+safeDigits); i < most; i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		u = u*10 + uint64(c)
	}
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		if i-first >= maxDigits || u > (math.MaxUint64-9)/10 {
			return 0, 0, ErrNumber
		}
		u = u*10 + uint64(c)
	}
	switch {
	case neg && u > 1<<63, !neg && u > math.MaxInt64:
		return 0, 0, ErrNumber
	case i == len(b):
		return 0, 0, nil
	case i == first:
		return 0, 0, ErrNumber
	case b[i] == '\n':
		return 0, 0, ErrTerminator
	case b[i] != '\r':
		return 0, 0, ErrNumber
	case neg && kind != Integer && (u != 1 || i != first+1):
		return 0, 0, ErrNumber
	case i+1 == len(b):
		return 0, 0, nil
	case b[i+1] != '\n':
		return 0, 0, ErrTerminator
	}
	n = int64(u)
	if neg {
		n = -n
	}
	return n, d.pos + 1 + i + 2, nil
}

// build makes the Value of a whole reply. Each array's elements get one run of
// vals, laid out when its header comes by.
func (d *Decoder) build() Value {
	if cap(d.vals) < len(d.nodes) {
		d.vals = make([]Value, len(d.nodes)+len(d.nodes)/2)
	}
	vals := d.vals[:len(d.nodes)]
	fills := append(d.fills[:0], fill{0, 1})
	used := 1
	for _, nd := range d.nodes {
		top := &fills[len(fills)-1]
		v := &vals[top.next]
		top.next++
		if top.next == top.end {
			fills = fills[:len(fills)-1]
		}
		*v = Value{Kind: nd.kind}
		switch nd.kind {
		case Integer:
			v.Int = nd.n
		case Array:
			n := int(nd.n)
			v.Elems = vals[used : used+n : used+n]
			if n > 0 {
				fills = append(fills, fill{used, used + n})
				used += n
			}
		case SimpleString, Error, Bulk:
			off := d.start + nd.off
			end := off + int(nd.n)
			v.Str = d.buf[off:end:end]
		}
	}
	d.fills = fills
	return vals[0]
}
