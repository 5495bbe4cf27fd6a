//go:build wasip1

package memstats

import "runtime"

var stats runtime.MemStats

//go:wasmexport sluice_mallocs
func mallocs() uint64 {
	runtime.ReadMemStats(&stats)
	return stats.Mallocs
}
