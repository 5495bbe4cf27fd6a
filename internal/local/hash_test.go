package local

import "testing"

// CPython hashes bytes by the same function; with PYTHONHASHSEED=0 its key is
// all zeros.
func TestHashIsSipHash13(t *testing.T) {
	for text, want := range map[string]uint64{
		"a":                         0x407448d2b89b1813,
		"abcdefg":                   0x6db12aae9070f506,
		"abcdefgh":                  0x3f7b849c0b8e35ea,
		"rl:{per-user|user-1}:log1": 0x55ace115239be126,
	} {
		if got := hash(&[2]uint64{}, []byte(text)); got != want {
			t.Errorf("%q: %x, want %x", text, got, want)
		}
		if got := hash(&[2]uint64{0, 1}, []byte(text)); got == want {
			t.Errorf("%q: the key doesn't matter", text)
		}
	}
}
