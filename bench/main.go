// Command bench measures sluice beside what people use today, and its algorithms
// beside each other, with real processes on this machine, and writes
// docs/benchmarks.md. It listens and sends on 127.0.0.1 only.
//
//	go run ./bench            # or make bench, which builds the plugin first
//	go run ./bench -rows 'no filter|sluice$' -parts gateways -out -
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"sluice/internal/stack"
)

// Parts of the report, as -parts names them.
const (
	partGateways   = "gateways"
	partAlgorithms = "algorithms"
	partGo         = "go"
)

// options are what the command line says.
type options struct {
	plan   plan
	rows   *regexp.Regexp
	parts  []string
	out    string   // a path, or "-"
	beside []string // other modules to measure beside this checkout's
	args   []string
}

func (o options) has(part string) bool { return slices.Contains(o.parts, part) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err == nil {
		err = run(ctx, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var seconds, warm int
	var rows, parts, modules string
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&o.plan.Rounds, "rounds", 5, "rounds over all rows")
	f.IntVar(&seconds, "seconds", 2, "length of a row in a round, seconds")
	f.IntVar(&warm, "warm", 1, "load before that which isn't measured, seconds")
	f.StringVar(&rows, "rows", "", "regular expression: measure only the rows whose names match")
	f.StringVar(&parts, "parts", strings.Join([]string{partGateways, partAlgorithms, partGo}, ","), "parts of the report")
	f.StringVar(&modules, "beside", "", "other modules, separated by commas: measure each row with the plugin with them too")
	f.StringVar(&o.out, "out", "docs/benchmarks.md", "file to write, relative to the checkout; - prints it")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	o.args = args
	if modules != "" {
		o.beside = strings.Split(modules, ",")
	}
	o.parts = strings.Split(parts, ",")
	o.plan.Length = time.Duration(seconds) * time.Second
	o.plan.Warm = time.Duration(warm) * time.Second
	for _, p := range o.parts {
		if p != partGateways && p != partAlgorithms && p != partGo {
			return o, fmt.Errorf("-parts: there is no part %q", p)
		}
	}
	if o.plan.Rounds < 1 || seconds < 1 || warm < 1 || f.NArg() > 0 {
		return o, errors.New("-rounds, -seconds and -warm are at least 1, and nothing follows the flags")
	}
	var err error
	o.rows, err = regexp.Compile(rows)
	return o, err
}

// longest bounds a run whatever goes wrong.
const longest = 20 * time.Minute

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	root, err := stack.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "build", "bench")
	if err := os.RemoveAll(dir); err != nil { // only this run's logs are to be found there
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	chosen := choose(tables, o.rows)
	chosen = beside(chosen, o.beside)
	t, err := findTools(ctx, o, chosen)
	if err != nil {
		return err
	}
	r := &report{options: o, tables: chosen, facts: machine(ctx, t, root)}
	start := time.Now()
	if o.has(partGateways) {
		if r.figures, err = measureGateways(ctx, &bed{root: root, dir: dir, tools: t}, chosen, o.plan); err != nil {
			return err
		}
		if err := keep(filepath.Join(dir, "rounds.json"), r.figures); err != nil {
			return err
		}
	}
	if o.has(partAlgorithms) {
		if r.ways, err = compareWays(ctx, t.redis, dir, time.Second, say); err != nil {
			return err
		}
	}
	if o.has(partGo) {
		if r.micros, err = runMicros(ctx, root, 300*time.Millisecond, say); err != nil {
			return err
		}
	}
	r.took = time.Since(start)
	return r.write(root)
}

func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// choose keeps the rows whose names match.
func choose(all []table, names *regexp.Regexp) []table {
	var chosen []table
	for _, t := range all {
		t.rows = slices.DeleteFunc(slices.Clone(t.rows), func(r row) bool { return !names.MatchString(r.name) })
		if len(t.rows) > 0 {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

// beside adds rows with other modules next to each one with the plugin.
func beside(all []table, modules []string) []table {
	for i := range all {
		var rows []row
		for _, r := range all[i].rows {
			rows = append(rows, r)
			if r.policy == "" {
				continue
			}
			for _, m := range modules {
				other := r
				other.name, other.module = r.name+" ("+strings.TrimSuffix(filepath.Base(m), ".wasm")+")", m
				rows = append(rows, other)
			}
		}
		all[i].rows = rows
	}
	return all
}

// allRows are the rows of all tables.
func allRows(tables []table) []row {
	var rows []row
	for _, t := range tables {
		rows = append(rows, t.rows...)
	}
	return rows
}

// findTools finds or fetches what the chosen parts need.
func findTools(ctx context.Context, o options, chosen []table) (t tools, err error) {
	if t.redis, err = stack.FindRedis(ctx, say); err != nil {
		return t, err
	}
	if !o.has(partGateways) {
		return t, nil
	}
	if t.envoy, err = stack.FindEnvoy(ctx, say); err != nil {
		return t, err
	}
	if t.wrk, err = stack.FindWrk(ctx, say); err != nil {
		return t, err
	}
	if slices.ContainsFunc(allRows(chosen), func(r row) bool { return r.service }) {
		t.rateLimit, err = stack.FindRateLimit(ctx, say)
	}
	return t, err
}

func measureGateways(ctx context.Context, b *bed, chosen []table, p plan) (map[string][]figures, error) {
	defer b.stop()
	rows := allRows(chosen)
	say("starting %d gateways", len(rows))
	if err := b.start(ctx, rows); err != nil {
		return nil, err
	}
	return b.measure(ctx, rows, p, say)
}

// keep stores the figures of each round.
func keep(path string, results map[string][]figures) error {
	text, err := json.MarshalIndent(results, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// write puts the report where the options say.
func (r *report) write(root string) error {
	text := r.markdown()
	if r.options.out == "-" {
		_, err := io.WriteString(os.Stdout, text)
		return err
	}
	path := r.options.out
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	say("wrote %s after %v", path, r.took.Round(time.Second))
	return nil
}
