// Package sdkhost is the proxy that the SDK's proxytest emulates, as a
// host.Host: it lets a plugin's contexts be tested natively. The SDK has no gRPC
// calls; those go to a scripted hosttest.Streams.
package sdkhost
