package doctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/doctest"
)

const page = "text\n```console\n$ not run\n```\n```console run exit=3 prepare=x\n$ echo a\na\n$ echo \\\n  b; exit 3\nb\n```\n```yaml\na: 1\n```\n"

func TestBlocks(t *testing.T) {
	got, err := doctest.Blocks(page)
	want := []doctest.Block{{Line: 5, Prepare: "x", Exit: 3, Commands: []doctest.Command{{"echo a", []string{"a"}}, {"echo \\\n  b; exit 3", []string{"b"}}}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	for _, text := range []string{"```console run\n```\n", "```console run\n$ x\n", "```console run\nout\n```", "```console run what=x\n$ x\n```", "```console run exit=x\n$ x\n```"} {
		if got, err := doctest.Blocks(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		want, out string
		same      bool
	}{
		{"a\nb", "a\nb\n", true}, {"a", "a\nb\n", false}, {"a\n…", "a\nb\nc\n", true}, {"…\nc", "a\nb\nc", true}, {"a…z", "a 1 z", true},
		{"a…z", "a\nz", false}, {"…\nb\n…", "b", true}, {"a.c", "abc", false}, {"a  ", "a", true}, {"a", "a   ", true}, {"x\n…\ny", "x\ny", true},
	} {
		if got := doctest.Matches(strings.Split(c.want, "\n"), c.out); got != c.same {
			t.Errorf("%q and %q: %v", c.want, c.out, got)
		}
	}
}

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page+"```console run\n$ echo ADDRESS $WORD; pwd\nADDRESS word\n…/ro…\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	prepared := 0
	r := &doctest.Runner{
		Dir: dir, Env: []string{"WORD=word"}, Replace: map[string]string{"ADDRESS": "127.0.0.1:7"},
		Prepare: map[string]func(t *testing.T){"x": func(*testing.T) { prepared++ }},
	}
	r.Run(t, file)
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
}
