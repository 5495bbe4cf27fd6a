// Command pack makes a compiled module smaller. make build runs it.
package main

import (
	"fmt"
	"os"

	"sluice/internal/wasmpack"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack MODULE PACKED")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	module, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	packed, err := wasmpack.Pack(module)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	// Whoever reads it meanwhile sees the old one or the new one.
	temporary := to + ".tmp"
	if err := os.WriteFile(temporary, packed, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, to)
}
