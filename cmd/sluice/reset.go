package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newReset() *cobra.Command {
	var (
		o   operation
		dry bool
	)
	cmd := &cobra.Command{
		Use:   "reset LIMIT [KEY...]",
		Short: "Delete the counters of a limit, or of one caller",
		Long: `Deletes counters, so that who is rejected now is let in again: of one caller, named
as for set, or of all callers of the limit. Penalties and pools go, too; overrides
stay. A gateway may answer from memory for one more second.

With --config and one caller the counter's name is known. Otherwise all keys are
walked by SCAN, which takes at most about half of Redis's time.

` + exitCodes,
		Example: `  sluice reset per-user u42 --config sluice.yaml
  sluice reset per-ip --dry-run`,
		RunE: func(_ *cobra.Command, args []string) error { return o.reset(args, dry) },
	}
	o.register(cmd)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "count, and delete nothing")
	return cmd
}

func (o *operation) reset(args []string, dry bool) error {
	if err := o.open(); err != nil {
		return err
	}
	target, err := o.target(args)
	if err != nil {
		return err
	}
	ctx := o.cmd.Context()
	c, err := o.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	n, _, err := o.op.Reset(ctx, target, dry)
	if err != nil {
		return fmt.Errorf("after %d counters: %w", n, o.failed(err))
	}
	return o.print(map[string]any{"counters": n, "deleted": !dry}, func(w io.Writer) {
		word, s := "deleted", "s"
		if dry {
			word = "would be deleted"
		}
		if n == 1 {
			s = ""
		}
		fmt.Fprintf(w, "%s: %d counter%s %s\n", named(target), n, s, word)
	})
}
