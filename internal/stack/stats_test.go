package stack

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseStats(t *testing.T) {
	got, err := parseStats([]byte(`# TYPE sluice_mode_total counter
sluice_mode_total{mode="redis"} 7

# TYPE x counter
x{b="2",a="one two"} 1
x{a="one two",b="2"} 2
x{a="other"} 4
plain{} 0
bare 2.5
h_bucket{le="+Inf"} 3
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Stats{
		`sluice_mode_total{mode="redis"}`: 7,
		`x{a="one two",b="2"}`:            3,
		`x{a="other"}`:                    4,
		`plain`:                           0,
		`bare`:                            2.5,
		`h_bucket{le="+Inf"}`:             3,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for labels, sum := range map[string]float64{"": 7, "one two": 3, "other": 4, "none": 0} {
		match := map[string]string{"a": labels}
		if labels == "" {
			match = nil
		}
		if s := got.Sum("x", match); s != sum {
			t.Errorf("the sum of x with a=%q is %v", labels, s)
		}
	}
}

func TestParseStatsRefusesNonsense(t *testing.T) {
	for _, text := range []string{"name", "name value", `name{a=1} 2`, `name{a="1} 2`} {
		if got, err := parseStats([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}
