//go:build wasip1 && tinygo && gc

package memstats

import "runtime"

var stats runtime.MemStats

//go:wasmexport sluice_mallocs
func mallocs() uint64 {
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
