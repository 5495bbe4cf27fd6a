// Package image puts the compiled plugin into the image that Istio, Envoy Gateway
// and Higress take: built from scratch, one manifest, its last layer a compressed
// tar with plugin.wasm. The same module gives the same digest.
package image

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"sluice/internal/image/archive"
	"sluice/internal/image/bill"
)

// PluginFile is the name that the platforms look for.
const PluginFile = "plugin.wasm"

// docs is where papers are in the image.
const docs = "usr/share/doc/sluice/"

// Content is what goes into an image.
type Content struct {
	Name      string // such as sluice
	Version   string
	Licence   string // the project's, SPDX
	Module    []byte // the compiled plugin
	Text      []byte // the project's licence
	Materials []byte // bill of materials
	Modules   []bill.Module
}

// Build makes the image: a layer of papers and, last, the plugin's.
func Build(c Content) (v1.Image, error) {
	papers := append([]archive.File{
		{Name: docs + "LICENSE", Content: c.Text},
		{Name: docs + "sbom.cdx.json", Content: c.Materials},
	}, Papers(docs, c.Modules)...)
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	// The agents don't look at the platform. This is what an image built from
	// scratch has, and the one that every puller takes.
	file, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture = "linux", "amd64"
	file.Created = v1.Time{Time: time.Unix(0, 0).UTC()}
	file.Config.Labels = labels(c)
	if img, err = mutate.ConfigFile(img, file); err != nil {
		return nil, err
	}
	for _, l := range []struct {
		files []archive.File
		what  string
	}{
		{papers, "licences and bill of materials"},
		{[]archive.File{{Name: PluginFile, Content: c.Module}}, "the plugin"},
	} {
		layer, err := makeLayer(l.files)
		if err != nil {
			return nil, err
		}
		img, err = mutate.Append(img, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayer,
			History: v1.History{CreatedBy: l.what, Created: file.Created},
		})
		if err != nil {
			return nil, err
		}
	}
	out, ok := mutate.Annotations(img, labels(c)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("annotate the image: it is none any more")
	}
	return out, nil
}

func labels(c Content) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       c.Name,
		"org.opencontainers.image.description": "Rate limits in Envoy, counted exactly in Redis: a proxy-wasm plugin.",
		"org.opencontainers.image.version":     c.Version,
		"org.opencontainers.image.licenses":    c.Licence,
	}
}

// Papers are the licence texts of modules, each under the module's path.
func Papers(under string, modules []bill.Module) []archive.File {
	var files []archive.File
	for _, m := range modules {
		for _, t := range m.Texts {
			files = append(files, archive.File{Name: under + "licenses/" + m.Path + "/" + t.Name, Content: t.Content})
		}
	}
	return files
}

func makeLayer(files []archive.File) (v1.Layer, error) {
	content, err := archive.TarGzip(files)
	if err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
}

// Write puts an image alone into a folder, as an OCI layout whose index names it
// by its version. What was there is replaced.
func Write(dir string, img v1.Image, version string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	if err := p.AppendImage(img, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": version})); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	return nil
}

// Read returns the image of a layout that Write made.
func Read(dir string) (v1.Image, error) {
	index, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	list, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(list.Manifests) != 1 {
		return nil, fmt.Errorf("%s holds %d images, expected one", dir, len(list.Manifests))
	}
	return index.Image(list.Manifests[0].Digest)
}
