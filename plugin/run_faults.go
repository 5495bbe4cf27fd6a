//go:build wasip1 && faults

package plugin

// Test builds say how many objects they have allocated.
import _ "sluice/internal/goabi/memstats"
