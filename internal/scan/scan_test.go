package scan_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"sluice/internal/scan"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestPacer(t *testing.T) {
	clock := time.Unix(0, 0)
	var slept time.Duration
	p := &scan.Pacer{Share: 0.2, Now: func() time.Time { return clock }, Sleep: func(_ context.Context, d time.Duration) error {
		slept += d
		return nil
	}}
	took, err := p.Do(t.Context(), func() error { clock = clock.Add(10 * time.Millisecond); return nil })
	if err != nil || took != 10*time.Millisecond || slept != 40*time.Millisecond {
		t.Errorf("took %s, slept %s, %v", took, slept, err)
	}
	broken := errors.New("broken")
	if _, err := p.Do(t.Context(), func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	// A pause ends with its context.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	real := &scan.Pacer{Share: 1e-9}
	if _, err := real.Do(ctx, func() error { time.Sleep(time.Microsecond); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// Every key is found, and a literal pattern fits itself only.
func TestKeys(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	names := []string{`a*b`, `a?b`, `a[b]`, `a\b`, `a^b`, `a-b`, `axb`}
	for _, n := range names {
		rdb.Set(t.Context(), n, 1, 0)
	}
	for i := range 3000 {
		rdb.Set(t.Context(), fmt.Sprint("many", i), 1, 0)
	}
	found := func(pattern string) map[string]bool {
		all := map[string]bool{}
		err := scan.Nodes(t.Context(), rdb, func(n scan.Node) error {
			return scan.Keys(t.Context(), n, pattern, &scan.Pacer{Share: 1}, func(keys []string) error {
				for _, k := range keys {
					all[k] = true
				}
				return nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if n := len(found("many*")); n != 3000 {
		t.Errorf("%d keys", n)
	}
	for _, n := range names {
		if got := found(scan.Literal(n)); len(got) != 1 || !got[n] {
			t.Errorf("%s finds %v", n, got)
		}
	}
}
