package wasmasm

import "testing"

func TestSigned(t *testing.T) {
	for v, want := range map[int]string{0: "\x00", 63: "\x3f", 64: "\xc0\x00", -1: "\x7f", -64: "\x40", -65: "\xbf\x7f", 1024: "\x80\x08"} {
		if got := string(signed(v)); got != want {
			t.Errorf("%d is %x, want %x", v, got, want)
		}
	}
}
