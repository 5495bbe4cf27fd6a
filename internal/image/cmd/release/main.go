// Command release makes what a version ships, in build/release. make release runs
// it; docs/release.md says what else a release takes.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"sluice/internal/image/release"
)

func main() {
	root := flag.String("root", ".", "the checkout")
	out := flag.String("out", "build/release", "folder to write, whose content is replaced")
	snapshot := flag.Bool("snapshot", false, "allow changes that are in no commit")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	version, err := release.Make(ctx, *root, *out, *snapshot, say)
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
	fmt.Printf("%s holds version %s\n", *out, version)
}
