// Package edges tests the plugin in a real Envoy where HTTP has corners: other
// protocols and methods, Envoy's own retries and redirects, answers that never
// come, bodies that never end, and configurations that change at run time.
//
// All tests share one Envoy and one Redis. Each topic has a listener, or a few,
// with a configuration of its own; see door.
package edges

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sluice/internal/stack"
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts what all tests share, runs them and ends it.
func run(m *testing.M) (int, error) {
	root, err := stack.Root()
	if err != nil {
		return 1, err
	}
	if err := stack.BuildModule(context.Background(), root); err != nil {
		return 1, err
	}
	dir, err := os.MkdirTemp("", "sluice-edges-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := shared.start(root, dir); err != nil {
		shared.stop()
		return 1, err
	}
	defer shared.stop()
	return m.Run(), nil
}
