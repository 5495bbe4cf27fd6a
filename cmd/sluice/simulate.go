package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/accesslog"
	"sluice/internal/simulate"
	"sluice/internal/simulate/chart"
)

// simulation holds what the command line of `sluice simulate` says.
type simulation struct {
	shapes     []string
	logs       []string
	load       simulate.LoadOptions
	headers    []string
	with       []string
	spread     string
	format     string
	fields     []string
	whole      string
	redis      string
	models     bool
	algorithms []string
	suggest    bool
	top        int
	json       bool
	plots      []string
	memory     int

	in   io.Reader
	out  io.Writer
	err  io.Writer
	file string // of the configuration
}

func newSimulate() *cobra.Command {
	s := &simulation{}
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Try a configuration on a made-up load or an access log",
		Long: `Leads a load, or the requests of access logs, through the limits of a
configuration: the plugin's own plans and scripts, on a clock that follows the
requests, so that a day takes seconds. Says what would have been admitted and
rejected, for each limit and key.

A load is a shape: --load 'constant 200/s', 'poisson 200/s', 'bursts 100 every
5s' or 'ramp 0/s to 500/s', several of which come together. In --path, --ip and
-H, {key} stands for the caller's number.

A log is read by --log FILE, where - is the standard input; gzip is noticed. The
format is guessed, or given by --format: ` + strings.Join(accesslog.FormatNames(), ", ") + `,
nginx's log_format or Envoy's format string. For JSON lines, --fields says which
field has what where that can't be guessed: --fields header:x-user-id=user.

The scripts run in a Redis that is started for the run, or in the one of --redis,
under a prefix of their own; what they stored is deleted in the end. Overrides that
were set at run time are not applied.

` + exitCodes,
		Example: `  sluice simulate limits.yaml --load 'poisson 200/s' --for 60s --keys 50 --spread zipf
  sluice simulate limits.yaml --log access.log.gz --suggest --plot out.svg
  sluice simulate limits.yaml --load 'bursts 100 every 9s' --algorithms sliding_log,fixed_window`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{fmt.Errorf("%s takes one configuration file, and got %d arguments", cmd.CommandPath(), len(args))}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s.in, s.out, s.err = cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr()
			s.file = args[0]
			report, err := s.run(cmd)
			if err != nil {
				return err
			}
			// All is cleaned up: a reader of the output may leave now.
			return s.print(report)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&s.shapes, "load", nil, "shape of a load; may be repeated")
	f.DurationVar(&s.load.For, "for", time.Minute, "how long the load lasts")
	f.StringVarP(&s.load.Method, "method", "X", "GET", "method of the load's requests")
	f.StringVar(&s.load.Path, "path", "/", "path of the load's requests, with its query")
	f.StringVar(&s.load.Host, "host", "example.com", "host of the load's requests")
	f.StringVar(&s.load.IP, "ip", "", "address of the load's callers (default: one of 10.0.0.0/8 each)")
	f.StringArrayVarP(&s.headers, "header", "H", nil, "header of the load's requests, NAME: VALUE; may be repeated")
	f.StringArrayVar(&s.with, "with", nil, "another part of the load's requests, such as jwt:sub=user-{key} or route=orders; may be repeated")
	f.IntVar(&s.load.Keys, "keys", 1, "how many callers the load has")
	f.StringVar(&s.spread, "spread", "uniform", "how requests are divided among callers: uniform or zipf")
	f.Uint64Var(&s.load.Seed, "seed", 1, "where chance begins; the same seed gives the same load")
	f.DurationVar(&s.load.Took, "took", 0, "how long each of the load's requests takes, for concurrency")
	f.IntVar(&s.load.Status, "status", 200, "status of every answer of the load")
	f.Int64Var(&s.load.Bytes, "bytes", 0, "bytes of every answer of the load")
	f.StringArrayVar(&s.logs, "log", nil, "access log, - for the standard input; may be repeated")
	f.StringVar(&s.format, "format", "", "the log's format (default: guessed by its first lines)")
	f.StringSliceVar(&s.fields, "fields", nil, "JSON lines: which field has what, WHAT=FIELD")
	f.StringVar(&s.whole, "whole-seconds", "spread", "requests of one second, where the log's times are whole seconds: spread over it, or together at its start")
	f.IntVar(&s.memory, "memory", 128, "MiB of the log that are sorted in memory; the rest goes to temporary files")
	f.StringVar(&s.redis, "redis", "", "host:port or URL of a Redis to use instead of starting one")
	f.BoolVar(&s.models, "models", false, "decide by the algorithms' models in Go, without Redis")
	f.StringSliceVar(&s.algorithms, "algorithms", nil, "count all limits by each of these algorithms in turn, to compare them")
	f.BoolVar(&s.suggest, "suggest", false, "suggest rates from percentiles of the input's own keys")
	f.IntVar(&s.top, "top", 5, "how many keys are listed for each limit")
	f.BoolVar(&s.json, "json", false, "print the report as JSON")
	f.StringArrayVar(&s.plots, "plot", nil, "write a picture over time, .svg or .png; may be repeated")
	_ = cmd.MarkFlagFilename("log")
	return cmd
}

