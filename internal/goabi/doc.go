// Package goabi joins the proxy-wasm Go SDK, which was made for TinyGo, to the
// standard Go compiler and to the whole proxy-wasm 0.2.1 ABI.
//
// Three things live here, all only in a build for GOOS=wasip1 GOARCH=wasm with
// the tag tinygo (elsewhere the package is empty):
//
//   - imports: every host call, declared once, and supplied to the SDK under
//     the names of its own body-less declarations;
//   - the same calls as typed functions, for code that wants a host call
//     without the SDK's conversions, and those that the SDK lacks (gRPC);
//   - exports: the callbacks that nearly every program needs. The others are in
//     the packages below this one, each to be imported for its side effect:
//     an exported callback costs the host a crossing a request, used or not.
//
// A program is built so:
//
//	GOOS=wasip1 GOARCH=wasm go build -tags tinygo -buildmode=c-shared \
//	  -gcflags=github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/internal=-complete=false
//
// The tag selects the SDK's real host calls, and -complete=false lets the
// compiler accept that their bodies are supplied from here. With c-shared the
// host calls _initialize and main never runs: a program registers its contexts
// in an init function.
//
// In Go's wasm an int and a pointer have 64 bits, the host's words 32. Results
// therefore land in 32-bit variables first and are widened afterwards.
package goabi
