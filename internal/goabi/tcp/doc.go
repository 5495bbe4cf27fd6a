// Package tcp exports the callbacks of TCP connections: proxy_on_new_connection,
// proxy_on_downstream_data, proxy_on_upstream_data,
// proxy_on_downstream_connection_close and proxy_on_upstream_connection_close.
// Import it for its side effect.
package tcp
