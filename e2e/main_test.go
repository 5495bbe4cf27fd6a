// Package e2e runs the compiled plugin in a real Envoy with a real Redis, as a
// user would, and checks what callers see.
package e2e

import (
	"os"
	"testing"

	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }
