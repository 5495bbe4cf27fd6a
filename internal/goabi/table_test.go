package goabi

import (
	"math"
	"math/rand/v2"
	"testing"
)

// numbered is a stream that knows which it is.
type numbered struct {
	Idle
	n int
}

// check compares a table with a map of the same streams.
func check(t *testing.T, tab *table, want map[uint32]Stream) {
	t.Helper()
	if tab.n != len(want) {
		t.Fatalf("%d streams, want %d", tab.n, len(want))
	}
	if 2*tab.n > len(tab.slots) {
		t.Fatalf("%d streams in %d slots", tab.n, len(tab.slots))
	}
	for id, s := range want {
		if tab.get(id) != s {
			t.Fatalf("%d isn't found", id)
		}
	}
	taken := 0
	for i := range tab.slots {
		if tab.slots[i].stream != nil {
			taken++
		} else if tab.slots[i].id != 0 {
			t.Fatalf("a free slot still has the number %d", tab.slots[i].id)
		}
	}
	if taken != len(want) {
		t.Fatalf("%d slots are taken by %d streams", taken, len(want))
	}
}

// Whatever numbers a host gives, a table holds what a map holds.
func TestTableIsAMap(t *testing.T) {
	const inverse = 0x0e8b2f51 // of home's factor: these all have one home
	next := uint32(0)
	for name, id := range map[string]func(r *rand.Rand) uint32{
		"in a row, some long":   func(r *rand.Rand) uint32 { next++; return next - uint32(r.IntN(300)) },
		"any":                   func(r *rand.Rand) uint32 { return r.Uint32() },
		"few":                   func(r *rand.Rand) uint32 { return uint32(r.IntN(400)) },
		"around the wrap":       func(r *rand.Rand) uint32 { return math.MaxUint32 - 150 + uint32(r.IntN(300)) },
		"one home":              func(r *rand.Rand) uint32 { return uint32(r.IntN(300)) * inverse },
		"the last home":         func(r *rand.Rand) uint32 { return (1<<32 - 1 - uint32(r.IntN(300))) * inverse },
		"multiples of 2 to the": func(r *rand.Rand) uint32 { return uint32(r.IntN(300)) << 23 },
	} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			var tab table
			want := map[uint32]Stream{}
			for step := range 30_000 {
				n := id(r)
				switch {
				case r.IntN(200) == 0: // a burst ends
					for n := range want {
						if r.IntN(4) > 0 {
							if tab.take(n) != want[n] {
								t.Fatalf("%d: another stream was taken", n)
							}
							delete(want, n)
						}
					}
				case r.IntN(3) > 0:
					s := &numbered{n: step}
					if before := tab.put(n, s); before != want[n] {
						t.Fatalf("%d was %v, want %v", n, before, want[n])
					}
					want[n] = s
				case tab.get(n) != want[n], tab.take(n) != want[n]:
					t.Fatalf("%d: another stream", n)
				default:
					delete(want, n)
				}
				if step%97 == 0 {
					check(t, &tab, want)
				}
			}
			check(t, &tab, want)
		})
	}
}

// Numbers in a row that stay, as those of long-lived streams do, cost the ones
// that come by later nothing.
func TestTableWithLongLivedStreams(t *testing.T) {
	var tab table
	for id := range uint32(10_000) {
		tab.put(id, &numbered{})
	}
	worst, steps := 0, 0
	const later = 200_000
	for id := uint32(10_000); id < later; id++ {
		tab.put(id, &numbered{})
		n := (tab.place(id) - tab.home(id)) & (len(tab.slots) - 1)
		worst, steps = max(worst, n), steps+n
		tab.take(id)
	}
	if worst > 32 || steps > later {
		t.Errorf("the longest search takes %d steps, all of them %d", worst, steps)
	}
}

func TestTableGrowsAndShrinks(t *testing.T) {
	var tab table
	if tab.get(1) != nil || tab.take(1) != nil {
		t.Error("an empty table has a stream")
	}
	for id := range uint32(100_000) {
		tab.put(id, &numbered{})
	}
	if n := len(tab.slots); n != 1<<18 {
		t.Errorf("%d slots", n)
	}
	for id := range uint32(100_000) {
		if tab.take(id) == nil {
			t.Fatalf("%d isn't found", id)
		}
	}
	if n := len(tab.slots); n != 1<<leastPower {
		t.Errorf("%d slots are left", n)
	}
	// Streams that come and go allocate no slots.
	if n := testing.AllocsPerRun(100, func() {
		for id := range uint32(120) {
			tab.put(id, Idle{})
		}
		for id := range uint32(120) {
			tab.take(id)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
