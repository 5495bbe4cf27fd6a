package history

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func at(times ...int64) []Admission {
	var list []Admission
	for _, t := range times {
		list = append(list, Admission{At: t, Cost: 1, Key: "k"})
	}
	return list
}

func TestWorstOfKnownHistories(t *testing.T) {
	cases := []struct {
		name       string
		admissions []Admission
		length     int64
		want       map[string]Window
	}{
		{"nothing admitted", nil, 10, map[string]Window{}},
		{"one", at(5), 10, map[string]Window{"k": {"k", 5, 5, 1, 1}}},
		{"a whole window apart is outside", at(0, 10), 10, map[string]Window{"k": {"k", 0, 0, 1, 1}}},
		{"one microsecond less is inside", at(0, 9), 10, map[string]Window{"k": {"k", 0, 9, 2, 2}}},
		{"the same microsecond counts each", at(7, 7, 7), 1, map[string]Window{"k": {"k", 7, 7, 3, 3}}},
		{"in any order", at(22, 3, 20, 1, 21, 2, 19), 4, map[string]Window{"k": {"k", 19, 22, 4, 4}}},
		{"the earliest of equal ones", at(1, 2, 51, 52), 10, map[string]Window{"k": {"k", 1, 2, 2, 2}}},
		{"a burst over the edge of two fixed windows", at(90, 91, 92, 100, 101, 102), 100, map[string]Window{"k": {"k", 90, 102, 6, 6}}},
		{"times before the epoch", at(-9, -8, 0), 5, map[string]Window{"k": {"k", -9, -8, 2, 2}}},
		{
			"costs",
			[]Admission{{0, 3, "k"}, {5, 0, "k"}, {9, 4, "k"}, {12, 5, "k"}}, 10,
			map[string]Window{"k": {"k", 5, 12, 9, 3}},
		},
		{
			"each key has its own",
			[]Admission{{0, 1, "a"}, {1, 1, "b"}, {2, 1, "a"}, {3, 1, "c"}, {90, 2, "c"}}, 10,
			map[string]Window{"a": {"a", 0, 2, 2, 2}, "b": {"b", 1, 1, 1, 1}, "c": {"c", 90, 90, 2, 1}},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, Worst(c.admissions, c.length)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestViolationsAreTheWorstFirst(t *testing.T) {
	list := []Admission{{0, 3, "a"}, {1, 4, "b"}, {2, 5, "c"}, {3, 4, "d"}}
	want := []Window{{"c", 2, 2, 5, 1}, {"b", 1, 1, 4, 1}, {"d", 3, 3, 4, 1}}
	if diff := cmp.Diff(want, Violations(list, 10, 3)); diff != "" {
		t.Error(diff)
	}
	if got := Violations(list, 10, 5); got != nil {
		t.Errorf("a limit that held: %v", got)
	}
}

func TestWorstLeavesItsInputAlone(t *testing.T) {
	list := at(3, 1, 2)
	Worst(list, 10)
	if diff := cmp.Diff(at(3, 1, 2), list); diff != "" {
		t.Error(diff)
	}
}

func TestWorstRefusesAnEmptyWindow(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a window of 0 us was accepted")
		}
	}()
	Worst(at(1), 0)
}

// naive looks at every window that ends at an admission.
func naive(list []Admission, length int64) map[string]int64 {
	most := map[string]int64{}
	for _, end := range list {
		var units int64
		for _, a := range list {
			if a.Key == end.Key && a.At > end.At-length && a.At <= end.At {
				units += a.Cost
			}
		}
		if m, seen := most[end.Key]; !seen || units > m {
			most[end.Key] = units
		}
	}
	return most
}

func TestWorstAgreesWithANaiveChecker(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		admission := rapid.Custom(func(t *rapid.T) Admission {
			return Admission{
				At:   rapid.Int64Range(-50, 50).Draw(t, "at"),
				Cost: rapid.Int64Range(0, 3).Draw(t, "cost"),
				Key:  rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"),
			}
		})
		list := rapid.SliceOfN(admission, 0, 60).Draw(t, "admissions")
		length := rapid.Int64Range(1, 120).Draw(t, "length")
		got := map[string]int64{}
		for key, w := range Worst(list, length) {
			got[key] = w.Units
			if w.To-w.From >= length || w.Key != key {
				t.Fatalf("not a window of %d: %+v", length, w)
			}
			var units int64
			count := 0
			for _, a := range list {
				if a.Key == key && a.At >= w.From && a.At <= w.To {
					units += a.Cost
					count++
				}
			}
			if units != w.Units || count != w.Count {
				t.Fatalf("%+v holds %d units of %d admissions", w, units, count)
			}
		}
		if diff := cmp.Diff(naive(list, length), got); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkWorst(b *testing.B) {
	list := make([]Admission, 100_000)
	for i := range list {
		list[i] = Admission{At: int64(math.Mod(float64(i)*7919, 1e6)), Cost: 1, Key: "k"}
	}
	for b.Loop() {
		Worst(list, 10_000)
	}
}
