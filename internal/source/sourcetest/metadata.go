package sourcetest

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Metadata encodes dynamic metadata, by namespace and key, as the proxy hands
// it out: an envoy.config.core.v3.Metadata message. Values are strings, float64,
// bool, nil, []any and map[string]any.
func Metadata(all map[string]map[string]any) []byte {
	var out []byte
	for ns, fields := range all {
		out = appendBytes(out, 1, entry(ns, object(fields)))
	}
	return out
}

// WithMetadata sets the request's dynamic metadata.
func (r *Request) WithMetadata(all map[string]map[string]any) *Request {
	r.Attributes["metadata"] = Metadata(all)
	return r
}

func entry(key string, value []byte) []byte {
	return appendBytes(appendBytes(nil, 1, []byte(key)), 2, value)
}

func object(fields map[string]any) []byte {
	var out []byte
	for k, v := range fields {
		out = appendBytes(out, 1, entry(k, value(v)))
	}
	return out
}

func value(v any) []byte {
	switch v := v.(type) {
	case nil:
		return []byte{1 << 3, 0}
	case float64:
		return binary.LittleEndian.AppendUint64([]byte{2<<3 | 1}, math.Float64bits(v))
	case string:
		return appendBytes(nil, 3, []byte(v))
	case bool:
		if v {
			return []byte{4 << 3, 1}
		}
		return []byte{4 << 3, 0}
	case map[string]any:
		return appendBytes(nil, 5, object(v))
	case []any:
		var items []byte
		for _, item := range v {
			items = appendBytes(items, 1, value(item))
		}
		return appendBytes(nil, 6, items)
	}
	panic(fmt.Sprintf("sourcetest: a %T has no place in metadata", v))
}

func appendBytes(dst []byte, field uint64, b []byte) []byte {
	dst = binary.AppendUvarint(dst, field<<3|2)
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
