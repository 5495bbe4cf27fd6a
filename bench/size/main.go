// Command size says what the compiled plugin is made of, and what an Envoy
// needs to run it. It listens and sends on 127.0.0.1 only.
//
//	make size
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sluice/internal/stack"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	module := flag.String("module", stack.ModulePath, "the module")
	names := flag.String("names", "", "the same module with names (not linked with -s -w): also list what its code comes from")
	functions := flag.Int("functions", 25, "how many functions to list")
	rss := flag.Bool("rss", true, "also measure the memory of an Envoy that runs it")
	flag.Parse()
	if err := run(ctx, *module, *names, *functions, *rss); err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path, names string, functions int, rss bool) error {
	m, err := load(path)
	if err != nil {
		return err
	}
	fmt.Printf("%s: %d bytes: code %d in %d functions, data %d in %d pieces, the rest %d\n",
		path, m.size, m.code, len(m.funcs), m.data, m.segments, m.size-m.code-m.data)
	if names != "" {
		n, err := load(names)
		if err != nil {
			return err
		}
		list("packages by code", n.byPackage(), 60)
		list("functions by code", n.funcs, functions)
	}
	if !rss {
		return nil
	}
	return memories(ctx, path)
}

func load(path string) (*module, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := parse(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// byPackage sums up the functions of each package.
func (m *module) byPackage() []function {
	sums := map[string]int{}
	for _, f := range m.funcs {
		sums[packageOf(f.name)] += f.size
	}
	out := make([]function, 0, len(sums))
	for name, size := range sums {
		out = append(out, function{name, size})
	}
	return out
}

// packageOf is a function's package. The linker writes names with _ for most
// that isn't a letter: runtime.gcStart, sluice_internal_key.__Key_.Append.
func packageOf(name string) string {
	name, _, _ = strings.Cut(name, "_go.shape.")
	for _, host := range []string{"github.com_", "golang.org_"} {
		if rest, ok := strings.CutPrefix(name, host); ok {
			pkg, _, _ := strings.Cut(rest, ".")
			return host + pkg
		}
	}
	pkg, _, _ := strings.Cut(name, ".")
	return pkg
}

func list(title string, all []function, most int) {
	fmt.Printf("\n%s:\n", title)
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b function) int {
		return cmp.Or(cmp.Compare(b.size, a.size), cmp.Compare(a.name, b.name))
	})
	for _, f := range all[:min(most, len(all))] {
		fmt.Printf("%9d  %s\n", f.size, f.name)
	}
}

// memories measures gateways with and without the plugin, and prints what the
// plugin adds.
func memories(ctx context.Context, module string) error {
	root, err := stack.Root()
	if err != nil {
		return err
	}
	if module, err = filepath.Abs(module); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "sluice-size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	say := func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	var t tools
	if t.envoy, err = stack.FindEnvoy(ctx, say); err != nil {
		return err
	}
	if t.redis, err = stack.FindRedis(ctx, say); err != nil {
		return err
	}
	redis, err := stack.StartRedis(stack.RedisOptions{Binary: t.redis, Dir: dir})
	if err != nil {
		return err
	}
	defer redis.Stop()
	fmt.Printf("\n%7s  %12s  %12s  %12s  %12s\n", "workers", "without, MB", "with, MB", "added, MB", "load, s")
	for _, workers := range []int{1, 2, 4} {
		without, err := measure(ctx, root, dir, t, redis.Addr, "", workers)
		if err != nil {
			return err
		}
		with, err := measure(ctx, root, dir, t, redis.Addr, module, workers)
		if err != nil {
			return err
		}
		fmt.Printf("%7d  %12.1f  %12.1f  %12.1f  %12.2f   peak added %.1f\n", workers, mb(without.rss), mb(with.rss), mb(with.rss-without.rss), (with.load - without.load).Seconds(), mb(with.peak-without.peak))
	}
	return nil
}

func mb(n int64) float64 { return float64(n) / 1e6 }
