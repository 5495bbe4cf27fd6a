// Command bench measures sluice beside what people use today, and its algorithms
// beside each other, with real processes on this machine, and writes
// docs/benchmarks.md. It listens and sends on 127.0.0.1 only.
//
//	go run ./bench            # or make bench, which builds the plugin first
//	go run ./bench -rounds 1 -seconds 2 -rows 'no filter$|sluice$' -parts gateways,steady -out -
//	go run ./bench -soak 2m   # or make soak: memory and latency over a long time
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

	"sluice/internal/pauses"
	"sluice/internal/stack"
)

// Parts of the report, as -parts names them.
const (
	partGateways   = "gateways"
	partSteady     = "steady"
	partScale      = "scale"
	partAlgorithms = "algorithms"
	partGo         = "go"
)

var allParts = []string{partGateways, partSteady, partScale, partAlgorithms, partGo}

// soakFile holds the soak that the report shows.
const soakFile = "bench/testdata/soak.json"

// options are what the command line says.
type options struct {
	plan   plan
	rows   *regexp.Regexp
	parts  []string
	out    string   // a path, or "-"
	beside []string // other modules to measure beside this checkout's
	args   []string

	steady   plan
	budget   time.Duration
	soak     time.Duration // 0 for none
	soakRate float64
	soakOut  string
}

func (o options) has(part string) bool { return slices.Contains(o.parts, part) }

func main() {
	pauses.Main()
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
	f.IntVar(&o.plan.Rounds, "rounds", 3, "rounds over all rows")
	f.IntVar(&seconds, "seconds", 2, "length of a row in a round, seconds")
	f.IntVar(&warm, "warm", 1, "load before that which isn't measured, seconds")
	f.IntVar(&o.steady.Rounds, "steady-rounds", 2, "rounds at constant rate over the rows that have one")
	f.DurationVar(&o.budget, "budget", 9*time.Minute+30*time.Second, "time for everything: rounds that wouldn't be over in it are left out")
	f.StringVar(&rows, "rows", "", "regular expression: measure only the rows whose names match")
	f.StringVar(&parts, "parts", strings.Join(allParts, ","), "parts of the report: gateways (rows side by side), steady (latency at constant rate; needs gateways), scale (eight gateways with one limit, and ab; needs gateways), algorithms (ways of counting), go (benchmark functions)")
	f.StringVar(&modules, "beside", "", "other modules, separated by commas: measure each row with the plugin with them too")
	f.StringVar(&o.out, "out", "docs/benchmarks.md", "file to write, relative to the checkout; pictures go to images/ beside it; - prints it, without pictures")
	f.DurationVar(&o.soak, "soak", 0, "measure nothing but memory and latency of one gateway under load for so long")
	f.Float64Var(&o.soakRate, "soak-rate", 2000, "requests a second of -soak")
	f.StringVar(&o.soakOut, "soak-out", "", "with -soak: also write the figures to this file, JSON; the report shows those of "+soakFile)
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
	o.steady.Length, o.steady.Warm = o.plan.Length, o.plan.Warm
	for _, p := range o.parts {
		if !slices.Contains(allParts, p) {
			return o, fmt.Errorf("-parts: there is no part %q", p)
		}
	}
	if (o.has(partSteady) || o.has(partScale)) && !o.has(partGateways) {
		return o, fmt.Errorf("-parts: %s and %s need %s", partSteady, partScale, partGateways)
	}
	if o.plan.Rounds < 1 || o.steady.Rounds < 1 || seconds < 1 || warm < 1 || f.NArg() > 0 {
		return o, errors.New("-rounds, -steady-rounds, -seconds and -warm are at least 1, and nothing follows the flags")
	}
	if o.budget <= 0 || o.soak < 0 || o.soak > 24*time.Hour || !(o.soakRate >= 1 && o.soakRate <= 100_000) {
		return o, errors.New("-budget is above 0, -soak at most 24h, -soak-rate from 1 to 100000")
	}
	var err error
	o.rows, err = regexp.Compile(rows)
	return o, err
}

// longest bounds a run whatever goes wrong, beyond what it was given.
const longest = 2 * time.Minute

// Parts of the budget, from the start, by which the rounds of a part have to be over.
const (
	closedUntil = 0.58
	steadyUntil = 0.80
)

