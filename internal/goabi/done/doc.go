// Package done exports proxy_on_done, by which the host asks a plugin's context
// whether it may go, and which over HTTP/3 is the first word of a request's end.
// Import it for its side effect.
package done
