package limit

// decideLog judges a log of total units. untilGone says how long it takes until
// so many units have left, in ms.
func decideLog(limit, total, cost int64, untilGone func(units int64) int64) Decision {
	d := Decision{Current: total, Remaining: max(limit-total, 0)}
	if total > 0 {
		d.ResetMS = untilGone(min(total, max(total-limit, 0)+1))
	}
	cost = max(cost, 1)
	if total+cost <= limit {
		d.Admitted = true
		return d
	}
	d.RetryAfterMS = Never
	if cost <= limit {
		d.RetryAfterMS = untilGone(total + cost - limit)
	}
	return d
}

// after is the state after a charge, with the word that was given before it.
func after(before, state Decision) Decision {
	state.Admitted = before.Admitted
	if before.Admitted {
		state.RetryAfterMS = before.RetryAfterMS
	}
	return state
}

// admitted is d for an operation that is never refused.
func (d Decision) admitted() Decision {
	d.Admitted, d.RetryAfterMS = true, 0
	return d
}

// insert puts hits before those at i. slices.Insert would be compiled for their type
// alone, at 4 kB.
func insert(list []hits, i int, h hits) []hits {
	list = append(list, hits{})
	copy(list[i+1:], list[i:])
	list[i] = h
	return list
}

// giveBack takes n units from the youngest hits and returns a new slice.
func giveBack(h []hits, n int64) []hits {
	k := len(h)
	for k > 0 && n >= h[k-1].n {
		n -= h[k-1].n
		k--
	}
	h = append([]hits(nil), h[:k]...)
	if n > 0 && k > 0 {
		h[k-1].n -= n
	}
	return h
}

// floorDiv and ceilDiv round towards -∞ and +∞; b > 0.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }

func abs(a int64) int64 { return max(a, -a) }
