package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sluice/internal/stack"
)

// Exit codes, the same for all commands.
const (
	exitOK      = 0 // done; for dev: stopped by a signal
	exitFailed  = 1 // it didn't work
	exitUsage   = 2 // the command line is wrong
	exitMissing = 3 // a tool (Envoy, Redis) isn't there and can't be had
	exitRefused = 4 // a configuration is wrong, or Envoy refused it
	exitFound   = 5 // doctor found a fault, or check --strict a warning
)

const exitCodes = `Exit codes: 0 done, 1 it failed, 2 wrong command line, 3 a tool is missing,
4 a configuration is wrong, 5 doctor found a fault or check --strict a warning.`

// usageError is a mistake on the command line.
type usageError struct{ error }

// refusedError is a configuration that can't be used.
type refusedError struct{ error }

// foundError says that the command worked, and what it looked at has a fault.
type foundError struct{ error }

func (e usageError) Unwrap() error   { return e.error }
func (e refusedError) Unwrap() error { return e.error }
func (e foundError) Unwrap() error   { return e.error }

func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usageError{}):
		return exitUsage
	case errors.As(err, &refusedError{}):
		return exitRefused
	case errors.As(err, &foundError{}):
		return exitFound
	case stack.IsMissing(err):
		return exitMissing
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "sluice",
		Short: "Rate limits in Envoy, counted exactly in Redis",
		Long:  "Rate limits in Envoy, counted exactly in Redis.\n\n" + exitCodes,
		// Commands report their errors once, in main.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,

		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
	})
	root.AddCommand(
		newDev(),
		newSimulate(),
		newCheck(),
		newExplain(),
		newInspect(),
		newDoctor(),
		newSchema(),
		newReference(),
		newSet(),
		newUnset(),
		newReset(),
		newManifest(),
		newBench(),
		newVersion(),
	)
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	err := fmt.Errorf("unknown command %q; see sluice --help", name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		err = fmt.Errorf("unknown command %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return usageError{err}
}

// noArgs refuses arguments as a mistake on the command line.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("%s takes no arguments, and got %q", cmd.CommandPath(), args[0])}
	}
	return nil
}
