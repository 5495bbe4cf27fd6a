package stack

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if got := Tail(path, 3); !strings.Contains(got, "no log") {
		t.Errorf("of no file: %q", got)
	}
	lines := strings.Repeat("an old line\n", tailBytes/4) + "one\ntwo\nthree\n"
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Tail(path, 2); got != "  two\n  three" {
		t.Errorf("got %q", got)
	}
}

func TestRoot(t *testing.T) {
	root := t.TempDir()
	deep := filepath.Join(root, "a", "b")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(deep)
	if got, err := Root(); !errors.Is(err, ErrNoRoot) {
		t.Errorf("outside a checkout: %q, %v", got, err)
	}
	// A module of another name isn't it.
	for file, text := range map[string]string{"go.mod": "module sluice\n\ngo 1.26\n", "a/go.mod": "module other\n"} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := Root(); err != nil || !sameFile(t, got, root) {
		t.Errorf("got %q, %v", got, err)
	}
}

func sameFile(t *testing.T, a, b string) bool {
	t.Helper()
	x, err := os.Stat(a)
	if err != nil {
		t.Fatal(err)
	}
	y, err := os.Stat(b)
	if err != nil {
		t.Fatal(err)
	}
	return os.SameFile(x, y)
}

func TestLockedRunsOneAtATime(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "deep", "lock")
	var inside, most int
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			err := Locked(lock, func() error {
				// Only the lock keeps these from racing.
				inside++
				most = max(most, inside)
				time.Sleep(5 * time.Millisecond)
				inside--
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if most != 1 {
		t.Errorf("%d ran at a time", most)
	}
	want := errors.New("why")
	if err := Locked(lock, func() error { return want }); !errors.Is(err, want) {
		t.Errorf("got %v", err)
	}
}

func TestPorts(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if !PortFree(port) {
		t.Fatalf("port %d isn't free right after it was found free", port)
	}
	u, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Stop()
	taken := portOf(t, u.Addr)
	if PortFree(taken) {
		t.Errorf("port %d counts as free while it is taken", taken)
	}
	if other, err := PortOr(taken); err != nil || other == taken {
		t.Errorf("instead of %d: %d, %v", taken, other, err)
	}
}
