// Package redis is what Higress's proxy has beyond proxy-wasm 0.2.1: calls to
// Redis over connections of its own, and the callback for their replies. Any other
// proxy refuses a module that imports them, so the package is empty unless the
// module is built with the tag higress.
package redis
