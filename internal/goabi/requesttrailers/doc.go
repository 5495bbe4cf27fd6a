// Package requesttrailers exports the callback for a request's trailers,
// proxy_on_request_trailers. Import it for its side effect.
package requesttrailers
