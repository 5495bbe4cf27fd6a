package history

// Running finds one counter's worst window while its admissions come in: in the
// order of their time, without keeping more than one window of them. The zero
// value is not ready; set Length first.
type Running struct {
	Length int64 // of the window: microseconds, at least 1

	items []item // inside the window, the oldest at first
	first int
	units int64
	worst Window
}

type item struct{ at, units, count int64 }

// Add takes an admission. at must not be before an earlier one's.
func (r *Running) Add(at, units int64) {
	r.expire(at)
	if last := len(r.items) - 1; last >= r.first && r.items[last].at == at {
		r.items[last].units += units
		r.items[last].count++
	} else {
		r.items = append(r.items, item{at, units, 1})
	}
	r.units += units
	if r.units > r.worst.Units {
		r.worst = Window{From: r.items[r.first].at, To: at, Units: r.units}
		for _, i := range r.items[r.first:] {
			r.worst.Count += int(i.count)
		}
	}
}

// Give takes back units that were admitted at a time. The worst window stays:
// they were in it while it lasted.
func (r *Running) Give(at, units int64) {
	for i := len(r.items) - 1; i >= r.first; i-- {
		if r.items[i].at == at {
			n := min(units, r.items[i].units)
			r.items[i].units -= n
			r.units -= n
			return
		}
	}
}

// Units is what the window (at-Length, at] holds.
func (r *Running) Units(at int64) int64 {
	r.expire(at)
	return r.units
}

// Worst is the window that held the most so far; of equal ones the earliest.
func (r *Running) Worst() Window { return r.worst }

func (r *Running) expire(at int64) {
	for r.first < len(r.items) && r.items[r.first].at <= at-r.Length {
		r.units -= r.items[r.first].units
		r.first++
	}
	switch {
	case r.first == len(r.items):
		r.items, r.first = r.items[:0], 0
	case r.first > 32 && r.first > len(r.items)/2:
		n := copy(r.items, r.items[r.first:])
		r.items, r.first = r.items[:n], 0
	}
}

// Last is the time of the last admission inside the window, or 0.
func (r *Running) Last() int64 {
	if len(r.items) == r.first {
		return 0
	}
	return r.items[len(r.items)-1].at
}
