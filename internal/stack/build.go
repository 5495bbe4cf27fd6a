package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// ModulePath is where the compiled plugin is, from the checkout's folder.
const ModulePath = "build/sluice.wasm"

// HigressModulePath is where the one for Higress is, which no other proxy loads.
const HigressModulePath = "build/sluice-higress.wasm"

// BuildModule compiles the plugin unless the compiled one is up to date, as
// `make build` does. Processes that need it at the same time build it once.
func BuildModule(ctx context.Context, root string) error { return build(ctx, root, ModulePath) }

// BuildHigressModule does the same for Higress's.
func BuildHigressModule(ctx context.Context, root string) error {
	return build(ctx, root, HigressModulePath)
}

func build(ctx context.Context, root, target string) error {
	return Locked(filepath.Join(root, ".tools", "build.lock"), func() error {
		cmd := exec.CommandContext(ctx, "make", "--no-print-directory", target)
		cmd.Dir = root
		// make passes its own flags on to the tests that it runs.
		cmd.Env = append(os.Environ(), "MAKEFLAGS=", "MAKELEVEL=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build the plugin (make %s): %w\n%s", target, err, out)
		}
		return nil
	})
}
