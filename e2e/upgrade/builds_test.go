// Package upgrade runs gateways of different versions side by side on one Redis, as
// a fleet does while it is upgraded.
package upgrade

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack/stacktest"
	"sluice/internal/wasmfile"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// another builds the plugin as another version. edits are changes of source files,
// by their paths in the checkout: each old text must be there once.
func another(t *testing.T, version string, edits map[string][2]string) string {
	t.Helper()
	root, dir := stacktest.Root(t), t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for file, e := range edits {
		path := filepath.Join(root, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), e[0]); n != 1 {
			t.Fatalf("%s has %q %d times", file, e[0], n)
		}
		changed := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(changed, []byte(strings.Replace(string(text), e[0], e[1], 1)), 0o644); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[path] = changed
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "sluice-"+version+".wasm")
	cmd := exec.Command("go", "build", "-overlay", list, "-buildmode=c-shared",
		"-trimpath", "-buildvcs=false", "-ldflags=-s -w -X sluice/internal/version.Version="+version, "-o", out, ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build version %s: %v\n%s", version, err, b)
	}
	return out
}

// nextFormat is a version whose sliding_log has another format: all that such a
// version must do is to name it in its keys.
func nextFormat(t *testing.T) string {
	t.Helper()
	return another(t, "9.9.9", map[string][2]string{"internal/limit/sliding_log.go": {`"log1"`, `"log2"`}})
}

// previous is a module of the release before, where $SLUICE_OLD_MODULE names one
// (make test-upgrade OLD=v1.2.3 does), else this source under another version.
func previous(t *testing.T) string {
	t.Helper()
	file := os.Getenv("SLUICE_OLD_MODULE")
	if file == "" {
		return another(t, "0.0.1", nil)
	}
	module, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := wasmfile.Describe(module); err == nil {
		fmt.Printf("beside version %s, built with %s\n", info.Version, info.Go)
	}
	return file
}
