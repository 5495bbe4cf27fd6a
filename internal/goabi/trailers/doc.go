// Package trailers exports the callbacks for HTTP trailers:
// proxy_on_request_trailers and proxy_on_response_trailers. Import it for its
// side effect.
package trailers
