package source

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unsafe"
)

// This file reads the three protobuf messages that dynamic metadata is made of:
// envoy.config.core.v3.Metadata, google.protobuf.Struct and Value.

// fields walks a message's fields. Bad bytes end the walk.
type fields struct {
	rest  []byte
	num   uint64
	wire  byte
	bytes []byte // of a length-delimited field
	bits  uint64 // of any other
}

const (
	wireVarint = 0
	wire64     = 1
	wireBytes  = 2
	wire32     = 5
)

func (f *fields) next() bool {
	if len(f.rest) == 0 {
		return false
	}
	tag, n := binary.Uvarint(f.rest)
	if n <= 0 {
		return false
	}
	f.rest = f.rest[n:]
	f.num, f.wire = tag>>3, byte(tag&7)
	switch f.wire {
	case wireVarint:
		if f.bits, n = binary.Uvarint(f.rest); n <= 0 {
			return false
		}
	case wire64:
		if n = 8; len(f.rest) < n {
			return false
		}
		f.bits = binary.LittleEndian.Uint64(f.rest)
	case wire32:
		if n = 4; len(f.rest) < n {
			return false
		}
		f.bits = uint64(binary.LittleEndian.Uint32(f.rest))
	case wireBytes:
		size, m := binary.Uvarint(f.rest)
		if m <= 0 || size > uint64(len(f.rest)-m) {
			return false
		}
		n = m + int(size)
		f.bytes = f.rest[m:n]
	default:
		return false
	}
	f.rest = f.rest[n:]
	return true
}

// entry reads the field as an entry of a Struct's map.
func (f *fields) entry() (key string, val protoValue, ok bool) {
	if f.num != 1 || f.wire != wireBytes {
		return "", protoValue{}, false
	}
	k, raw := mapEntry(f.bytes)
	val, ok = value(raw)
	return k, val, ok
}

// mapEntry reads a map's entry whose values are messages.
func mapEntry(b []byte) (key string, val []byte) {
	for f := (fields{rest: b}); f.next(); {
		if f.wire != wireBytes {
			continue
		}
		switch f.num {
		case 1:
			key = text(f.bytes)
		case 2:
			val = f.bytes
		}
	}
	return key, val
}

func text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

// namespace finds a namespace in a Metadata message: a Struct.
func namespace(metadata []byte, name string) ([]byte, bool) {
	for f := (fields{rest: metadata}); f.next(); {
		if f.num == 1 && f.wire == wireBytes {
			if k, val := mapEntry(f.bytes); k == name {
				return val, true
			}
		}
	}
	return nil, false
}

// entryOf finds a field of a Struct.
func entryOf(object []byte, name string) (protoValue, bool) {
	for f := (fields{rest: object}); f.next(); {
		if k, val, ok := f.entry(); ok && k == name {
			return val, true
		}
	}
	return protoValue{}, false
}

// structField finds a field by a dotted name. A field whose own name has dots
// comes before nested ones, the longer name before the shorter. name has at
// most maxDots dots, each of which ends at most one name.
func structField(object []byte, name string) (protoValue, bool) {
	if val, ok := entryOf(object, name); ok {
		return val, true
	}
	for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
		if val, ok := entryOf(object, name[:i]); ok {
			if inner, ok := val.object(); ok {
				if val, ok := structField(inner, name[i+1:]); ok {
					return val, true
				}
			}
		}
	}
	return protoValue{}, false
}

// protoValue is a google.protobuf.Value.
type protoValue struct {
	kind  uint64 // its field's number
	bytes []byte
	bits  uint64
}

const (
	valueNumber = 2
	valueText   = 3
	valueBool   = 4
	valueObject = 5
	valueList   = 6
)

// value reads a Value message.
func value(b []byte) (protoValue, bool) {
	var v protoValue
	for f := (fields{rest: b}); f.next(); {
		v = protoValue{kind: f.num, bytes: f.bytes, bits: f.bits}
	}
	return v, v.kind != 0
}

// object returns the Struct that v holds.
func (v protoValue) object() ([]byte, bool) { return v.bytes, v.kind == valueObject }

// text is a value as sources give it: a number in decimals, true or false, a
// list as its items joined by commas. An object, null and an empty text are
// missing, in a list too.
func (v protoValue) text() (string, bool) {
	if v.kind != valueList {
		return v.scalar()
	}
	var out []byte
	for f := (fields{rest: v.bytes}); f.next(); {
		if f.num != 1 || f.wire != wireBytes {
			continue
		}
		item, ok := value(f.bytes)
		if !ok {
			continue
		}
		if s, ok := item.scalar(); ok {
			if len(out) > 0 {
				out = append(out, ',')
			}
			out = append(out, s...)
		}
	}
	return text(out), len(out) > 0
}

func (v protoValue) scalar() (string, bool) {
	switch v.kind {
	case valueText:
		return text(v.bytes), len(v.bytes) > 0
	case valueBool:
		return strconv.FormatBool(v.bits != 0), true
	case valueNumber:
		return formatNumber(math.Float64frombits(v.bits)), true
	}
	return "", false
}

// formatNumber writes a number in decimals without an exponent.
func formatNumber(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}
