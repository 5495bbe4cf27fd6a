// Package tinywasm writes the smallest proxy-wasm modules that do something, by
// hand: what a wasm filter costs at least, whatever language it is written in.
package tinywasm

import w "sluice/internal/wasmasm"

// What a callback tells the proxy.
const (
	actionContinue = 0
	actionPause    = 1
)

// Module is a module with two callbacks. With status 0 it lets every request go
// on; else it answers each with that status, no header of its own and no body.
func Module(status int) []byte {
	// Types: 0 (8 × i32) → i32, 1 () → (), 2 (i32 i32) → (), 3 (i32 i32 i32) → i32,
	// 4 (i32) → i32.
	types := w.Section(w.TypeSection, w.Vec(
		w.Signature(8, true), w.Signature(0, false), w.Signature(2, false), w.Signature(3, true), w.Signature(1, true)))
	imports := w.Section(w.ImportSection, w.Vec(
		w.Import("env", "proxy_send_local_response", 0)))
	functions := w.Section(w.FunctionSection, w.Vec([]byte{1}, []byte{2}, []byte{3}, []byte{4}))
	memory := w.Section(w.MemorySection, w.Vec([]byte{0, 1}))
	exports := w.Section(w.ExportSection, w.Vec(
		w.Export("memory", w.Memory, 0),
		w.Export("proxy_abi_version_0_2_1", w.Function, 1),
		w.Export("proxy_on_context_create", w.Function, 2),
		w.Export("proxy_on_request_headers", w.Function, 3),
		w.Export("proxy_on_memory_allocate", w.Function, 4),
	))
	code := w.Section(w.CodeSection, w.Vec(
		w.Body(0),
		w.Body(0),
		w.Body(0, onRequest(status)),
		w.Body(0, w.Number(1024)), // nothing that is sent here is looked at
	))
	return w.Module(types, imports, functions, memory, exports, code)
}

func onRequest(status int) []byte {
	if status == 0 {
		return w.Number(actionContinue)
	}
	return w.Cat(
		w.Number(status),
		w.Number(0), w.Number(0), // details
		w.Number(0), w.Number(0), // body
		w.Number(0), w.Number(0), // headers
		w.Number(-1), // gRPC status: none
		[]byte{w.Call, 0, w.Drop},
		w.Number(actionPause))
}
