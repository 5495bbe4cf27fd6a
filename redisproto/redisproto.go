// Package redisproto encodes commands for Redis and decodes its RESP2 replies.
// It does no I/O and imports the standard library only.
package redisproto

// Kind is a reply's type: its first byte on the wire, or Null.
type Kind byte

const (
	SimpleString Kind = '+'
	Error        Kind = '-'
	Integer      Kind = ':'
	Bulk         Kind = '$'
	Array        Kind = '*'
	Null         Kind = '_' // a bulk or array of length -1
)

// Value is one reply. Str and Elems point into the decoder and are valid until
// its next call.
type Value struct {
	Kind  Kind
	Int   int64   // Integer
	Str   []byte  // SimpleString, Error, Bulk
	Elems []Value // Array
}