// loadFlags have no meaning with a log, logFlags none with a load.
var (
	loadFlags = []string{"for", "method", "path", "host", "ip", "header", "with", "keys", "spread", "seed", "took", "status", "bytes"}
	logFlags  = []string{"format", "fields", "whole-seconds", "memory"}
)

// check finds mistakes on the command line that a run would be too late for.
func (s *simulation) check(cmd *cobra.Command) error {
	wrong := func(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }
	set := func(names []string) string {
		for _, n := range names {
			if cmd.Flags().Changed(n) {
				return n
			}
		}
		return ""
	}
	switch {
	case len(s.shapes) == 0 && len(s.logs) == 0:
		return wrong("give --load 'constant 100/s' or --log FILE; see %s --help", cmd.CommandPath())
	case len(s.shapes) > 0 && len(s.logs) > 0:
		return wrong("--load and --log can't be given together")
	case s.redis != "" && s.models:
		return wrong("--redis and --models can't be given together")
	case s.top < 0 || s.top > 1_000_000:
		return wrong("--top is from 0 to 1000000")
	case s.memory < 1 || s.memory > 1<<16:
		return wrong("--memory is from 1 to 65536")
	case s.whole != "spread" && s.whole != "together":
		return wrong("--whole-seconds is spread or together, not %q", s.whole)
	}
	if n := set(loadFlags); n != "" && len(s.logs) > 0 {
		return wrong("--%s belongs to --load", n)
	}
	if n := set(logFlags); n != "" && len(s.shapes) > 0 {
		return wrong("--%s belongs to --log", n)
	}
	for _, a := range s.algorithms {
		if err := simulate.CheckAlgorithm(a); err != nil {
			return usageError{err}
		}
	}
	for _, p := range s.plots {
		if ext := filepath.Ext(p); ext != ".svg" && ext != ".png" {
			return wrong("a plot is an .svg or a .png, not %q", p)
		}
	}
	return nil
}

func (s *simulation) run(cmd *cobra.Command) (*simulate.Report, error) {
	ctx := cmd.Context()
	if err := s.check(cmd); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(s.file)
	if err != nil {
		return nil, refusedError{err}
	}
	config, err := simulate.LoadConfig(s.file, text)
	if err != nil {
		return nil, refusedError{err}
	}
	var server simulate.Server
	if s.redis != "" {
		if server, err = s.givenServer(config); err != nil {
			return nil, err
		}
	}
	bar := newProgress(s.err)
	defer bar.end()
	in, logReport, done, err := s.input(ctx, bar)
	if err != nil {
		return nil, s.said(ctx, err)
	}
	defer done()

	o := simulate.Options{Algorithms: s.algorithms, Top: s.top, Suggest: s.suggest, Series: len(s.plots) > 0}
	switch {
	case s.redis != "":
		o.Server, o.ServerName = &server, "the Redis at "+server.Addr
		o.RedisGiven = true
	case !s.models:
		own, name, stop, err := simulate.OwnServer(ctx, s.warn)
		if err != nil {
			return nil, err
		}
		defer stop()
		o.Server, o.ServerName = &own, name
	}
	_, _, count := in.Span()
	o.Progress = func(run int, n int64) { bar.requests(run, max(len(s.algorithms), 1), n, count) }
	report, err := simulate.Simulate(ctx, config, in, o)
	bar.end()
	if err != nil {
		return nil, s.said(ctx, err)
	}
	report.Log = logReport
	for _, shape := range s.load.Shapes {
		report.Load = append(report.Load, shape.String())
	}
	for _, p := range s.plots {
		if err := chart.Save(report, p); err != nil {
			return nil, err
		}
	}
	return report, nil
}

