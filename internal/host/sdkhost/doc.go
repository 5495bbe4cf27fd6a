// Package sdkhost is the proxy that proxytest emulates, of the proxy-wasm SDK for
// Go, as a host.Host: it lets a plugin's contexts be tested natively. The SDK has no
// gRPC calls; those go to a scripted hosttest.Streams. Nothing of it is in the module.
package sdkhost
