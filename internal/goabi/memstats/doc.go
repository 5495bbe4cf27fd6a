// Package memstats exports sluice_mallocs, which is no part of proxy-wasm: how
// many objects the module has allocated since it started. Tests build it into a
// module to guard allocations a request.
package memstats
