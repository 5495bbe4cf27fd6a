//go:build !wasip1

package plugin

// Run does nothing outside a proxy; tests make their own VM over a test host.
func Run() {}
