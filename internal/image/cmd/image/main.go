// Command image writes the plugin's image as an OCI layout, and pushes it where
// asked to. make image runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"sluice/internal/image"
	"sluice/internal/image/assemble"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	title := flag.String("name", "sluice", "the image's name")
	module := flag.String("module", "build/sluice.wasm", "the compiled plugin")
	out := flag.String("out", "build/image", "folder of the layout")
	push := flag.String("push", "", "also push it there: REGISTRY/NAME:TAG, with the credentials of docker login")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *root, *title, *module, *out, *push); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, root, title, module, out, push string) error {
	c, err := assemble.Plugin(ctx, root, title, module)
	if err != nil {
		return err
	}
	img, err := image.Build(c)
	if err != nil {
		return err
	}
	if err := image.Write(out, img, c.Version); err != nil {
		return err
	}
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s %s, %s\n", out, title, c.Version, digest)
	if push == "" {
		return nil
	}
	ref, err := name.ParseReference(push)
	if err != nil {
		return err
	}
	if err := remote.Write(ref, img, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push to %s: %w", push, err)
	}
	fmt.Printf("pushed: oci://%s@%s\n", ref.Context().Name(), digest)
	return nil
}
