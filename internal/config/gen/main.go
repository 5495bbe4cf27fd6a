// Command gen writes the JSON Schema and the reference page of the
// configuration. Run it from the repository's root:
//
//	go run ./internal/config/gen
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"sluice/internal/config/schema"
)

func main() {
	if err := write(filepath.Join("docs", "reference")); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("run me from the repository's root: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	js, err := schema.JSON()
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "schema.json"), js, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "configuration.md"), schema.Reference(), 0o644)
}
