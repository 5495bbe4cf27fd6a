package main

import (
	"math"
	"slices"
)

// spread is a figure over several rounds.
type spread struct {
	median, least, most float64
	n                   int // rounds; 0 for a figure that there isn't
}

// over picks a figure of each round. Rounds where it isn't a number are left out.
func over[T any](rounds []T, pick func(T) float64) spread {
	var list []float64
	for _, r := range rounds {
		if v := pick(r); !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, v)
		}
	}
	return spreadOf(list)
}

func spreadOf(list []float64) spread {
	if len(list) == 0 {
		return spread{}
	}
	s := slices.Sorted(slices.Values(list))
	mid := len(s) / 2
	median := s[mid]
	if len(s)%2 == 0 {
		median = (s[mid-1] + s[mid]) / 2
	}
	return spread{median, s[0], s[len(s)-1], len(s)}
}

// against computes a figure of each round from a row's and another row's figures
// in the same round: what disturbs a round disturbs both.
func against(row, other []figures, f func(a, b figures) float64) spread {
	var list []float64
	for i := range min(len(row), len(other)) {
		if v := f(row[i], other[i]); !math.IsNaN(v) && !math.IsInf(v, 0) {
			list = append(list, v)
		}
	}
	return spreadOf(list)
}
