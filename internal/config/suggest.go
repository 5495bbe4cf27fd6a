package config

// nearest returns the candidate that name was probably meant to be, or "".
func nearest(name string, candidates []string) string {
	const maxName = 64
	if len(name) > maxName {
		return ""
	}
	// How many slips are likely depends on how much there was to type.
	slips := 1
	switch {
	case len(name) > 8:
		slips = 3
	case len(name) > 4:
		slips = 2
	}
	best, bestDist := "", slips+1
	for _, c := range candidates {
		if len(c) > maxName || c == name {
			continue
		}
		if d := distance(name, c); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// distance counts the letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	prev := make([]int, len(b)+1)
	cur := make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], before[j-2]+1)
			}
		}
		before, prev, cur = prev, cur, before
	}
	return prev[len(b)]
}
