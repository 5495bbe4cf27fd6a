package main

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	backoff "sluice/clients/go"
	"sluice/internal/openload"
	"sluice/internal/simulate"
)

func newBench() *cobra.Command {
	var o openload.Options
	var rate string
	var fields []string
	var polite, asJSON bool
	cmd := &cobra.Command{
		Use:   "bench URL",
		Short: "Send a gateway requests at a constant rate, and say what it answered",
		Long: `Sends requests at a constant rate, whatever the answers, and says how many were
admitted, how many a limit of sluice rejected, and how many an upstream did; how long
answers took, from when each request was due; and how long the rejected were told to
wait. {key} in the URL or in a header is the number of one of --keys callers.

With --polite each rejected request waits as it is told and comes again, as a good
client does. Send load only to what is yours.

To measure sluice beside other limiters, see make bench and docs/benchmarks.md.

` + exitCodes,
		Example: `  sluice bench http://127.0.0.1:10000/hello --rate 200/s --for 10s
  sluice bench http://127.0.0.1:10000/api -H 'x-user-id: u{key}' --keys 100 --rate 500/s --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError{errors.New("give the gateway's URL, as in http://127.0.0.1:10000/hello")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o.URL = args[0]
			if err := readLoad(&o, rate, fields); err != nil {
				return usageError{err}
			}
			if polite {
				o.Via = func(base http.RoundTripper) http.RoundTripper { return &backoff.Transport{Base: base} }
			}
			result, err := openload.Run(cmd.Context(), o)
			if err != nil {
				return usageError{fmt.Errorf("%s: %w", safe(o.URL), err)}
			}
			if asJSON {
				err = printJSON(cmd.OutOrStdout(), result)
			} else {
				printLoad(newPrinter(cmd.OutOrStdout()), result)
			}
			if err == nil && result.Due > 0 && result.Failed == result.Due-result.Skipped {
				err = fmt.Errorf("nothing was answered: %s", result.Failure)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&rate, "rate", "100/s", "requests, as in 100/s or 600/min")
	f.DurationVar(&o.Length, "for", 10*time.Second, "how long, at most 10m")
	f.StringVarP(&o.Method, "request", "X", http.MethodGet, "the method")
	f.StringArrayVarP(&fields, "header", "H", nil, "a header, as in 'x-user-id: u{key}'; repeatable")
	f.IntVar(&o.Keys, "keys", 1, "callers that {key} stands for, in turn")
	f.BoolVar(&polite, "polite", false, "wait as told and come again, up to five times")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// readLoad reads what flags say of the load.
func readLoad(o *openload.Options, rate string, fields []string) error {
	var err error
	if o.Rate, err = simulate.ParseRate(rate); err != nil {
		return fmt.Errorf("--rate: %w", err)
	}
	switch {
	case o.Rate <= 0 || o.Rate > openload.MaxRate:
		return fmt.Errorf("--rate is above 0 and at most %d/s", openload.MaxRate)
	case o.Length <= 0 || o.Length > openload.MaxLength:
		return fmt.Errorf("--for is above 0 and at most %v", openload.MaxLength)
	case o.Keys < 1:
		return errors.New("--keys is at least 1")
	}
	o.Header = http.Header{}
	for _, field := range fields {
		name, value, ok := strings.Cut(field, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return fmt.Errorf("--header %q: expected 'name: value'", safe(field))
		}
		o.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return nil
}

// printLoad says what came back, for people.
func printLoad(p *printer, r *openload.Result) {
	p.line("%d requests in %.1f s", r.Due, r.Seconds)
	rows := [][]string{{"ANSWERED", "REQUESTS", ""}}
	for _, status := range slices.Sorted(maps.Keys(r.Statuses)) {
		what := ""
		if status == http.StatusTooManyRequests {
			what = fmt.Sprintf("%d by sluice, %d by others", r.Limited, r.Elsewhere)
		}
		rows = append(rows, []string{fmt.Sprint(status), fmt.Sprint(r.Statuses[status]), what})
	}
	if r.Failed > 0 {
		rows = append(rows, []string{"nothing", fmt.Sprint(r.Failed), safe(r.Failure)})
	}
	if r.Skipped > 0 {
		rows = append(rows, []string{"not sent", fmt.Sprint(r.Skipped), "too many were without an answer"})
	}
	p.table("  ", rows)
	p.line("latency: p50 %.1f ms, p99 %.1f ms, p99.9 %.1f ms, longest %.1f ms", r.P50, r.P99, r.P999, r.Max)
	if r.RetryAfterMax >= 0 {
		p.line("told to wait: %d to %d s", r.RetryAfterMin, r.RetryAfterMax)
	}
}
