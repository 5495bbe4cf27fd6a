package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// Every command of docs/runtime-overrides.md does what the page shows.
func TestRuntimeOverridesPage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(stacktest.Root(t), "docs", "runtime-overrides.md"))
	if err != nil {
		t.Fatal(err)
	}
	server := stacktest.Redis(t, stack.RedisOptions{})
	t.Chdir(t.TempDir())
	var (
		fence    string // of the block that is open
		yaml     strings.Builder
		shown    []string // of the output that the page shows
		out      []string
		commands int
	)
	check := func() {
		t.Helper()
		for i, want := range shown {
			got := ""
			if i < len(out) {
				got = strings.Join(strings.Fields(out[i]), " ")
			}
			want = strings.Join(strings.Fields(want), " ")
			begin, _, open := strings.Cut(want, "…")
			if got != want && !(open && strings.HasPrefix(got, begin)) {
				t.Errorf("the page shows %q, the tool prints %q", want, got)
			}
		}
		if len(out) != len(shown) {
			t.Errorf("the page shows %d lines, the tool prints %q", len(shown), out)
		}
		shown, out = nil, nil
	}
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSuffix(line, "\n")
		if mark, ok := strings.CutPrefix(line, "```"); ok {
			if fence == "yaml" {
				if err := os.WriteFile("sluice.yaml", []byte(yaml.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			check()
			if fence = mark; mark == "yaml" {
				yaml.Reset()
			}
			continue
		}
		command, isCommand := strings.CutPrefix(line, "$ sluice ")
		switch {
		case fence == "yaml":
			yaml.WriteString(line + "\n")
		case fence == "console" && isCommand:
			check()
			commands++
			text, err := sluice(t, append(strings.Fields(command), "--redis", server.Addr)...)
			if err != nil {
				t.Errorf("sluice %s: %v", command, err)
			}
			out = strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		case fence == "console":
			shown = append(shown, line)
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands were found on the page", commands)
	}
}
