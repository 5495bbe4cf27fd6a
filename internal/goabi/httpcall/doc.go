// Package httpcall exports proxy_on_http_call_response, the answers to HTTP
// callouts. Import it and set OnResponse.
package httpcall
