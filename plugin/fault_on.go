//go:build faults

package plugin

import "unsafe"

// faultPoint names a callback in which this test build panics on request.
type faultPoint string

const (
	faultRequest  faultPoint = "request"
	faultReply    faultPoint = "reply"
	faultResponse faultPoint = "response"
)

// fault panics when the request's x-sluice-fault header names the point, and traps,
// which ends the whole virtual machine, when it says trap.
func fault(r *request, at faultPoint) {
	switch v, _ := r.headers.Get("x-sluice-fault"); v {
	case string(at):
		panic("asked for by x-sluice-fault")
	case "trap":
		// No such memory: WebAssembly's own trap, which nothing in Go recovers.
		unmapped := uintptr(0xfffffff0)
		*(*byte)(unsafe.Pointer(unmapped)) = 1
	}
}
