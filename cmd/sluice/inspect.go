package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"sluice/internal/advice"
	"sluice/internal/config"
	"sluice/internal/inspect"
	"sluice/internal/redisclient"
	"sluice/internal/scan"
)

// inspection is what the command line of inspect says.
type inspection struct {
	flags  redisclient.Flags
	config string
	prefix string
	top    int
	share  float64
	asJSON bool
	limit  string
	keys   []string
}

func newInspect() *cobra.Command {
	var in inspection
	cmd := &cobra.Command{
		Use:   "inspect [LIMIT [KEY...] | PATTERN]",
		Short: "Show what the counters in Redis hold: who is limited now, usage, memory, faults",
		Long: `Shows the counters in Redis: those that reject now and the fullest first, what each
limit's keys take, and keys that aren't as sluice leaves them. It reads only: usage
is what the script that decides says, without charging.

LIMIT picks the counters of one limit; with KEY, one value for each part of the
limit's key, those of one caller. (missing) stands for a part that requests lack.
PATTERN picks whole keys as SCAN does. With --config limits and rates are shown
too, as overrides at run time leave them; without it only what the values themselves
tell. Overrides at run time are listed.

Keys are found by SCAN, never by KEYS, in steps with pauses: --share says how much
of Redis's time it may take. On a cluster each primary is walked in turn.

` + exitCodes,
		Example: `  sluice inspect --config sluice.yaml
  sluice inspect per-user u1 --config sluice.yaml
  sluice inspect 'rl:{per-ip|10.*' --top 5`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return in.run(cmd, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&in.config, "config", "", "the limits' configuration: a file as for check")
	f.StringVar(&in.prefix, "prefix", "", "what keys begin with (default: the configuration's, else rl)")
	f.IntVar(&in.top, "top", 20, "how many counters to list")
	f.Float64Var(&in.share, "share", scan.Share, "most of Redis's time to take, from 0.001 to 1")
	f.BoolVar(&in.asJSON, "json", false, "print JSON")
	in.flags.Register(f)
	return cmd
}

func (in *inspection) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	if in.share < 0.001 || in.share > 1 || in.top < 0 {
		return usageError{errors.New("--share is from 0.001 to 1, and --top not below 0")}
	}
	o := inspect.Options{Prefix: in.prefix, Top: in.top, Pacer: &scan.Pacer{Share: in.share}}
	var policy *config.Policy
	if in.config != "" {
		var err error
		if policy, err = readPolicy(in.config, cmd.InOrStdin()); err != nil {
			return err
		}
		setHashSecret(policy)
		in.flags.Fill(redisDefaults(policy))
		o.Policy = policy
		if o.Prefix == "" {
			o.Prefix = policy.Redis.Prefix
		}
	}
	if len(args) > 0 && strings.ContainsAny(args[0], "*?[:{") {
		if len(args) > 1 {
			return usageError{errors.New("a PATTERN stands alone; keys follow the name of a limit")}
		}
		o.Pattern = args[0]
	} else if len(args) > 0 {
		in.limit, in.keys = args[0], args[1:]
		o.Limit = in.limit
		if policy != nil && !slices.ContainsFunc(policy.Limits, func(l *config.Limit) bool { return l.Name == in.limit }) {
			return usageError{fmt.Errorf("%s has no limit %s", in.config, in.limit)}
		}
	}
	if len(in.keys) > 0 && policy == nil {
		return usageError{errors.New("which keys a limit has is in its configuration: give --config FILE")}
	}
	rdb, err := in.flags.Connect(ctx)
	if err != nil {
		return redisError(&in.flags, err)
	}
	defer rdb.Close()
	o.SkewMS = skewMS(ctx, rdb)
	prefix := o.Prefix
	if prefix == "" {
		prefix = "rl"
	}
	f, note, err := inForce(ctx, rdb, policy, prefix)
	if err != nil {
		return redisError(&in.flags, err)
	}
	o.Engine = f.Engine
	report, err := in.look(ctx, rdb, inspect.New(o))
	if err != nil {
		return err
	}
	report.Overrides = inspect.Overrides(f)
	if note != "" {
		report.Notes = append(report.Notes, note)
	}
	if in.asJSON {
		return printJSON(cmd.OutOrStdout(), report)
	}
	in.print(newPrinter(cmd.OutOrStdout()), report)
	return nil
}

