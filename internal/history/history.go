// Package history checks what a limiter admitted: it finds the trailing window
// that holds the most. It knows nothing about how the limiter counts.
package history

import (
	"cmp"
	"slices"
)

// Admission is one admitted request.
type Admission struct {
	At   int64  // when it was decided: microseconds of Redis's clock
	Cost int64  // units charged, 0 or more
	Key  string // which counter: the limit and the key's values
}

// Window is a trailing window (To-length, To] and what was admitted in it.
type Window struct {
	Key   string
	From  int64 // the first admission inside: microseconds
	To    int64 // the window's end, and the last admission inside: microseconds
	Units int64 // the sum of the costs admitted inside
	Count int   // how many admissions that is
}

// Worst returns, for each key, the window of length microseconds that holds the
// most units; of equal ones the earliest. Admissions may come in any order.
// length must be at least 1. It takes O(n log n) time.
func Worst(admissions []Admission, length int64) map[string]Window {
	if length < 1 {
		panic("history: a window must be at least 1 us long")
	}
	sorted := slices.SortedFunc(slices.Values(admissions), func(a, b Admission) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.At, b.At))
	})
	worst := map[string]Window{}
	var units int64
	first := 0 // the first admission inside the window
	for i, a := range sorted {
		if i == 0 || a.Key != sorted[i-1].Key {
			units, first = 0, i
		}
		units += a.Cost
		// (t-W, t]: what is exactly a window old is outside.
		for sorted[first].At <= a.At-length {
			units -= sorted[first].Cost
			first++
		}
		if i+1 < len(sorted) && sorted[i+1].Key == a.Key && sorted[i+1].At == a.At {
			continue // a window holds all of its last microsecond
		}
		w, seen := worst[a.Key]
		if !seen || units > w.Units {
			worst[a.Key] = Window{Key: a.Key, From: sorted[first].At, To: a.At, Units: units, Count: i - first + 1}
		}
	}
	return worst
}

// Violations returns every key's worst window that holds more than limit units,
// the worst first. None means that the limit held in every window.
func Violations(admissions []Admission, length, limit int64) []Window {
	var over []Window
	for _, w := range Worst(admissions, length) {
		if w.Units > limit {
			over = append(over, w)
		}
	}
	slices.SortFunc(over, func(a, b Window) int {
		return cmp.Or(cmp.Compare(b.Units, a.Units), cmp.Compare(a.Key, b.Key))
	})
	return over
}
