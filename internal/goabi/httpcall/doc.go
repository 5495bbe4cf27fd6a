// Package httpcall exports proxy_on_http_call_response, through which the SDK
// runs the callbacks of its HTTP callouts. Import it for its side effect, or set
// OnResponse to get answers to calls made without the SDK.
package httpcall
