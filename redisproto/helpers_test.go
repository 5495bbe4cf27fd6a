package redisproto

import (
	"bytes"
	"math/rand/v2"
	"strconv"
)

// appendValue encodes a reply, which production code never has to.
func appendValue(dst []byte, v Value) []byte {
	dst = append(dst, byte(v.Kind))
	switch v.Kind {
	case SimpleString, Error:
		dst = append(dst, v.Str...)
	case Integer:
		dst = strconv.AppendInt(dst, v.Int, 10)
	case Null:
		dst = append(dst[:len(dst)-1], "$-1"...)
	case Bulk:
		return AppendBulk(dst[:len(dst)-1], v.Str)
	case Array:
		dst = AppendArray(dst[:len(dst)-1], len(v.Elems))
		for _, e := range v.Elems {
			dst = appendValue(dst, e)
		}
		return dst
	}
	return append(dst, '\r', '\n')
}

func clone(v Value) Value {
	v.Str = bytes.Clone(v.Str)
	if v.Elems != nil {
		es := make([]Value, len(v.Elems))
		for i, e := range v.Elems {
			es[i] = clone(e)
		}
		v.Elems = es
	}
	return v
}

func equal(a, b Value) bool {
	if a.Kind != b.Kind || a.Int != b.Int || !bytes.Equal(a.Str, b.Str) || len(a.Elems) != len(b.Elems) {
		return false
	}
	for i := range a.Elems {
		if !equal(a.Elems[i], b.Elems[i]) {
			return false
		}
	}
	return true
}

func equalAll(a, b []Value) bool {
	return equal(Value{Kind: Array, Elems: a}, Value{Kind: Array, Elems: b})
}

// drain takes every reply out of d.
func drain(d *Decoder, into []Value) ([]Value, error) {
	for {
		v, ok, err := d.Next()
		if err != nil || !ok {
			return into, err
		}
		into = append(into, clone(v))
	}
}

// decodeAll feeds data to a fresh decoder in parts whose sizes cut gives.
func decodeAll(l Limits, data []byte, cut func(left int) int) (vs []Value, err error) {
	d := NewDecoder(l)
	for len(data) > 0 {
		n := cut(len(data))
		d.Feed(data[:n])
		data = data[n:]
		if vs, err = drain(d, vs); err != nil {
			return vs, err
		}
	}
	return vs, nil
}

func whole(left int) int  { return left }
func single(left int) int { return 1 }

func random(r *rand.Rand) func(int) int {
	return func(left int) int {
		// Small parts mostly, sometimes a large one.
		n := 1 + r.IntN(8)
		if r.IntN(8) == 0 {
			n = 1 + r.IntN(left)
		}
		return min(n, left)
	}
}

// randomValue makes replies of every kind and shape.
func randomValue(r *rand.Rand, depth int) Value {
	text := func() []byte {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = "abc -:$*+012\x00\xff"[r.IntN(14)]
		}
		return b
	}
	kinds := 6
	if depth == 0 {
		kinds = 5
	}
	switch r.IntN(kinds) {
	case 0:
		return Value{Kind: SimpleString, Str: text()}
	case 1:
		return Value{Kind: Error, Str: text()}
	case 2:
		return Value{Kind: Integer, Int: int64(r.Uint64()) >> r.IntN(64)}
	case 3:
		return Value{Kind: Null}
	case 4:
		b := text()
		if r.IntN(2) == 0 {
			b = append(b, "\r\n"...)
		}
		return Value{Kind: Bulk, Str: append(b, text()...)}
	}
	es := make([]Value, r.IntN(5))
	for i := range es {
		es[i] = randomValue(r, depth-1)
	}
	return Value{Kind: Array, Elems: es}
}
