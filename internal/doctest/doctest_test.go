package doctest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/doctest"
)

const page = "text\n```yaml file=build/a.yaml\nat: ADDRESS\n```\n```console\n$ not run\n```\n```console run exit=3 prepare=x\n$ echo a\na\n$ echo \\\n  b; exit 3\nb\n```\n```yaml\na: 1\n```\n"

func TestBlocks(t *testing.T) {
	got, err := doctest.Blocks(page)
	want := []doctest.Block{{Line: 2, File: "build/a.yaml", Text: "at: ADDRESS\n"}, {Line: 8, Prepare: "x", Exit: 3, Commands: []doctest.Command{{"echo a", []string{"a"}}, {"echo \\\n  b; exit 3", []string{"b"}}}}}
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
	for _, text := range []string{"```console run\n```\n", "```console run\n$ x\n", "```console run\nout\n```", "```console run what=x\n$ x\n```", "```console run exit=x\n$ x\n```", "```console run background\n$ x\n$ y\n```", "```yaml file=x\na: 1\n"} {
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
		{"a: 1\n\n{}", "a: 1\r\n\r\n{}", true},
	} {
		if got := doctest.Matches(strings.Split(c.want, "\n"), c.out); got != c.same {
			t.Errorf("%q and %q: %v", c.want, c.out, got)
		}
	}
}

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(page+"```console run\n$ echo ADDRESS $WORD; pwd\nADDRESS word\n…/ro…\n$ cat build/a.yaml\nat: ADDRESS\n```\n```console run background\n$ server at ADDRESS\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "root")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	prepared, started := 0, ""
	r := &doctest.Runner{
		Dir: dir, Env: []string{"WORD=word"}, Replace: map[string]string{"ADDRESS": "127.0.0.1:7"},
		Prepare:    map[string]func(t *testing.T){"x": func(*testing.T) { prepared++ }},
		Background: func(_ *testing.T, command string) { started = command },
	}
	r.Run(t, file)
	if prepared != 1 {
		t.Errorf("prepared %d times", prepared)
	}
	if started != "server at ADDRESS" {
		t.Errorf("started %q", started)
	}
}

func TestConsoles(t *testing.T) {
	got := doctest.Consoles("```console\n$ a\n```\n- item\n\n  ```console run exit=1\n  $ b\n  ```\n```sh\n\nc\n```\n```yaml\n$ d\n```\n\n    A=b sluice x\n    y\n\n```console\n$ e")
	want := []doctest.Console{{1, false, "a"}, {6, true, "b"}, {9, false, "c"}, {17, false, "A=b sluice x"}, {20, false, "e"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestLinks(t *testing.T) {
	got := doctest.Links("[a](b.md#c) and ![p](p.png \"title\") `[no](no.md)` <!-- [no](no.md) -->\n```\n[no](no.md)\n```\n[![i](i.svg)](https://x/y) [w](w_(z))\n<img src=\"q.png\">\n[r]: s.md\n[t](#u)")
	want := []doctest.Link{
		{1, "b.md", "c"}, {1, "p.png", ""}, {5, "i.svg", ""}, {5, "w_(z)", ""}, {5, "https://x/y", ""}, {6, "q.png", ""}, {7, "s.md", ""}, {8, "", "u"},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAnchors(t *testing.T) {
	got := doctest.Anchors("# Who, and `why`?\n## Who and why\n## [A link](x.md) – 热点 key\n```\n# not one\n```\n<a id=\"own\"></a>\n## a_b-c #\n")
	want := map[string]bool{"who-and-why": true, "who-and-why-1": true, "a-link--热点-key": true, "own": true, "a_b-c": true}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
