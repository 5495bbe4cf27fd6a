// Package e2e runs the compiled plugin in a real Envoy with a real Redis, as a
// user would, and checks what callers see.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sluice/internal/stack"
)

func TestMain(m *testing.M) {
	root, err := stack.Root()
	if err == nil {
		err = stack.BuildModule(context.Background(), root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
