package goabi

import "testing"

func TestLookup(t *testing.T) {
	const all = "A=1\x00EMPTY=\x00AB=2=3\x00A=again\x00NOVALUE\x00LAST=x"
	for name, want := range map[string]string{"A": "1", "EMPTY": "", "AB": "2=3", "LAST": "x"} {
		if v, ok := lookup(all, name); !ok || v != want {
			t.Errorf("%s is %q, %v", name, v, ok)
		}
	}
	for _, name := range []string{"", "B", "NOVALUE", "LAS", "LASTX"} {
		if v, ok := lookup(all, name); ok {
			t.Errorf("%q is %q", name, v)
		}
	}
	for _, all := range []string{"", "\x00", "\x00\x00", "A", "=", "=\x00="} {
		if v, ok := lookup(all, "A"); ok {
			t.Errorf("in %q, A is %q", all, v)
		}
	}
}
