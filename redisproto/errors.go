package redisproto

// DecodeError is why a byte stream isn't RESP2, or is more of it than the
// Limits allow. The stream can't be followed past one.
type DecodeError string

// Every DecodeError that a Decoder returns.
const (
	ErrType       DecodeError = "unknown type byte"
	ErrNumber     DecodeError = "bad integer or length"
	ErrTerminator DecodeError = "CR LF missing or misplaced"
	ErrDepth      DecodeError = "arrays nest too deeply"
	ErrElems      DecodeError = "too many array elements"
	ErrSize       DecodeError = "string or reply too long"
	ErrUndrained  DecodeError = "more was fed than was taken out"
)

// Error implements error.
func (e DecodeError) Error() string { return "redis protocol: " + string(e) }
