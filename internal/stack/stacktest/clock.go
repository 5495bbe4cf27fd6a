package stacktest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// clockLibraries are where distributions put libfaketime.
var clockLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1",
	"/usr/lib64/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1",
}

// clockLibrary is the path of libfaketime.
func clockLibrary(t testing.TB) string {
	t.Helper()
	if path := os.Getenv("FAKETIME_LIB"); path != "" {
		return path
	}
	for _, pattern := range clockLibraries {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	t.Fatalf("a server with another clock needs libfaketime, and none of %v is there: install your system's package faketime (Debian: apt-get install faketime) or name the library in FAKETIME_LIB", clockLibraries)
	return ""
}

// Clocked returns a program, by libfaketime, that runs binary with a wall clock that is off: by a
// distance such as "-2s", or, when clock begins with a slash, by what the file of
// that name says at any time (SetClock). Clocks that never step go on as they are.
func Clocked(t testing.TB, binary, clock string) string {
	t.Helper()
	how := "FAKETIME=" + clock
	if clock[0] == '/' {
		how = "FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE='" + clock + "'"
	}
	// The C library comes before a memory allocator of the program's, which would
	// ask for the time before libfaketime is ready.
	script := fmt.Sprintf("#!/bin/sh\nexec env LD_PRELOAD='%s:libc.so.6' FAKETIME_DONT_FAKE_MONOTONIC=1 %s '%s' \"$@\"\n",
		clockLibrary(t), how, binary)
	path := filepath.Join(t.TempDir(), "clocked.sh")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// SetClock changes what a clock's file says.
func SetClock(t testing.TB, file, distance string) {
	t.Helper()
	err := os.WriteFile(file+".new", []byte(distance+"\n"), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}
