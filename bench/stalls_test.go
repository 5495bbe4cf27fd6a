package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"sluice/internal/pauses"
)

func TestMain(m *testing.M) {
	pauses.Main()
	os.Exit(m.Run())
}

// This program's own threads are no stalls, though they keep every processor busy.
func TestStalls(t *testing.T) {
	s, err := measureStalls(300 * time.Millisecond)
	if err != nil {
		t.Skip(err)
	}
	t.Logf("%.1f %%, %.1f ms at most", s.Percent, s.Longest)
	// A host that takes half of the time away would still be measured right.
	if s.Percent > 50 || s.Longest > 300 {
		t.Errorf("%+v", s)
	}
}

func TestAboutStalls(t *testing.T) {
	for s, want := range map[*stalls]string{nil: "wasn't measured", {Percent: 1.25, Longest: 7}: "for 1.2 % of the time, up to 7.0 ms"} {
		r := known()
		r.stalls = s
		r.steadySection()
		if !strings.Contains(r.text.String(), want) {
			t.Errorf("the report lacks %q:\n%s", want, r.text.String())
		}
	}
}
