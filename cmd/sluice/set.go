package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/override"
)

// setting is what the command line of set says.
type setting struct {
	operation
	rates                                      []string
	burst, max, tokens                         int64
	unlimited, block, shadow, degraded, listed bool
	hold                                       string
}

func newSet() *cobra.Command {
	var s setting
	cmd := &cobra.Command{
		Use:   "set LIMIT [KEY...] --for DURATION (--rate N/s | --max N | --unlimited | --block | --shadow | --degraded --tokens N)",
		Short: "Change a limit, or block or free one caller, for a time",
		Long: `Stores a run-time override in Redis. Every worker of every gateway follows within 2
seconds, nothing restarts and no count is lost; after --for it ends by itself.

LIMIT alone is about all its callers; with KEY, one value for each part of the
limit's key, about one of them, and then nothing else said about the limit holds
for that one. (missing) stands for a part that requests lack. Where a part has
several sources, write which: header:x-api-key=abc. LIMIT may be one window of a
limit, such as per-user-1h, to change just its number.

With --config a limit or key that doesn't exist is refused, and user, password and
prefix are taken from there. The password never is a flag.

` + exitCodes,
		Example: `  sluice set per-ip 203.0.113.7 --block --for 1h
  sluice set per-user u42 --rate 500/min --for 2d --config sluice.yaml
  sluice set orders --degraded --tokens 10000 --for 10m
  sluice set --list`,
		RunE: func(cmd *cobra.Command, args []string) error { return s.run(args) },
	}
	s.register(cmd)
	f := cmd.Flags()
	f.StringArrayVar(&s.rates, "rate", nil, "another rate, such as 500/s; several for several windows")
	f.Int64Var(&s.burst, "burst", 0, "with --rate: another burst, of a token or leaky bucket")
	f.Int64Var(&s.max, "max", 0, "of a concurrency limit: how many requests may be in flight")
	f.BoolVar(&s.unlimited, "unlimited", false, "don't count these requests")
	f.BoolVar(&s.block, "block", false, "reject these requests, without asking Redis")
	f.BoolVar(&s.shadow, "shadow", false, "count and report, never reject")
	f.BoolVar(&s.degraded, "degraded", false, "spend a pool of --tokens instead of the limit's own counter")
	f.Int64Var(&s.tokens, "tokens", 0, "with --degraded: units until the end, for each counter")
	f.StringVar(&s.hold, "for", "", "how long it holds: 90s, 30m, 2h, 7d; at most 30d")
	f.BoolVar(&s.listed, "list", false, "list the overrides that hold, and change nothing")
	return cmd
}

// spec is what the flags say the override does.
func (s *setting) spec() (override.Spec, error) {
	given := s.cmd.Flags().Changed
	var all []override.Spec
	if given("rate") {
		r := override.Spec{Kind: override.Rate, Burst: s.burst}
		for _, text := range s.rates { // "5 / s" is a rate, too
			r.Rates = append(r.Rates, strings.ReplaceAll(text, " ", ""))
		}
		all = append(all, r)
	}
	if given("max") {
		all = append(all, override.Spec{Kind: override.Max, N: s.max})
	}
	for _, k := range []struct {
		on   bool
		kind override.Kind
	}{{s.unlimited, override.Unlimited}, {s.block, override.Block}, {s.shadow, override.Shadow}} {
		if k.on {
			all = append(all, override.Spec{Kind: k.kind})
		}
	}
	if s.degraded {
		all = append(all, override.Spec{Kind: override.Pool, N: s.tokens})
	}
	const kinds = "--rate, --max, --unlimited, --block, --shadow or --degraded"
	switch {
	case len(all) == 0:
		return override.Spec{}, errors.New("say what to set: " + kinds)
	case len(all) > 1:
		return override.Spec{}, errors.New("an override does one thing: give one of " + kinds)
	case s.degraded != given("tokens"):
		return override.Spec{}, errors.New("--degraded and --tokens go together: the pool needs a size, as in --degraded --tokens 1000")
	case given("burst") && !given("rate"):
		return override.Spec{}, errors.New("--burst goes with --rate: give the rate too, even if it stays")
	case given("burst") && s.burst < 1:
		return override.Spec{}, errors.New("--burst: must be 1 or more")
	}
	return all[0], nil
}

func (s *setting) run(args []string) error {
	if s.listed {
		return s.list(args)
	}
	if err := s.open(); err != nil {
		return err
	}
	target, err := s.target(args)
	if err != nil {
		return err
	}
	spec, err := s.spec()
	if err != nil {
		return usageError{err}
	}
	hold, err := holdFor(s.hold)
	if err != nil {
		return usageError{err}
	}
	if err := s.op.Check(target, spec); err != nil {
		return usageError{err}
	}
	ctx := s.cmd.Context()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	until, _, replaced, err := s.op.Set(ctx, target, spec, hold)
	if err != nil {
		return s.failed(err)
	}
	j := asJSON(target, spec, until, hold)
	j.Replaced = replaced
	return s.print(j, func(w io.Writer) {
		fmt.Fprintf(w, "%s: %s for %s, until %s\n", named(target), spec, short(hold), until.Local().Format(time.DateTime))
		if replaced != "" {
			fmt.Fprintf(w, "before: %s\n", replaced)
		}
	})
}

// short is a duration without the zeros that time.Duration prints.
func short(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero); n > 0 && text[n:] == zero {
			text = text[:n+1]
		}
	}
	return text
}

func (s *setting) list(args []string) error {
	if len(args) > 0 {
		return usageError{errors.New("--list lists all overrides: leave the limit out")}
	}
	if err := s.open(); err != nil {
		return err
	}
	ctx := s.cmd.Context()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	held, now, skipped, err := s.op.List(ctx)
	if err != nil {
		return s.failed(err)
	}
	all := []overrideJSON{}
	for _, h := range held {
		end := time.UnixMilli(h.Entry.UntilMS)
		j := asJSON(h.Entry.Target, h.Entry.Spec, end, end.Sub(now))
		if h.Problem != nil {
			j.Problem = h.Problem.Error()
			if h.Entry.Kind == 0 {
				j.Limit, j.Key, j.Override = fmt.Sprintf("%q", h.Field), nil, "?"
			}
		}
		all = append(all, j)
	}
	return s.print(all, func(w io.Writer) {
		if len(all) == 0 && skipped == 0 {
			fmt.Fprintln(w, "no overrides")
			return
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(t, "LIMIT\tKEY\tOVERRIDE\tENDS IN\t")
		for _, j := range all {
			k := "all"
			if j.Key != nil {
				k = *j.Key
			}
			note := ""
			if j.Problem != "" {
				note = "skipped: " + j.Problem
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", j.Limit, k, j.Override, short(time.Duration(j.Seconds)*time.Second), note)
		}
		_ = t.Flush()
		if skipped > 0 {
			fmt.Fprintf(w, "%d more are malformed or beyond the bounds: gateways don't read them\n", skipped)
		}
	})
}
