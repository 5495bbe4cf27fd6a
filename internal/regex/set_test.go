package regex

import (
	"slices"
	"testing"
	"unicode"

	"pgregory.net/rapid"
)

func TestSetLikeMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rune20 := rapid.SampledFrom([]rune{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, unicode.MaxRune - 2, unicode.MaxRune - 1, unicode.MaxRune})
		var s set
		all := map[rune]bool{}
		for range rapid.IntRange(0, 8).Draw(t, "ranges") {
			lo := rune20.Draw(t, "lo")
			hi := min(lo+rapid.Int32Range(-1, 4).Draw(t, "length"), unicode.MaxRune)
			s = s.add(lo, hi)
			for r := lo; r <= hi; r++ {
				all[r] = true
			}
		}
		for i := 1; i < len(s); i++ {
			if i%2 == 0 && s[i] <= s[i-1]+1 || i%2 == 1 && s[i] < s[i-1] {
				t.Fatalf("%v isn't in order", s)
			}
		}
		no := s.inverse()
		for r := rune(0); r < 30; r++ {
			for _, r := range []rune{r, unicode.MaxRune - r} {
				if s.has(r) != all[r] || no.has(r) == all[r] {
					t.Errorf("%v and %v at %U: %v, %v", s, no, r, s.has(r), no.has(r))
				}
			}
		}
		if back := no.inverse(); !slices.Equal(back, s) {
			t.Errorf("%v is the inverse of the inverse of %v", back, s)
		}
	})
}
