package stacktest

import (
	"context"
	"fmt"
	"os"
	"testing"

	"sluice/internal/stack"
)

// Main is the TestMain of packages that run the compiled plugin: it builds that
// first, unless it is up to date, and returns the tests' exit code.
func Main(m *testing.M) int {
	root, err := stack.Root()
	if err == nil {
		err = stack.BuildModule(context.Background(), root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
