package main

//go:generate sh -c "cd ../.. && go run ./cmd/sluice reference --out docs/reference/cli.md"

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newReference is how docs/reference/cli.md is made; users have no use for it.
func newReference() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:    "reference",
		Short:  "Print the reference page of this tool",
		Hidden: true,
		Args:   noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			page := reference(cmd.Root())
			if out == "" {
				_, err := cmd.OutOrStdout().Write(page)
				return err
			}
			return os.WriteFile(out, page, 0o644)
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "file to write")
	return cmd
}

// reference is a page with every command, its flags and examples.
func reference(root *cobra.Command) []byte {
	var b bytes.Buffer
	root.InitDefaultCompletionCmd("")
	root.InitDefaultHelpCmd()
	fmt.Fprintf(&b, "# The tool: sluice\n\n<!-- Written by `go generate ./cmd/sluice`: change the commands there instead. -->\n\n")
	fmt.Fprintf(&b, "%s\n\n%s\n\n", root.Short+".", tableOfCodes)
	var list []*cobra.Command
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() && c.Name() != "help" {
			list = append(list, c)
		}
	}
	fmt.Fprintf(&b, "| command | does |\n|-|-|\n")
	for _, c := range list {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s |\n", c.CommandPath(), anchor(c.CommandPath()), c.Short)
	}
	for _, c := range list {
		describe(&b, c, 2)
	}
	return b.Bytes()
}

const tableOfCodes = `With ` + "`--json`" + ` a command prints JSON for programs. Colours go to terminals only, and
nowhere when ` + "`NO_COLOR`" + ` is set. Every failure is one sentence on standard error, and
one of these exit codes:

| code | means |
|-|-|
| 0 | done |
| 1 | it failed: Redis or Envoy can't be reached, a right is missing |
| 2 | the command line is wrong |
| 3 | a tool (Envoy, Redis) isn't there and can't be had |
| 4 | a configuration is wrong, or a file holds none |
| 5 | ` + "`doctor` found a fault, or `check --strict`" + ` a warning |`

func anchor(title string) string { return strings.ReplaceAll(title, " ", "-") }

func describe(b *bytes.Buffer, c *cobra.Command, level int) {
	fmt.Fprintf(b, "\n%s %s\n\n%s.\n\n```\n%s\n```\n", strings.Repeat("#", level), c.CommandPath(), c.Short, c.UseLine())
	// The completion commands' long texts are about shells, not about sluice.
	if c.Name() != "completion" && c.Parent().Name() != "completion" && c.Long != "" {
		long := strings.TrimSpace(strings.ReplaceAll(c.Long, exitCodes, ""))
		fmt.Fprintf(b, "\n%s\n", indented(long))
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```\n%s\n```\n", outdent(c.Example))
	}
	var rows []string
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		def := f.DefValue
		if def == "[]" || def == "false" || def == "" {
			def = ""
		} else {
			def = "`" + def + "`"
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", name, strings.ReplaceAll(f.Usage, "|", "\\|"), def))
	})
	if len(rows) > 0 {
		fmt.Fprintf(b, "\n| flag | means | default |\n|-|-|-|\n%s\n", strings.Join(rows, "\n"))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			describe(b, sub, level+1)
		}
	}
}

// indented makes code of lines that are indented, as they are meant.
func indented(text string) string {
	var out []string
	code := false
	for _, l := range strings.Split(text, "\n") {
		in := strings.HasPrefix(l, "  ")
		if in != code && (in || l != "") {
			out = append(out, "```")
			code = in
		}
		if in {
			l = strings.TrimPrefix(l, "  ")
		}
		out = append(out, l)
	}
	if code {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

func outdent(text string) string {
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}
