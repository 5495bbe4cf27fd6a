package stacktest

import (
	"path/filepath"
	"sync"
	"testing"

	"sluice/internal/stack"
)

var buildHigress = sync.OnceValues(func() (string, error) {
	root, err := stack.Root()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, stack.HigressModulePath), stack.BuildHigressModule(background, root)
})

// HigressModule is the path of the plugin as it is compiled for Higress.
func HigressModule(t testing.TB) string {
	t.Helper()
	path, err := buildHigress()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
