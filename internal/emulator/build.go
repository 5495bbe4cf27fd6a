package emulator

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Build compiles a Go program to a module, as packages that use goabi must be.
// pkg is an import path or a folder of this module.
func Build(pkg string, tags ...string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "module")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "module.wasm")
	cmd := exec.Command("go", "build",
		"-tags", strings.Join(tags, ","),
		"-buildmode=c-shared",
		"-ldflags=-s -w",
		"-o", file, pkg)
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return os.ReadFile(file)
}
