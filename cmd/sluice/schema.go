package main

import (
	"github.com/spf13/cobra"

	"sluice/internal/config/schema"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a configuration, for editors",
		Long: `Prints the JSON Schema (draft 2020-12) of a configuration. It is made of the
tables that configurations are read by. What concerns several fields at once it
can't say: sluice check has the last word.

An editor with a YAML language server takes it by a first line such as

  # yaml-language-server: $schema=./sluice.schema.json`,
		Example: "  sluice schema > sluice.schema.json",
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := schema.JSON()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}
