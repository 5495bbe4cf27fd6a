// Package streamlog exports proxy_on_log: the end of each stream, when its
// status, sizes and headers are known. Import it for its side effect.
package streamlog
