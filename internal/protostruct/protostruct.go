// Package protostruct turns a serialised google.protobuf.Struct into JSON. Envoy
// hands a plugin's configuration over as it is in its own: a StringValue as the
// text, a Struct (plain YAML in Envoy's file) as the message's bytes.
package protostruct

import (
	"errors"
	"math"
	"strconv"
)

// maxDepth bounds nesting, and with it recursion.
const maxDepth = 64

var (
	errCut   = errors.New("the message ends too soon")
	errWire  = errors.New("not a google.protobuf.Struct")
	errDeep  = errors.New("nested too deeply")
	errValue = errors.New("a number that JSON can't say")
)

// AppendJSON appends the JSON of a serialised Struct.
func AppendJSON(dst, message []byte) ([]byte, error) {
	return appendStruct(dst, message, 0)
}

// Wire types of protobuf's encoding.
const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
)

// field reads one field: its number, its wire type, and its bytes or number.
func field(b []byte) (num, wire int, data []byte, n uint64, rest []byte, err error) {
	tag, b, err := uvarint(b)
	if err != nil {
		return 0, 0, nil, 0, nil, err
	}
	num, wire = int(tag>>3), int(tag&7)
	switch wire {
	case varint:
		n, b, err = uvarint(b)
		return num, wire, nil, n, b, err
	case fixed64:
		if len(b) < 8 {
			return 0, 0, nil, 0, nil, errCut
		}
		for i := 7; i >= 0; i-- {
			n = n<<8 | uint64(b[i])
		}
		return num, wire, nil, n, b[8:], nil
	case bytes:
		size, b, err := uvarint(b)
		if err != nil {
			return 0, 0, nil, 0, nil, err
		}
		if size > uint64(len(b)) {
			return 0, 0, nil, 0, nil, errCut
		}
		return num, wire, b[:size], 0, b[size:], nil
	}
	return 0, 0, nil, 0, nil, errWire
}

func uvarint(b []byte) (uint64, []byte, error) {
	var x uint64
	for i := 0; i < len(b) && i < 10; i++ {
		x |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return x, b[i+1:], nil
		}
	}
	return 0, nil, errCut
}

// appendStruct appends an object: field 1 is its entries, each a message of a
// key (1) and a Value (2).
func appendStruct(dst, b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	dst = append(dst, '{')
	for first := true; len(b) > 0; first = false {
		num, wire, entry, _, rest, err := field(b)
		if err != nil {
			return nil, err
		}
		if num != 1 || wire != bytes {
			return nil, errWire
		}
		b = rest
		if !first {
			dst = append(dst, ',')
		}
		var key, value []byte
		for len(entry) > 0 {
			num, wire, data, _, rest, err := field(entry)
			if err != nil {
				return nil, err
			}
			if wire != bytes {
				return nil, errWire
			}
			entry = rest
			switch num {
			case 1:
				key = data
			case 2:
				value = data
			default:
				return nil, errWire
			}
		}
		dst = append(appendString(dst, key), ':')
		if dst, err = appendValue(dst, value, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, '}'), nil
}

// appendValue appends a Value, a message with one of six fields; none is null.
func appendValue(dst, b []byte, depth int) ([]byte, error) {
	if len(b) == 0 {
		return append(dst, "null"...), nil
	}
	num, wire, data, n, rest, err := field(b)
	if err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		return nil, errWire
	}
	switch {
	case num == 1 && wire == varint:
		return append(dst, "null"...), nil
	case num == 2 && wire == fixed64:
		return appendNumber(dst, math.Float64frombits(n))
	case num == 3 && wire == bytes:
		return appendString(dst, data), nil
	case num == 4 && wire == varint:
		return strconv.AppendBool(dst, n != 0), nil
	case num == 5 && wire == bytes:
		return appendStruct(dst, data, depth)
	case num == 6 && wire == bytes:
		return appendList(dst, data, depth)
	}
	return nil, errWire
}

// appendList appends a ListValue: field 1 is its Values.
func appendList(dst, b []byte, depth int) ([]byte, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	dst = append(dst, '[')
	for first := true; len(b) > 0; first = false {
		num, wire, data, _, rest, err := field(b)
		if err != nil {
			return nil, err
		}
		if num != 1 || wire != bytes {
			return nil, errWire
		}
		b = rest
		if !first {
			dst = append(dst, ',')
		}
		if dst, err = appendValue(dst, data, depth+1); err != nil {
			return nil, err
		}
	}
	return append(dst, ']'), nil
}

func appendNumber(dst []byte, f float64) ([]byte, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, errValue
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return strconv.AppendInt(dst, int64(f), 10), nil
	}
	return strconv.AppendFloat(dst, f, 'g', -1, 64), nil
}

// appendString appends a JSON text; what isn't UTF-8 stays as it is, for the
// JSON check to refuse.
func appendString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}
