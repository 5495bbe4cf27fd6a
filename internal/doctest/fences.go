package doctest

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

// console is the language of blocks that hold commands.
const console = "console"

// fence is a fenced block of a page.
type fence struct {
	line   int    // of its first fence, from 1
	info   string // what stands behind the first fence
	text   []string
	closed bool
}

// fences finds the fenced blocks of a page. One may be indented, as in a list.
func fences(page string) []fence {
	var out []fence
	var open *fence
	indent := ""
	for i, line := range strings.Split(page, "\n") {
		bare := strings.TrimLeft(line, " ")
		info, mark := strings.CutPrefix(bare, "```")
		switch {
		case open != nil && mark && info == "":
			open.closed = true
			out, open = append(out, *open), nil
		case open != nil:
			open.text = append(open.text, strings.TrimPrefix(line, indent))
		case mark:
			indent = line[:len(line)-len(bare)]
			open = &fence{line: i + 1, info: strings.TrimSpace(info)}
		}
	}
	if open != nil {
		out = append(out, *open)
	}
	return out
}

// prose is a page without its fenced blocks; their lines are empty.
func prose(page string) []string {
	lines := strings.Split(page, "\n")
	for _, f := range fences(page) {
		for i := f.line - 1; i < min(f.line+len(f.text)+1, len(lines)); i++ {
			lines[i] = ""
		}
	}
	return lines
}

// Console is a block of commands, run or not.
type Console struct {
	Line  int // of its first fence, from 1
	Run   bool
	First string // its first command
}

// shells are languages that a block of commands could have by mistake.
var shells = map[string]bool{"sh": true, "bash": true, "shell": true, "zsh": true, "shell-session": true}

// programs are what an indented block of commands begins with.
var programs = regexp.MustCompile(`^ {4}(?:\$ )?((?:[A-Z_]+=\S+ )*(?:sluice|make|go|curl|kubectl|helm|zcat|redis-cli|docker|envoy|build/sluice) .*)$`)

// Consoles finds a page's blocks of commands in the page's order, those of another
// shell's name included, and those that are only indented.
func Consoles(page string) []Console {
	var out []Console
	for _, f := range fences(page) {
		language, options, _ := strings.Cut(f.info, " ")
		if language != console && !shells[language] {
			continue
		}
		c := Console{Line: f.line, Run: language == console && (options == "run" || strings.HasPrefix(options, "run "))}
		for _, line := range f.text {
			if line != "" {
				c.First = strings.TrimPrefix(line, "$ ")
				break
			}
		}
		out = append(out, c)
	}
	lines := prose(page)
	for i, line := range lines {
		if m := programs.FindStringSubmatch(line); m != nil && (i == 0 || strings.TrimSpace(lines[i-1]) == "") {
			out = append(out, Console{Line: i + 1, First: m[1]})
		}
	}
	slices.SortFunc(out, func(a, b Console) int { return cmp.Compare(a.Line, b.Line) })
	return out
}
