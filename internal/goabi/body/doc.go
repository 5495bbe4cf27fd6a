// Package body exports the callbacks for HTTP bodies: proxy_on_request_body and
// proxy_on_response_body. Import it for its side effect.
package body
