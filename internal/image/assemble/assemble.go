// Package assemble makes the image of a checkout from its compiled plugin.
package assemble

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sluice/internal/image"
	"sluice/internal/image/bill"
	"sluice/internal/wasmfile"
)

// Licence is the project's.
const Licence = "Apache-2.0"

// Plugin is what the image is made of. Name is the image's and File the compiled
// plugin's path.
func Plugin(ctx context.Context, root, name, file string) (image.Content, error) {
	c := image.Content{Name: name, Licence: Licence}
	var err error
	if c.Module, err = os.ReadFile(file); err != nil {
		return c, fmt.Errorf("the compiled plugin: %w (make build)", err)
	}
	info, err := wasmfile.Describe(c.Module)
	if err != nil {
		return c, fmt.Errorf("%s: %w", file, err)
	}
	c.Version = info.Version
	if c.Text, err = os.ReadFile(filepath.Join(root, "LICENSE")); err != nil {
		return c, err
	}
	tags := ""
	if info.Host != "envoy" {
		tags = info.Host
	}
	if c.Modules, err = bill.Modules(ctx, bill.Program{Root: root, Package: ".", OS: "wasip1", Arch: "wasm", Tags: tags}); err != nil {
		return c, err
	}
	c.Materials, err = bill.Materials(bill.Subject{Name: name + ".wasm", Version: c.Version, SHA256: info.SHA256, Licence: Licence}, c.Modules)
	return c, err
}
