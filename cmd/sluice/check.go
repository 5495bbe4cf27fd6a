package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"sluice/internal/advice"
	"sluice/internal/changes"
	"sluice/internal/check"
)

func newCheck() *cobra.Command {
	var against string
	var strict, asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE...",
		Short: "Find the errors and likely mistakes in configurations",
		Long: `Reads sluice configurations, Envoy configurations and Kubernetes manifests that
hold one, or - for standard input, and lists every error with its line, what was
probably meant, what is probably a mistake, and what the limits cost in Redis.

--against OLD says what happens to the counts when FILE takes OLD's place.

` + exitCodes,
		Example: `  sluice check sluice.yaml
  sluice check --strict envoy.yaml deploy/*.yaml
  sluice check new.yaml --against old.yaml`,
		Args: needArgs(1, "at least one file, or -"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if against != "" && len(args) > 1 {
				return usageError{errors.New("--against compares one file with another: give one FILE")}
			}
			report, err := checkFiles(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if against != "" && report.Errors == 0 {
				if err := compare(report, args[0], against, cmd.InOrStdin()); err != nil {
					return err
				}
			}
			if asJSON {
				if err := printJSON(cmd.OutOrStdout(), report); err != nil {
					return err
				}
			} else {
				printCheck(newPrinter(cmd.OutOrStdout()), report)
			}
			switch {
			case report.Errors > 0:
				return refusedError{fmt.Errorf("%s: correct what is listed", plural(report.Errors, "error"))}
			case strict && report.Warnings > 0:
				return foundError{fmt.Errorf("%s, which --strict doesn't let pass", plural(report.Warnings, "warning"))}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&against, "against", "", "configuration that FILE replaces: say whose counts start empty")
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func checkFiles(names []string, in io.Reader) (*check.Report, error) {
	report := &check.Report{}
	for _, name := range names {
		found, err := readConfigs(name, in)
		if err != nil {
			return nil, err
		}
		for i := range found {
			report.Add(name, &found[i])
		}
	}
	return report, nil
}

// compare adds what happens to the counts of the old file's limits.
func compare(report *check.Report, name, against string, in io.Reader) error {
	if len(report.Configs) != 1 {
		return refusedError{fmt.Errorf("%s holds %d configurations: give a file with the one to compare", shownFile(name), len(report.Configs))}
	}
	old, err := readPolicy(against, in)
	if err != nil {
		return err
	}
	report.Against = against
	report.Changes = changes.Between(old, report.Configs[0].Policy)
	return nil
}

func printCheck(p *printer, r *check.Report) {
	for i := range r.Configs {
		c := &r.Configs[i]
		for _, e := range c.Errors {
			p.line("%s%s %s", where(c.File, e.Line, e.Column), p.style(red, "error:"), safe(e.Text()))
		}
		for _, w := range c.Warnings {
			p.line("%s%s %s: %s; %s [%s]", where(c.File, w.Line, w.Column), p.style(yellow, "warning:"), w.Path, w.Message, w.Remedy, w.Rule)
		}
		if len(c.Errors) == 0 {
			printCosts(p, c)
		}
	}
	if r.Against != "" {
		printChanges(p, r)
	}
}

// where is the place of a message: file:line:column.
func where(file string, line, column int) string {
	if line == 0 {
		return shownFile(file) + ": "
	}
	return fmt.Sprintf("%s:%d:%d: ", shownFile(file), line, column)
}

func printCosts(p *printer, c *check.Config) {
	name := shownFile(c.File)
	if c.Where != "" {
		name += ", " + safe(c.Where)
	}
	what := plural(len(c.Limits), "limit")
	if n := len(c.Warnings); n > 0 {
		what += ", " + plural(n, "warning")
	}
	p.line("%s: %s, %s", name, p.style(green, "OK"), what)
	rows := [][]string{{"LIMIT", "RATE", "ALGORITHM", "KEY", "REDIS PER KEY"}}
	for _, l := range c.Limits {
		key := l.Key
		if key == "" {
			key = "(one for all)"
		}
		rows = append(rows, []string{l.Name, l.Rate, l.Algorithm, safe(key), "up to " + advice.Bytes(l.BytesPerKey)})
	}
	p.table("  ", rows)
	p.line("  Redis: %s a request with at most %s", plural(c.CallsPerRequest, "script call"), plural(c.CountersPerRequest, "counter"))
}

func printChanges(p *printer, r *check.Report) {
	if len(r.Changes) == 0 {
		p.line("against %s: no limit changes", r.Against)
		return
	}
	p.line("against %s:", r.Against)
	colours := map[changes.Kind]string{changes.Empty: yellow, changes.Added: green, changes.Removed: red}
	for _, c := range r.Changes {
		limit := c.Limit
		if limit == "" {
			limit = "all"
		}
		p.line("  %s %s: %s", p.style(colours[c.Kind], string(c.Kind)), limit, safe(c.Text))
	}
}
