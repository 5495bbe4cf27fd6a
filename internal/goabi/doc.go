// Package goabi joins a program of standard Go to the whole proxy-wasm 0.2.1 ABI.
//
// Four things live here. All but the first are only in a build for GOOS=wasip1
// GOARCH=wasm:
//
//   - contexts: which configuration and which stream a callback is about;
//   - imports: every host call, declared once;
//   - the same calls as typed functions;
//   - exports: the callbacks that nearly every program needs. The others are in
//     the packages below this one, each to be imported for its side effect:
//     an exported callback costs the host a crossing a request, used or not.
//
// A program is built so:
//
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared
//
// With c-shared the host calls _initialize and main never runs: a program calls
// Serve in an init function.
//
// In Go's wasm an int and a pointer have 64 bits, the host's words 32. Results
// therefore land in 32-bit variables first and are widened afterwards.
package goabi
