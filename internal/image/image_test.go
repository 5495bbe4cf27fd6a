package image_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"sluice/internal/image"
	"sluice/internal/image/assemble"
)

const root = "../.."

func module(t *testing.T) string {
	t.Helper()
	file := filepath.Join(root, "build", "sluice.wasm")
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("%v: run make build", err)
	}
	return file
}

// content is that of the checkout's own image.
func content(t *testing.T) image.Content {
	t.Helper()
	c, err := assemble.Plugin(t.Context(), root, "sluice", module(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func build(t *testing.T, c image.Content) v1.Image {
	t.Helper()
	img, err := image.Build(c)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// pull takes an image apart as the agents of Istio and Envoy Gateway do: the last
// layer has to be a compressed tar, in which a file of the name plugin.wasm is.
func pull(ref name.Reference) ([]byte, error) {
	desc, err := remote.Get(ref)
	if err != nil {
		return nil, err
	}
	if desc.MediaType != types.OCIManifestSchema1 {
		return nil, fmt.Errorf("it is a %s, no manifest", desc.MediaType)
	}
	img, err := desc.Image()
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, err
	}
	last := layers[len(layers)-1]
	if t, err := last.MediaType(); err != nil || t != types.OCILayer {
		return nil, fmt.Errorf("the last layer is a %s (%w)", t, err)
	}
	packed, err := last.Compressed()
	if err != nil {
		return nil, err
	}
	defer packed.Close()
	return find(packed, image.PluginFile)
}

// find returns a file of a compressed tar, by its base name.
func find(packed io.Reader, base string) ([]byte, error) {
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	for files := tar.NewReader(plain); ; {
		h, err := files.Next()
		if err != nil {
			return nil, fmt.Errorf("no %s: %w", base, err)
		}
		if path.Base(h.Name) == base {
			return io.ReadAll(files)
		}
	}
}

// What make image writes goes to a registry and comes back whole.
func TestPulledFromARegistry(t *testing.T) {
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	c := content(t)
	img := build(t, c)
	dir := filepath.Join(t.TempDir(), "image")
	// A layout that was there before leaves nothing behind.
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, "old"), nil, 0o644), image.Write(dir, img, c.Version)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was there before: %v", err)
	}
	stored, err := image.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(stored); err != nil {
		t.Errorf("the layout: %v", err)
	}
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/sluice:1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, stored); err != nil {
		t.Fatal(err)
	}
	got, err := pull(ref)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, c.Module) {
		t.Errorf("%d bytes came back, and the plugin has %d", len(got), len(c.Module))
	}
	desc, err := remote.Get(ref)
	if err != nil {
		t.Fatal(err)
	}
	if want, err := img.Digest(); err != nil || desc.Digest != want {
		t.Errorf("digest %v, expected %v (%v)", desc.Digest, want, err)
	}
}

func TestPapers(t *testing.T) {
	c := content(t)
	var modules []string
	for _, m := range c.Modules {
		modules = append(modules, m.Path)
		if len(m.Texts) == 0 || len(m.Licences) == 0 {
			t.Errorf("%s has no licence", m.Path)
		}
	}
	if !slices.Contains(modules, "std") {
		t.Errorf("std isn't among %v", modules)
	}
	layers, err := build(t, c).Layers()
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"sbom.cdx.json", "LICENSE"} {
		packed, err := layers[0].Compressed()
		if err != nil {
			t.Fatal(err)
		}
		got, err := find(packed, base)
		packed.Close()
		if err != nil || len(got) == 0 {
			t.Errorf("%s: %v", base, err)
		}
		if base != "sbom.cdx.json" {
			continue
		}
		var bom cdx.BOM
		if err := cdx.NewBOMDecoder(bytes.NewReader(got), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
			t.Fatal(err)
		}
		if len(*bom.Components) != len(modules) || bom.Metadata.Component.Version != c.Version {
			t.Errorf("the bill lists %d of %d modules, version %s", len(*bom.Components), len(modules), bom.Metadata.Component.Version)
		}
	}
}

func TestSameContentSameDigest(t *testing.T) {
	c := content(t)
	a, err := build(t, c).Digest()
	if err != nil {
		t.Fatal(err)
	}
	if b, err := build(t, content(t)).Digest(); err != nil || a != b {
		t.Errorf("%v and %v (%v)", a, b, err)
	}
	c.Module = append(slices.Clone(c.Module), 0)
	if b, err := build(t, c).Digest(); err != nil || a == b {
		t.Errorf("another module has the same digest %v (%v)", b, err)
	}
}

func TestNoModuleNoImage(t *testing.T) {
	for what, file := range map[string]string{"missing": "ghost.wasm", "no module": "go.mod"} {
		if _, err := assemble.Plugin(t.Context(), root, "sluice", file); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
	if _, err := image.Read(t.TempDir()); err == nil {
		t.Error("an empty folder is read as an image")
	}
}
