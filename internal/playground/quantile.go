package playground

import "slices"

// quantileOf is the value below which rank of a histogram's entries are. below
// says how many are at most a bound; within a bucket they are taken to be spread
// evenly. What is above the last bound is there.
func quantileOf(bounds []float64, rank float64, below func(bound float64) float64) float64 {
	slices.Sort(bounds)
	from, passed := 0.0, 0.0
	for _, to := range bounds {
		n := below(to)
		if n >= rank && n > passed {
			return from + (to-from)*(rank-passed)/(n-passed)
		}
		from, passed = to, n
	}
	return from
}
