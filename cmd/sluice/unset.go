package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newUnset() *cobra.Command {
	var (
		o   operation
		all bool
	)
	cmd := &cobra.Command{
		Use:   "unset (LIMIT [KEY...] | --all)",
		Short: "Take back what set said",
		Long: `Removes a run-time override before it ends by itself. Name it as for set; what was
said about one caller and about all callers are two overrides.

` + exitCodes,
		Example: `  sluice unset per-ip 203.0.113.7
  sluice unset --all`,
		RunE: func(_ *cobra.Command, args []string) error { return o.unset(args, all) },
	}
	o.register(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "remove all overrides")
	return cmd
}

func (o *operation) unset(args []string, all bool) error {
	if err := o.open(); err != nil {
		return err
	}
	if all {
		if len(args) > 0 {
			return usageError{errors.New("--all removes all overrides: leave the limit out")}
		}
		c, err := o.connect(o.cmd.Context())
		if err != nil {
			return err
		}
		defer c.Close()
		was, err := o.op.UnsetAll(o.cmd.Context())
		if err != nil {
			return o.failed(err)
		}
		return o.print(map[string]bool{"removed": was}, func(w io.Writer) {
			if was {
				fmt.Fprintln(w, "all overrides removed")
			} else {
				fmt.Fprintln(w, "there was no override")
			}
		})
	}
	target, err := o.target(args)
	if err != nil {
		return err
	}
	c, err := o.connect(o.cmd.Context())
	if err != nil {
		return err
	}
	defer c.Close()
	was, err := o.op.Unset(o.cmd.Context(), target)
	if err != nil {
		return o.failed(err)
	}
	return o.print(map[string]bool{"removed": was}, func(w io.Writer) {
		if was {
			fmt.Fprintf(w, "%s: override removed\n", named(target))
		} else {
			fmt.Fprintf(w, "%s: there was no override; sluice set --list shows those that hold\n", named(target))
		}
	})
}
