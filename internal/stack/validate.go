package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
)

// shorten keeps the start of a text: Envoy repeats a whole configuration in its errors.
func shorten(b []byte, n int) []byte { return b[:min(n, len(b))] }

// Validate has an Envoy read a configuration and everything that it names, and
// says why it refuses it. env is added to this program's environment.
func Validate(ctx context.Context, envoy, file string, env ...string) error {
	cmd := exec.CommandContext(ctx, envoy, "--mode", "validate", "-c", file, "--log-level", "warning")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("envoy --mode validate -c %s: %w\n%s", file, err, shorten(out, 2000))
	}
	return nil
}
