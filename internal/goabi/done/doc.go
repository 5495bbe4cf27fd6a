// Package done exports proxy_on_done, by which the SDK asks a plugin context
// whether it may go. Import it for its side effect.
package done
