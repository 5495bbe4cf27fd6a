package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// result is what the selection gave on one Envoy.
type result struct {
	version  string
	outcomes map[string]string
}

// Marks of the part of the page that is written anew.
const (
	begin = "<!-- begin: make test-matrix -->\n"
	end   = "<!-- end -->\n"
)

var errNoMarks = errors.New("the page lacks the marks of its table")

// write puts the table into the page.
func write(page string, results []result) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s: %w", page, errNoMarks)
	}
	return os.WriteFile(page, []byte(before+begin+table(results)+end+after), 0o644)
}

// table has a row for each test and a column for each Envoy.
func table(results []result) string {
	var b strings.Builder
	b.WriteString("| test |")
	for _, r := range results {
		b.WriteString(" " + r.version + " |")
	}
	b.WriteString("\n|-|" + strings.Repeat("-|", len(results)) + "\n")
	for _, name := range names() {
		b.WriteString("| " + name + " |")
		for _, r := range results {
			b.WriteString(" " + r.outcomes[name] + " |")
		}
		b.WriteString("\n")
	}
	return b.String()
}
