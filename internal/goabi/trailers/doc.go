// Package trailers exports the callback for an answer's trailers,
// proxy_on_response_trailers. Import it for its side effect.
package trailers