// skewMS is by how much Redis's clock is ahead of this machine's; 0 where it may
// not be asked.
func skewMS(ctx context.Context, rdb redis.UniversalClient) int64 {
	before := time.Now()
	at, err := rdb.Time(ctx).Result()
	if err != nil {
		return 0
	}
	return at.Sub(before.Add(time.Since(before) / 2)).Milliseconds()
}

func (in *inspection) look(ctx context.Context, rdb redis.UniversalClient, i *inspect.Inspector) (*inspect.Report, error) {
	if len(in.keys) == 0 {
		report, err := i.All(ctx, rdb)
		if err != nil {
			return nil, redisError(&in.flags, err)
		}
		return report, nil
	}
	report, err := i.Key(ctx, rdb, in.limit, in.keys)
	var key *inspect.KeyError
	if errors.As(err, &key) {
		return nil, usageError{err}
	}
	if err != nil {
		return nil, redisError(&in.flags, err)
	}
	return report, nil
}

func (in *inspection) print(p *printer, r *inspect.Report) {
	if len(in.keys) == 0 {
		p.line("%s, %s in all", plural(int(r.Keys), "key"), advice.Bytes(r.Bytes))
		rows := [][]string{{"LIMIT", "RATE", "KEYS", "FULL NOW", "MEMORY"}}
		for _, l := range r.Limits {
			rows = append(rows, []string{safe(l.Counter), known(l.Rate), fmt.Sprint(l.Keys), full(&l), advice.Bytes(l.Bytes)})
		}
		p.table("  ", rows)
		if len(r.Limits) > 0 {
			p.line("")
		}
	}
	rows := [][]string{{"COUNTER", "KEY", "USED", "NOW", "EXPIRES IN", "MEMORY"}}
	for i := range r.Top {
		u := &r.Top[i]
		rows = append(rows, []string{
			safe(u.Counter), keyText(u.Values), used(u), now(u), expires(u.TTLMS), advice.Bytes(u.Bytes),
		})
	}
	p.table("", rows)
	if len(r.Top) == 0 && len(in.keys) > 0 {
		p.line("nothing is counted for %s at limit %s", safe(strings.Join(in.keys, ", ")), in.limit)
	}
	for _, f := range r.Faults {
		p.line("%s %s: %s %s", p.style(yellow, "fault:"), f.Kind, safe(f.Key), safe(f.Text))
	}
	if n := len(r.FaultCounts); n > 0 {
		p.line("`sluice doctor` says what to do about faults")
	}
	if len(in.keys) == 0 {
		printOverrides(p, r.Overrides)
	}
	for _, c := range r.Unseen {
		p.line("note: this user may not run %s, so what it shows is missing here", c)
	}
	for _, n := range r.Notes {
		p.line("note: %s", safe(n))
	}
}

func known(rate string) string {
	if rate == "" {
		return "?"
	}
	return rate
}

func full(l *inspect.LimitUse) string {
	if l.Rate == "" {
		return "?"
	}
	return fmt.Sprint(l.Rejected)
}

func keyText(values []string) string {
	if len(values) == 0 {
		return "(one for all)"
	}
	return safe(strings.Join(values, "|"))
}

func used(u *inspect.Usage) string {
	switch u.Rate {
	case "penalty":
		return "-"
	case "":
		return fmt.Sprintf("%d of ?", u.Current)
	}
	return fmt.Sprintf("%d of %d (%s)", u.Current, u.Limit, u.Rate)
}

func now(u *inspect.Usage) string {
	switch {
	case u.Override == "block":
		return "blocked for " + wait(u.RetryAfterMS)
	case u.Override == "unlimited":
		return "unlimited at run time"
	case u.Override == "shadow":
		return fmt.Sprintf("%d left (shadow)", u.Remaining)
	case strings.HasPrefix(u.Override, "pool ") && u.Algorithm != "pool":
		return "not asked: its pool is"
	case u.Rejected && u.RetryAfterMS < 0:
		return "rejected, always"
	case u.Rejected:
		return "rejected for " + wait(u.RetryAfterMS)
	case u.Rate == "":
		return "?"
	}
	return fmt.Sprintf("%d left", u.Remaining)
}

func expires(ms int64) string {
	if ms < 0 {
		return "never"
	}
	return wait(ms)
}
