// Command stamp writes into a compiled module which version it is, and its
// checksum beside it. make build runs it.
package main

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"sluice/internal/version"
	"sluice/internal/wasmfile"
)

func main() {
	v := flag.String("version", version.Version, "the version that was compiled in")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: stamp [-version VERSION] MODULE STAMPED")
		os.Exit(2)
	}
	if err := run(*v, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "stamp:", err)
		os.Exit(1)
	}
}

func run(v, from, to string) error {
	module, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	// go run builds this program with the same compiler as the module.
	stamped, err := wasmfile.Add(module, wasmfile.Stamp{
		Version: v, Go: runtime.Version(), MinEnvoy: "1." + strconv.Itoa(version.MinEnvoyMinor),
	})
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	if err := replace(to, stamped); err != nil {
		return err
	}
	line := fmt.Sprintf("%x  %s\n", sha256.Sum256(stamped), filepath.Base(to))
	return replace(to+".sha256", []byte(line))
}

// replace writes a file so that whoever reads it meanwhile sees the old one or
// the new one.
func replace(path string, content []byte) error {
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, content, 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
