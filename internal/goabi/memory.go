//go:build wasip1

package goabi

import "unsafe"

// MaxValue bounds what one host call may return, in bytes. Running out of
// memory can't be recovered from and kills the VM with every request that it
// holds, so a larger value is refused: the call then fails with
// InvalidMemoryAccess.
const MaxValue = 64 << 20

// handoff keeps the memory that the host asked for reachable until take reads
// it: the host's copy of its address is a number that the collector can't see.
// One is enough, since a host call asks for memory at most once.
var handoff []byte

// out receives the host's results. Package variables, because they never move.
var out struct {
	ptr, size uint32 // a value in handoff
	word      uint32 // a token, an identifier, a length
	flags     uint32
	long      uint64
}

//go:wasmexport proxy_on_memory_allocate
func proxyOnMemoryAllocate(n uint32) unsafe.Pointer {
	if n > MaxValue {
		return nil
	}
	handoff = make([]byte, n)
	return unsafe.Pointer(unsafe.SliceData(handoff))
}

// take returns the value that a host call left, which is the caller's own from
// here on. s is the call's result.
func take(s Status) ([]byte, Status) {
	b := handoff
	ptr, size := out.ptr, out.size
	handoff, out.ptr, out.size = nil, 0, 0
	if s != OK || size == 0 {
		return nil, s
	}
	// A host that answers with memory it didn't get here is broken; reading
	// from any other address would be reading at random.
	if uintptr(ptr) != uintptr(unsafe.Pointer(unsafe.SliceData(b))) || int(size) > len(b) {
		return nil, InternalFailure
	}
	return b[:size:size], OK
}

// word returns the number that a host call left; 0 if the call failed.
func word(s Status) (uint32, Status) {
	v := out.word
	out.word = 0
	if s != OK {
		return 0, s
	}
	return v, OK
}

// long is word for 64 bits.
func long(s Status) (uint64, Status) {
	v := out.long
	out.long = 0
	if s != OK {
		return 0, s
	}
	return v, OK
}

// text views b as a string, which the host only reads.
func text(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
