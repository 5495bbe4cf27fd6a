package history

import (
	"testing"

	"pgregory.net/rapid"
)

// Running finds what Worst finds, without having seen all of it at once.
func TestRunningEqualsWorst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.Int64Range(1, 50).Draw(t, "length")
		r := Running{Length: length}
		var all []Admission
		at := int64(0)
		for range rapid.IntRange(1, 200).Draw(t, "admissions") {
			at += rapid.Int64Range(0, 20).Draw(t, "step")
			cost := rapid.Int64Range(1, 5).Draw(t, "cost")
			r.Add(at, cost)
			all = append(all, Admission{At: at, Cost: cost})
		}
		if want, got := Worst(all, length)[""], r.Worst(); got != want {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
}

func TestRunningGive(t *testing.T) {
	r := Running{Length: 10}
	r.Add(1, 5)
	r.Add(4, 3)
	r.Give(1, 2)
	r.Give(3, 9) // nothing was admitted then
	if got := r.Units(4); got != 6 {
		t.Errorf("holds %d, want 6", got)
	}
	if got := r.Units(11); got != 3 {
		t.Errorf("after the first has left it holds %d, want 3", got)
	}
	if w := r.Worst(); w.Units != 8 || w.Count != 2 {
		t.Errorf("the worst held %+v, want 8 units by 2", w)
	}
}
