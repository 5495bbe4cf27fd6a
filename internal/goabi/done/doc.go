// Package done exports proxy_on_done, by which the host asks a plugin's context
// whether it may go, and which is the last word of a request.
// Import it for its side effect.
package done
