// Command matrix runs a selection of the end-to-end tests on each Envoy that can
// be had, and writes what it found into docs/envoy-versions.md. A version that
// can't be had, or a test that didn't run, is a failure.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"sluice/internal/stack"
)

func main() {
	versions := flag.String("versions", strings.Join(stack.EnvoyVersions, ","), "Envoys to run on, by commas")
	page := flag.String("docs", "", "page whose table is written anew")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, strings.Split(*versions, ","), *page); err != nil {
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, versions []string, page string) error {
	root, err := stack.Root()
	if err != nil {
		return err
	}
	if err := stack.BuildModule(ctx, root); err != nil {
		return err
	}
	var results []result
	var failed []string
	for _, v := range versions {
		r := result{version: v, outcomes: map[string]string{}}
		for _, s := range selection {
			fmt.Printf("Envoy %s: %s: %s\n", v, s.pkg, strings.Join(s.tests, " "))
			if err := s.run(ctx, root, v, r.outcomes); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
		for _, name := range names() {
			if o := r.outcomes[name]; o != passed {
				failed = append(failed, fmt.Sprintf("Envoy %s: %s: %s", v, name, or(o, "did not run")))
			}
		}
		results = append(results, r)
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d failed:\n%s", len(failed), strings.Join(failed, "\n"))
	}
	fmt.Printf("%d tests passed on each of Envoy %s\n", len(names()), strings.Join(versions, ", "))
	if page == "" {
		return nil
	}
	return write(page, results)
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
