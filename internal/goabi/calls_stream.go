//go:build wasip1

package goabi

// The calls below act on the effective context: the one whose callback runs, or
// the one set last. Maps, buffers, streams and metric kinds are numbered as in
// package host. Slices and strings that come back are the caller's.

// SetEffectiveContext makes id the context that the next calls act on, until
// the callback returns. BadArgument: that context is gone, and the effective
// one stays what it was.
func SetEffectiveContext(id uint32) Status { return proxySetEffectiveContext(id) }

// GetHeaderMapPairs returns a whole map in its serialised form; nothing when
// the map is empty or not there.
func GetHeaderMapPairs(m uint32) ([]byte, Status) {
	return take(proxyGetHeaderMapPairs(m, &out.ptr, &out.size))
}

// SetHeaderMapPairs replaces a whole map.
func SetHeaderMapPairs(m uint32, pairs []byte) Status {
	return proxySetHeaderMapPairs(m, text(pairs))
}

// GetHeaderMapSize returns how many bytes a map's names and values have.
func GetHeaderMapSize(m uint32) (uint32, Status) {
	return word(proxyGetHeaderMapSize(m, &out.word))
}

// GetHeaderMapValue returns the first value of a name.
func GetHeaderMapValue(m uint32, name string) (string, Status) {
	b, s := take(proxyGetHeaderMapValue(m, name, &out.ptr, &out.size))
	return text(b), s
}

// AddHeaderMapValue appends a field, besides any of the same name.
func AddHeaderMapValue(m uint32, name, value string) Status {
	return proxyAddHeaderMapValue(m, name, value)
}

// ReplaceHeaderMapValue sets a field in place of all of the same name.
func ReplaceHeaderMapValue(m uint32, name, value string) Status {
	return proxyReplaceHeaderMapValue(m, name, value)
}

// RemoveHeaderMapValue deletes every field of a name.
func RemoveHeaderMapValue(m uint32, name string) Status {
	return proxyRemoveHeaderMapValue(m, name)
}

// GetBufferBytes returns up to length bytes of a buffer from start on. What
// lies behind the end is left out, so that the result may be empty.
func GetBufferBytes(b, start, length uint32) ([]byte, Status) {
	return take(proxyGetBufferBytes(b, start, length, &out.ptr, &out.size))
}

// GetBufferStatus returns a buffer's length in bytes and its flags.
func GetBufferStatus(b uint32) (length, flags uint32, s Status) {
	length, s = word(proxyGetBufferStatus(b, &out.word, &out.flags))
	flags, out.flags = out.flags, 0
	return length, flags, s
}

// SetBufferBytes replaces length bytes of a buffer from start on. Envoy takes
// only: start 0 and length 0 (prepend), start 0 and length ≥ all (replace), and
// start ≥ all (append).
func SetBufferBytes(b, start, length uint32, data []byte) Status {
	return proxySetBufferBytes(b, start, length, text(data))
}

// ContinueStream lets a paused half of a stream go on, once the callback has
// returned. Its headers can't be reached any more.
func ContinueStream(stream uint32) Status { return proxyContinueStream(stream) }

// CloseStream resets a stream once the callback has returned.
func CloseStream(stream uint32) Status { return proxyCloseStream(stream) }

// SendLocalResponse answers the request from here. headers is a serialised map
// of at most 1024 fields and 1 MiB (Envoy drops larger ones whole). grpcStatus
// -1 is none.
func SendLocalResponse(code uint32, details string, body, headers []byte, grpcStatus int32) Status {
	return proxySendLocalResponse(code, details, text(body), text(headers), grpcStatus)
}

// GetProperty returns an attribute's bytes: text as it is, numbers in 8 bytes
// little-endian, a boolean in one byte, a map serialised like headers. The
// path's elements are joined by NUL.
func GetProperty(path string) ([]byte, Status) {
	return take(proxyGetProperty(path, &out.ptr, &out.size))
}

// SetProperty writes filter state wasm.<path> of the stream.
func SetProperty(path string, value []byte) Status { return proxySetProperty(path, text(value)) }
