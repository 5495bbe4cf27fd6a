package goabi

// table finds streams by their numbers, which hosts give out in ascending order
// and may give out anew. It is a list of slots with open addressing: a request is
// looked up at each of its callbacks, and Go's own maps take far more instructions.
type table struct {
	slots []slot // a power of two of them, at most half of them taken; none at first
	shift uint32 // 32 less the power
	n     int    // that are taken
}

type slot struct {
	id     uint32
	stream Stream // nil: free
}

// leastPower is that of the smallest table, which has 256 slots: 6 KiB.
const leastPower = 8

// home is where a number's slot is looked for first. The factor spreads numbers in
// a row, and those that long-lived streams among them leave behind, so that none
// gather in one place.
func (t *table) home(id uint32) int { return int(id * 0x9e3779b1 >> (t.shift & 31)) }

// place is the slot of a number, or the free one where it would be. There must be
// slots.
func (t *table) place(id uint32) int {
	i := t.home(id)
	for {
		s := &t.slots[i]
		if s.stream == nil || s.id == id {
			return i
		}
		i = (i + 1) & (len(t.slots) - 1)
	}
}

// get returns nil for a number that has no stream.
func (t *table) get(id uint32) Stream {
	if t.n == 0 {
		return nil
	}
	return t.slots[t.place(id)].stream
}

// put sets a number's stream and returns the one that it had.
func (t *table) put(id uint32, s Stream) (before Stream) {
	if 2*t.n >= len(t.slots) {
		power := uint32(leastPower)
		if len(t.slots) > 0 {
			power = 33 - t.shift
		}
		t.resize(power)
	}
	p := &t.slots[t.place(id)]
	before = p.stream
	if before == nil {
		t.n++
	}
	*p = slot{id, s}
	return before
}

// take removes a number's stream and returns it.
func (t *table) take(id uint32) Stream {
	if t.n == 0 {
		return nil
	}
	i := t.place(id)
	s := t.slots[i].stream
	if s == nil {
		return nil
	}
	t.n--
	// Those behind the gap that were looked for before it move up.
	mask := len(t.slots) - 1
	for j := (i + 1) & mask; t.slots[j].stream != nil; j = (j + 1) & mask {
		if (j-t.home(t.slots[j].id))&mask >= (j-i)&mask {
			t.slots[i] = t.slots[j]
			i = j
		}
	}
	t.slots[i] = slot{}
	// After a burst of streams, the collector needn't look at so many slots.
	if power := 32 - t.shift; power > leastPower && t.n < len(t.slots)/16 {
		t.resize(power - 1)
	}
	return s
}

func (t *table) resize(power uint32) {
	old := t.slots
	t.slots = make([]slot, 1<<power)
	t.shift = 32 - power
	for i := range old {
		if old[i].stream != nil {
			t.slots[t.place(old[i].id)] = old[i]
		}
	}
}
