package limit

const (
	// maxPairs is how many stamps a share's log keeps, of which each stands for
	// all hits of about a fifteenth of the window.
	maxPairs = 16
	// maxPairsRead bounds what is read from a stored state.
	maxPairsRead = maxPairs + 1
)

// takeLog charges cost and merges stamps where there are too many. Within a grid
// of cells, of which a window touches no more than maxPairs, hits take the stamp
// of a later one of the same cell: they count longer by less than a cell.
func (s *Share) takeLog(now Micros, cost int64) Decision {
	v := s.log.open(now)
	d := v.decide(now, cost)
	if v.buckets == nil {
		v.buckets = s.room[:0]
	}
	k := len(v.buckets) - 1
	if k < 0 || v.buckets[k].stamp != v.at {
		v.buckets = append(v.buckets, hits{stamp: v.at})
		v.last = v.at
		k++
	}
	n := min(cost, maxExact-1-v.total)
	v.buckets[k].n += n
	v.total += n
	if len(v.buckets) > maxPairs {
		ticks := ceilDiv(v.p.WindowMS, v.tick) + 2
		v.buckets = squeeze(v.buckets, ceilDiv(ticks, maxPairs-1))
	}
	s.log = v.compactLog
	return after(d, v.decide(now, cost))
}

// squeeze merges neighbours until there are at most maxPairs: those of one cell
// where there are such, and of them those where it matters least.
func squeeze(h []hits, cell int64) []hits {
	for len(h) > maxPairs {
		best, bestCost, bestSame := 1, 0.0, false
		for i := 1; i < len(h); i++ {
			cost := float64(h[i-1].n) * float64(h[i].stamp-h[i-1].stamp)
			same := floorDiv(h[i-1].stamp, cell) == floorDiv(h[i].stamp, cell)
			if i == 1 || same && !bestSame || same == bestSame && cost < bestCost {
				best, bestCost, bestSame = i, cost, same
			}
		}
		h[best].n += h[best-1].n
		h = append(h[:best-1], h[best:]...)
	}
	return h
}

// takeFrom takes n units from the pairs with stamps of at least from, the oldest
// of them first: units that were charged at from are in one of those. It returns
// what is left of the pairs, and how many units were taken.
func takeFrom(h []hits, from, n int64) (left []hits, taken int64) {
	left = h[:0]
	for _, p := range h {
		if p.stamp >= from {
			k := min(p.n, n)
			p.n -= k
			n -= k
			taken += k
		}
		if p.n > 0 {
			left = append(left, p)
		}
	}
	return left, taken
}

func (s *Share) giveLog(now, since Micros, n int64) {
	v := s.log.open(now)
	if v.total > 0 {
		stamp := ceilDiv(since, v.tick*1000)
		if stamp > floorDiv(floorDiv(now, 1000)-v.p.WindowMS, v.tick) {
			left, taken := takeFrom(v.buckets, stamp, n)
			v.buckets, v.total = left, v.total-taken
			if k := len(left); k > 0 {
				v.last = left[k-1].stamp
			} else {
				v.clear(v.tick)
			}
		}
	}
	s.log = v.compactLog
}
