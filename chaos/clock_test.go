package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// clockLibraries are where distributions put libfaketime.
var clockLibraries = []string{
	"/usr/lib/*/faketime/libfaketime.so.1", "/usr/lib/faketime/libfaketime.so.1",
	"/usr/lib64/faketime/libfaketime.so.1", "/usr/local/lib/faketime/libfaketime.so.1",
}

func clockLibrary(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("FAKETIME_LIB"); path != "" {
		return path
	}
	for _, pattern := range clockLibraries {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	t.Fatalf("a Redis with another clock needs libfaketime, and none of %v is there: install your system's package faketime (Debian: apt-get install faketime) or name the library in FAKETIME_LIB", clockLibraries)
	return ""
}

// startClock starts a Redis whose clock is off: by a distance such as "-2s", or,
// when clock begins with a slash, by what the file of that name says at any time.
func startClock(t *testing.T, o stack.RedisOptions, clock string) *stack.Redis {
	t.Helper()
	how := "FAKETIME=" + clock
	if clock[0] == '/' {
		how = "FAKETIME_NO_CACHE=1 FAKETIME_TIMESTAMP_FILE='" + clock + "'"
	}
	// The C library comes before jemalloc, which would ask for the time before
	// libfaketime is ready.
	script := fmt.Sprintf("#!/bin/sh\nexec env LD_PRELOAD='%s:libc.so.6' FAKETIME_DONT_FAKE_MONOTONIC=1 %s '%s' \"$@\"\n",
		clockLibrary(t), how, stacktest.RedisBinary(t))
	o.Dir = t.ArtifactDir()
	o.Binary = filepath.Join(o.Dir, o.Name+".sh")
	if err := os.WriteFile(o.Binary, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := stack.StartRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Stop)
	return r
}

// setClock changes what a clock's file says.
func setClock(t *testing.T, file, distance string) {
	t.Helper()
	err := os.WriteFile(file+".new", []byte(distance+"\n"), 0o644)
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	if err != nil {
		t.Fatal(err)
	}
}