func (s *simulation) print(report *simulate.Report) error {
	if s.json {
		e := json.NewEncoder(s.out)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(report)
	}
	return report.Text(s.out)
}

// said is an error with the exit code that belongs to it.
func (s *simulation) said(ctx context.Context, err error) error {
	var usage simulate.UsageError
	var format accesslog.FormatError
	var left *simulate.LeftError
	switch {
	case errors.As(err, &left):
		return err
	case ctx.Err() != nil:
		return errors.New("stopped before the end, and cleaned up")
	case errors.As(err, &usage), errors.As(err, &format):
		return usageError{err}
	}
	return err
}

// givenServer is the Redis of --redis, with the configuration's credentials
// where it names none.
func (s *simulation) givenServer(c *simulate.Config) (simulate.Server, error) {
	server, err := simulate.ParseServer(s.redis)
	if err != nil {
		return server, usageError{err}
	}
	r := &c.Policy.Redis
	if server.Password == "" {
		server.Username, server.Password = r.Username, r.Password
		if r.PasswordEnv != "" {
			server.Password = os.Getenv(r.PasswordEnv)
		}
	}
	if server.DB == 0 {
		server.DB = int(r.DB)
	}
	return server, nil
}

// input makes the requests that are led through the limits. The caller calls
// done.
func (s *simulation) input(ctx context.Context, bar *progress) (in simulate.Input, r *simulate.LogReport, done func(), err error) {
	done = func() {}
	if len(s.shapes) > 0 {
		in, err := s.loadInput()
		return in, nil, done, err
	}
	var parser accesslog.Parser
	if s.format != "" || len(s.fields) > 0 {
		if parser, err = accesslog.ParseFormat(s.format, s.fields); err != nil {
			return nil, nil, done, err
		}
	}
	var readers []io.Reader
	var size int64
	for _, name := range s.logs {
		if name == "-" {
			readers = append(readers, s.in)
			size = -1
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, nil, done, err
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && size >= 0 {
			size += info.Size()
		} else {
			size = -1
		}
		readers = append(readers, f)
	}
	log, err := accesslog.Open(ctx, readers, accesslog.Options{
		Parser: parser, RunBytes: s.memory << 20, Read: func(n int64) { bar.bytes(n, size) },
	})
	if errors.Is(err, accesslog.ErrUnknownFormat) {
		return nil, nil, done, fmt.Errorf("%s: %w; say which it is with --format", strings.Join(s.logs, ", "), err)
	}
	if err != nil {
		return nil, nil, done, err
	}
	done = func() { _ = log.Close() }
	if log.Read == 0 {
		done()
		why := "it is empty"
		if len(log.Problems) > 0 {
			p := log.Problems[0]
			why = fmt.Sprintf("line %d: %s: %s", p.Line, p.Reason, p.Example)
		}
		return nil, nil, func() {}, fmt.Errorf("%s holds no request that can be read: %s", strings.Join(s.logs, ", "), why)
	}
	r = &simulate.LogReport{
		Files: slices.Clone(s.logs), Format: log.Parser.Name(), Lines: log.Lines, Read: log.Read, Skipped: log.Skipped(),
		OutOfOrder: log.OutOfOrder, Problems: log.Problems,
	}
	if r.Problems == nil {
		r.Problems = []accesslog.Problem{}
	}
	return simulate.NewLog(log, s.whole == "spread"), r, done, nil
}

func (s *simulation) loadInput() (simulate.Input, error) {
	for _, text := range s.shapes {
		shape, err := simulate.ParseShape(text)
		if err != nil {
			return nil, err
		}
		s.load.Shapes = append(s.load.Shapes, shape)
	}
	var err error
	if s.load.Spread, err = simulate.ParseSpread(s.spread); err != nil {
		return nil, err
	}
	s.load.Headers = s.headers
	s.load.With = map[string]string{}
	for _, w := range s.with {
		// A claim's name may hold an equals sign; a value more often does.
		what, value, ok := strings.Cut(w, "=")
		if !ok || value == "" {
			return nil, simulate.UsageError(fmt.Sprintf("%q is not SOURCE=VALUE, such as jwt:sub=user-{key}", w))
		}
		s.load.With[what] = value
	}
	return simulate.NewLoad(s.load)
}

func (s *simulation) warn(format string, args ...any) { fmt.Fprintf(s.err, format+"\n", args...) }
