package stacktest

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// EnvoyClock compiles testdata/clock.c and returns what to add to an Envoy's
// environment for a wall clock that is off: by milliseconds such as "-2000", or,
// when clock begins with a slash, by those that the file of that name holds.
func EnvoyClock(t testing.TB, clock string) []string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Fatal("an Envoy with another clock needs a C compiler: install one (Debian: apt-get install gcc libc6-dev)")
	}
	library := filepath.Join(t.TempDir(), "clock.so")
	source := filepath.Join(Root(t), "internal/stack/stacktest/testdata/clock.c")
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O2", "-o", library, source).CombinedOutput(); err != nil {
		t.Fatalf("%s doesn't compile: %v\n%s", source, err, out)
	}
	return []string{"LD_PRELOAD=" + library, "SLUICE_CLOCK=" + clock}
}
