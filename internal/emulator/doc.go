// Package emulator is a proxy-wasm host: it runs a compiled module as Envoy
// does, without Envoy, and lets a test play the client, the upstream, the other
// end of callouts and the clock.
//
//	vm := emulator.Start(t, wasm, emulator.Config{Plugin: `{"limits": []}`})
//	r := vm.Request(emulator.Headers{{":method", "GET"}, {":path", "/"}, {":authority", "a.test"}})
//	r.Paused()                    // the plugin waits for something
//	vm.Stream(0).TakeSent()       // what it sent on its first gRPC stream
//	vm.Stream(0).Receive(reply)   // the answer
//	r.LocalReply()                // nil, or how the plugin answered
//	r.Respond(emulator.Headers{{":status", "200"}}, []byte("body"))
//	r.Response()                  // what the client got
//
// Everything happens in the calls that a test makes, on its own goroutine and in
// a fixed order; only bytes that come from a bridge to a real server wait for
// Pump. The rules that a plugin can trip over are Envoy's: which header maps can
// be reached in which callback, that resuming and answering take effect when the
// callback has returned, that a context is gone after proxy_on_delete, what a
// call during start-up may do, and that a VM that trapped is dead for good and
// never resumes what it held.
package emulator
