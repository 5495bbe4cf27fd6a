// Package doctest runs the commands of the documentation, so that what a page
// says to type works and prints what it shows. It runs the fenced blocks whose
// first line is
//
//	```console run
//
// with, behind run, options: exit=N, the exit code of the last command (0);
// prepare=NAME, something that the test does first. Lines that begin with "$ "
// are commands for a shell, each with the lines behind it as its output. There a
// line of just … stands for any lines, and … within a line for any text.
package doctest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Block is one block to run.
type Block struct {
	Line     int // of its first fence, from 1
	Prepare  string
	Exit     int // of its last command
	Commands []Command
}

// Command is what is typed, and what has to come.
type Command struct {
	Text string
	Want []string // lines; nil where the page shows none
}

const ellipsis = "…"

// Blocks finds the blocks of a page that are to be run.
func Blocks(page string) ([]Block, error) {
	var out []Block
	var b *Block
	fenced := false
	for i, line := range strings.Split(page, "\n") {
		fence, ok := strings.CutPrefix(line, "```")
		switch {
		case ok && b != nil:
			if len(b.Commands) == 0 {
				return nil, fmt.Errorf("line %d: a block to run without a command", b.Line)
			}
			out, b, fenced = append(out, *b), nil, false
		case ok && fenced:
			fenced = false
		case ok:
			fenced = true
			options, run := strings.CutPrefix(fence, "console run")
			if !run {
				continue
			}
			b = &Block{Line: i + 1}
			if err := b.options(options); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		case b != nil:
			if err := b.line(line); err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
		}
	}
	if b != nil {
		return nil, fmt.Errorf("line %d: the block has no end", b.Line)
	}
	return out, nil
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

// Matches reports whether output is what a page shows. Trailing space doesn't
// count.
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
		re.WriteString(` *\n`)
	}
	re.WriteString(`\z`)
	return regexp.MustCompile(re.String()).MatchString(strings.TrimRight(output, "\n") + "\n")
}
