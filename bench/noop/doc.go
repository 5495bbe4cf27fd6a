//go:build !wasip1

// Command noop is a module that does nothing: see main.go, which is built for
// proxies only.
package main

func main() { panic("this is a module for a proxy; the benchmarks build it") }