func run(ctx context.Context, o options) error {
	ctx, cancel := context.WithTimeout(ctx, max(o.budget, o.soak+time.Minute)+longest)
	defer cancel()
	root, err := stack.Root()
	if err != nil {
		return err
	}
	dir := filepath.Join(root, "build", "bench")
	if o.soak > 0 {
		dir += "-soak" // a short run beside it is no trouble
	}
	if err := os.RemoveAll(dir); err != nil { // only this run's logs are to be found there
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	chosen := available(choose(tables, o.rows), say)
	chosen = beside(chosen, o.beside)
	t, err := findTools(ctx, o, chosen)
	if err != nil {
		return err
	}
	b := &bed{root: root, dir: dir, tools: t}
	if o.soak > 0 {
		return runSoak(ctx, b, o)
	}
	r := &report{options: o, root: root, tables: chosen, facts: machine(ctx, t, root)}
	if r.soak, err = readSoak(filepath.Join(root, soakFile)); err != nil {
		return err
	}
	start := time.Now()
	o.plan.Until = start.Add(time.Duration(closedUntil * float64(o.budget)))
	o.steady.Until = start.Add(time.Duration(steadyUntil * float64(o.budget)))
	if o.has(partGateways) {
		if err := r.measureGateways(ctx, b, o); err != nil {
			return err
		}
		if err := keep(filepath.Join(dir, "rounds.json"), r.figures); err != nil {
			return err
		}
		if err := keep(filepath.Join(dir, "steady.json"), r.steady); err != nil {
			return err
		}
	}
	if o.has(partAlgorithms) {
		if r.ways, err = compareWays(ctx, t.redis, dir, time.Second, say); err != nil {
			return err
		}
	}
	if o.has(partGo) {
		if r.micros, err = runMicros(ctx, root, 200*time.Millisecond, say); err != nil {
			return err
		}
	}
	r.took = time.Since(start)
	return r.write(root)
}

// runSoak keeps a gateway under load and prints what came of it.
func runSoak(ctx context.Context, b *bed, o options) error {
	defer b.stop()
	result, err := b.soak(ctx, newSoak(o.soak, o.soakRate), say)
	if err != nil {
		return err
	}
	result.Command = shown(append([]string{"run", "./bench"}, o.args...))
	r := &report{soak: &result}
	r.soakSection()
	fmt.Print(r.text.String())
	if o.soakOut == "" {
		return nil
	}
	return keep(filepath.Join(b.root, o.soakOut), result)
}

// readSoak reads the figures of an earlier soak; nil when there are none.
func readSoak(path string) (*soakResult, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var s soakResult
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &s, nil
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
				other.name, other.plugin = r.name+" ("+strings.TrimSuffix(filepath.Base(m), ".wasm")+")", m
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
	if !o.has(partGateways) && o.soak == 0 {
		return t, nil
	}
	if t.envoy, err = stack.FindEnvoy(ctx, say); err != nil {
		return t, err
	}
	if o.soak > 0 {
		return t, nil
	}
	if o.has(partScale) {
		if t.ab, err = stack.FindAb(ctx, say); err != nil {
			return t, err
		}
	}
	if t.wrk, err = stack.FindWrk(ctx, say); err != nil {
		return t, err
	}
	if slices.ContainsFunc(allRows(chosen), func(r row) bool { return r.service }) {
		t.rateLimit, err = stack.FindRateLimit(ctx, say)
	}
	return t, err
}

func (r *report) measureGateways(ctx context.Context, b *bed, o options) error {
	defer b.stop()
	rows := allRows(r.tables)
	say("starting %d gateways", len(rows))
	err := b.start(ctx, rows)
	if err != nil {
		return err
	}
	if err := b.doze(); err != nil {
		return err
	}
	if r.figures, err = b.measure(ctx, rows, o.plan, say); err != nil {
		return err
	}
	if o.has(partSteady) {
		if r.steady, err = b.steady(ctx, r.tables, r.figures, o.steady, say); err != nil {
			return err
		}
		r.stalls = stallsIf(say)
	}
	if o.has(partScale) {
		r.scale, err = b.scale(ctx, 4*time.Second, say)
	}
	return err
}

// keep stores figures.
func keep(path string, results any) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
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
	if err := r.pictures(filepath.Join(filepath.Dir(path), "images")); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	say("wrote %s after %v", path, r.took.Round(time.Second))
	return nil
}
