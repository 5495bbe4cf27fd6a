//go:build wasip1

package goabi

// Status is a host call's result.
type Status uint32

// The results that hosts give.
const (
	OK                   Status = 0
	NotFound             Status = 1
	BadArgument          Status = 2
	SerializationFailure Status = 3
	ParseFailure         Status = 4
	InvalidMemoryAccess  Status = 6
	Empty                Status = 7
	CasMismatch          Status = 8
	InternalFailure      Status = 10
	BrokenConnection     Status = 11
	Unimplemented        Status = 12
)

// Buffers that have no name in package host.
const (
	BufferHTTPCallResponseBody uint32 = 4
	BufferGrpcReceive          uint32 = 5
	BufferVMConfiguration      uint32 = 6
	BufferPluginConfiguration  uint32 = 7
)
