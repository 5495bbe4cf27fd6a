package imagepull

import (
	"bytes"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"istio.io/istio/pkg/wasm"
)

const build = "../../build"

// stored is the image that make image wrote, and the plugin that it is made of.
func stored(t *testing.T) (v1.Image, []byte) {
	t.Helper()
	module, err := os.ReadFile(filepath.Join(build, "sluice.wasm"))
	if err != nil {
		t.Fatalf("%v: run make build", err)
	}
	index, err := layout.ImageIndexFromPath(filepath.Join(build, "image"))
	if err != nil {
		t.Fatalf("%v: run make image", err)
	}
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(list.Manifests) != 1 {
		t.Fatalf("the layout has %d manifests", len(list.Manifests))
	}
	img, err := index.Image(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	return img, module
}

// push puts an image into a registry and returns what names it there.
func push(t *testing.T, img v1.Image) string {
	t.Helper()
	server := httptest.NewServer(registry.New())
	t.Cleanup(server.Close)
	ref, err := name.ParseReference(strings.TrimPrefix(server.URL, "http://") + "/sluice:1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	return ref.Name()
}

func fetch(t *testing.T, ref string) ([]byte, string, error) {
	t.Helper()
	read, digest, err := wasm.NewImageFetcher(t.Context(), wasm.ImageFetcherOption{}).PrepareFetch(ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := read()
	return got, digest, err
}

func TestIstiosAgentPullsTheImage(t *testing.T) {
	img, module := stored(t)
	got, digest, err := fetch(t, push(t, img))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, module) {
		t.Errorf("the agent got %d bytes, and the plugin has %d", len(got), len(module))
	}
	// What WasmPlugin.sha256 is compared with.
	if want, err := img.Digest(); err != nil || digest != want.Hex {
		t.Errorf("the agent takes its digest for %s, not %s (%v)", digest, want.Hex, err)
	}
}

// The plugin's layer has to be the last one: with the papers after it the agent
// finds nothing, so the test above would notice.
func TestTheOrderOfLayersMatters(t *testing.T) {
	img, _ := stored(t)
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 2 {
		t.Fatalf("%d layers", len(layers))
	}
	turned, err := mutate.AppendLayers(mutate.MediaType(empty.Image, "application/vnd.oci.image.manifest.v1+json"), layers[1], layers[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, _, err := fetch(t, push(t, turned)); err == nil {
		t.Errorf("the agent found %d bytes", len(got))
	}
}
