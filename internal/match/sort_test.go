package match

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSort(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 200 {
		for range 20 {
			list := make([]int, n)
			for i := range list {
				list[i] = r.IntN(n + 1)
			}
			want := slices.Sorted(slices.Values(list))
			if sort(list); !slices.Equal(list, want) {
				t.Fatalf("%v, want %v", list, want)
			}
		}
	}
}
