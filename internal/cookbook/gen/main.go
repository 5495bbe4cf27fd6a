// Command gen writes docs/cookbook.md out of the recipes in testdata/cookbook.
// go generate runs it in the folder of package cookbook.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sluice/internal/cookbook"
)

// root is the repository's folder, from package cookbook's.
const root = "../.."

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "cookbook:", err)
		os.Exit(1)
	}
}

func run() error {
	recipes, err := cookbook.Load(filepath.Join(root, cookbook.Dir))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, cookbook.Page), cookbook.Render(recipes), 0o644)
}
