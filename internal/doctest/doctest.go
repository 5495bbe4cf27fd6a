// Package doctest runs the commands of the documentation, so that what a page
// says to type works and prints what it shows. It runs the fenced blocks whose
// first line is
//
//	```console run
//
// with, behind run, options: exit=N, the exit code of the last command (0);
// prepare=NAME, something that the test does first; background, for a command that
// stays, such as a server. Lines that begin with "$ " are commands for a shell,
// each with the lines behind it as its output. There a line of just … stands for
// any lines, and … within a line for any text.
//
// A block of any language with file=NAME, such as
//
//	```yaml file=build/limits.yaml
//
// is a file that the page says to save: it is written.
//
// Consoles finds all blocks of commands, so that a test can tell which of them
// nobody runs, and Links where a page leads to.
package doctest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Block is one block to run, or a file to save.
type Block struct {
	Line       int // of its first fence, from 1
	Prepare    string
	Exit       int  // of its last command
	Background bool // its one command stays
	Commands   []Command
	File       string // to be written, in place of commands
	Text       string // what the file holds
}

// Command is what is typed, and what has to come.
type Command struct {
	Text string
	Want []string // lines; nil where the page shows none
}

const ellipsis = "…"

// Blocks finds the blocks of a page that are to be run, and its files.
func Blocks(page string) ([]Block, error) {
	var out []Block
	for _, f := range fences(page) {
		b := Block{Line: f.line}
		language, options, _ := strings.Cut(f.info, " ")
		run, ok := strings.CutPrefix(options, "run")
		name, isFile := strings.CutPrefix(options, "file=")
		switch {
		case language == console && ok:
			if err := b.read(run, f); err != nil {
				return nil, err
			}
		case isFile && name != "":
			b.File, b.Text = name, strings.Join(f.text, "\n")+"\n"
		default:
			continue
		}
		if !f.closed {
			return nil, fmt.Errorf("line %d: the block has no end", f.line)
		}
		out = append(out, b)
	}
	return out, nil
}

// read reads a block of commands.
func (b *Block) read(options string, f fence) error {
	if err := b.options(options); err != nil {
		return fmt.Errorf("line %d: %w", f.line, err)
	}
	for i, line := range f.text {
		if err := b.line(line); err != nil {
			return fmt.Errorf("line %d: %w", f.line+1+i, err)
		}
	}
	switch {
	case len(b.Commands) == 0:
		return fmt.Errorf("line %d: a block to run without a command", f.line)
	case b.Background && len(b.Commands) > 1:
		return fmt.Errorf("line %d: a block in the background has one command", f.line)
	}
	return nil
}

func (b *Block) options(text string) error {
	for _, o := range strings.Fields(text) {
		name, value, _ := strings.Cut(o, "=")
		switch name {
		case "exit":
			n, err := strconv.Atoi(value)
			if err != nil {
				return fmt.Errorf("exit=%s is no number", value)
			}
			b.Exit = n
		case "prepare":
			b.Prepare = value
		case "background":
			b.Background = true
		default:
			return fmt.Errorf("unknown option %q", o)
		}
	}
	return nil
}

func (b *Block) line(line string) error {
	if text, ok := strings.CutPrefix(line, "$ "); ok {
		b.Commands = append(b.Commands, Command{Text: text})
		return nil
	}
	if len(b.Commands) == 0 {
		return fmt.Errorf("output before any command: %q", line)
	}
	c := &b.Commands[len(b.Commands)-1]
	if strings.HasSuffix(c.Text, "\\") && len(c.Want) == 0 {
		c.Text += "\n" + line
		return nil
	}
	c.Want = append(c.Want, line)
	return nil
}

// Matches reports whether output is what a page shows. Trailing space, and
// the carriage returns of HTTP, don't count.
func Matches(want []string, output string) bool {
	if len(want) == 0 {
		return true
	}
	var re strings.Builder
	re.WriteString(`(?s)\A`)
	for _, line := range want {
		if strings.TrimSpace(line) == ellipsis {
			re.WriteString(`(?:[^\n]*\n)*?`)
			continue
		}
		for i, part := range strings.Split(strings.TrimRight(line, " "), ellipsis) {
			if i > 0 {
				re.WriteString(`[^\n]*`)
			}
			re.WriteString(regexp.QuoteMeta(part))
		}
		re.WriteString(`[ \r]*\n`)
	}
	re.WriteString(`\z`)
	return regexp.MustCompile(re.String()).MatchString(strings.TrimRight(output, "\n") + "\n")
}
