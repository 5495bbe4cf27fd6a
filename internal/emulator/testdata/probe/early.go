//go:build wasip1 && early

package main

// A host call this early is an error: the host has no context yet to act on.
func init() { proxy.Now() }
