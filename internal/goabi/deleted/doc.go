// Package deleted exports proxy_on_delete, which comes after proxy_on_done and says
// the same of a stream once more. A program needs it only where a configuration
// isn't done at once. Import it for its side effect.
package deleted
