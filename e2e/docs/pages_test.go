package docs

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/doctest"
	"sluice/internal/stack/stacktest"
)

// Each page's commands run against what the page says to start.
func TestReadme(t *testing.T)   { newNewcomer(t).run(t, "README.md") }
func TestTutorial(t *testing.T) { newNewcomer(t).run(t, "docs/tutorial.md") }

// The Chinese README shows the very same commands, output and files as the English
// one, which is run; only comments are in its own language.
func TestChineseReadme(t *testing.T) {
	all := pages(t)
	comment := regexp.MustCompile(` *#.*`)
	read := func(name string) []doctest.Block {
		blocks, err := doctest.Blocks(all[name])
		if err != nil || len(blocks) < 4 {
			t.Fatalf("%s: %d blocks (%v)", name, len(blocks), err)
		}
		for i := range blocks {
			blocks[i].Line, blocks[i].Text = 0, comment.ReplaceAllString(blocks[i].Text, "")
		}
		return blocks
	}
	if d := cmp.Diff(read("README.md"), read("README.zh-CN.md")); d != "" {
		t.Error(d)
	}
}

// ranPages are those whose blocks "console run" the tests above and TestOperations
// run.
var ranPages = []string{"README.md", "README.zh-CN.md", "docs/tutorial.md", "docs/operations.md"}

// Reasons why a block of commands isn't run here.
const (
	needsKubernetes = "kubectl needs a cluster; what the commands make is run by e2e/istio, e2e/envoygateway and internal/manifest"
	measures        = "a benchmark: it measures this machine, and asserts nothing"
	elsewhere       = "cmd/sluice TestRuntimeOverridesPage runs every command"
)

// notRun are the blocks that nothing here runs, by page and a text in their first
// command ("" for all), each with the reason.
var notRun = []struct{ page, command, reason string }{
	{"docs/runtime-overrides.md", "sluice set per-ip", elsewhere},
	{"docs/simulate.md", "sluice simulate", "cmd/sluice TestSimulateDocument runs every command"},
	{"docs/simulate.md", "-bench", measures},
	{"docs/storage.md", "-bench", measures},
	{"docs/storage.md", "REDIS_SERVER=", "needs another server than the one at hand; the tests of lua/luatest themselves are run"},
	{"docs/playground.md", "sluice dev --config limits.yaml", "e2e TestDevWithALimitsFile runs it with a file of its own, and the tutorial with another"},
	{"docs/deploy/envoy.md", "sluice manifest envoy limits.yaml --redis", "e2e/platforms runs what it makes; the page's redis and app are the reader's"},
	{"docs/deploy/envoy.md", "curl -si http://127.0.0.1:10000/", "of the reader's gateway; e2e/platforms asks the same of its own"},
	{"docs/deploy/envoy.md", "sluice manifest envoy limits.yaml … --watch", "e2e/platforms TestEnvoyWatchesTheLimits runs it"},
	{"docs/deploy/envoy-gateway.md", "", needsKubernetes},
	{"docs/deploy/higress.md", "", needsKubernetes},
	{"docs/deploy/istio.md", "", needsKubernetes},
	{"docs/deploy/kubernetes.md", "", needsKubernetes + "; deploy/test renders the chart and the overlays"},
	{"docs/release.md", "make test-upgrade", "needs an older version; e2e/upgrade runs two builds side by side"},
	{"docs/release.md", "make image PUSH", "needs a registry; e2e/imagepull pushes to one of its own"},
	{"docs/envoy-versions.md", "ENVOY_VERSION=", "runs the end-to-end tests, with another Envoy"},
	{"docs/redis.md", "go test ./e2e/redis", "the tests of e2e/redis themselves are run"},
	{"docs/redis.md", "make test-redis-matrix", "needs other servers than the one at hand; the tests of lua/luatest themselves are run"},
}

// pages are all pages of the documentation, from the checkout's root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := stacktest.Root(t)
	out := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		if d.IsDir() && (name != "." && strings.HasPrefix(name, ".") || name == "build" || name == "third_party" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if filepath.Ext(name) == ".md" {
			text, err := os.ReadFile(path)
			out[filepath.ToSlash(name)] = string(text)
			return err
		}
		return nil
	})
	if err != nil || out["README.md"] == "" || len(out) < 10 {
		t.Fatalf("%d pages (%v)", len(out), err)
	}
	return out
}

// Every command that a page shows is run by a test, or is listed with the reason
// why not.
func TestEveryCommandIsRun(t *testing.T) {
	used := make([]bool, len(notRun))
	for name, text := range pages(t) {
		ran := false
		for _, c := range doctest.Consoles(text) {
			if c.Run {
				ran = true
				continue
			}
			listed := false
			for i, n := range notRun {
				if n.page == name && strings.Contains(c.First, n.command) {
					used[i], listed = true, true
				}
			}
			if !listed {
				t.Errorf("%s:%d: nobody runs $ %s\nmake it ```console run, and have a test of e2e/docs run the page; or list it in notRun with the reason", name, c.Line, c.First)
			}
		}
		if listed := slices.Contains(ranPages, name); ran != listed {
			t.Errorf("%s has blocks to run: %v; a test runs the page: %v", name, ran, listed)
		}
	}
	for i, n := range notRun {
		if !used[i] {
			t.Errorf("%s has no command with %q any more: take it out of notRun", n.page, n.command)
		}
	}
}

// awaited are pages that others link to and that are still being written.
var awaited []string

var aTest = regexp.MustCompile(`\[((?:Test|Fuzz|Benchmark)[A-Z]\w*)\]\(([^)\s]+_test\.go)\)`)

// Links lead somewhere: to files that are there, headings that pages have, and
// tests that exist.
func TestLinks(t *testing.T) {
	root, all := stacktest.Root(t), pages(t)
	links := 0
	for name, text := range all {
		for _, l := range doctest.Links(text) {
			if strings.Contains(l.Target, "://") || strings.HasPrefix(l.Target, "mailto:") {
				continue
			}
			links++
			to := name
			if l.Target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(name), l.Target))
			}
			_, err := os.Stat(filepath.Join(root, to))
			switch {
			case errors.Is(err, fs.ErrNotExist) && slices.Contains(awaited, to):
			case err != nil:
				t.Errorf("%s:%d: %v", name, l.Line, err)
			case l.Anchor != "" && strings.HasSuffix(to, ".md") && !doctest.Anchors(all[to])[l.Anchor]:
				t.Errorf("%s:%d: %s has no heading %s", name, l.Line, to, l.Anchor)
			}
		}
		for _, m := range aTest.FindAllStringSubmatch(text, -1) {
			source, err := os.ReadFile(filepath.Join(root, filepath.Dir(name), m[2]))
			if err != nil || !strings.Contains(string(source), "\nfunc "+m[1]+"(") {
				t.Errorf("%s: %s has no %s (%v)", name, m[2], m[1], err)
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d links were found", links)
	}
	for _, p := range awaited {
		if _, ok := all[p]; ok {
			t.Errorf("%s is there: take it out of awaited", p)
		}
	}
}

// Every page can be reached from the index.
func TestIndexIsComplete(t *testing.T) {
	all := pages(t)
	listed := map[string]bool{"docs/README.md": true}
	for _, l := range doctest.Links(all["docs/README.md"]) {
		listed[filepath.ToSlash(filepath.Join("docs", l.Target))] = true
	}
	for name := range all {
		if strings.HasPrefix(name, "docs/") && !listed[name] {
			t.Errorf("docs/README.md doesn't name %s", name)
		}
	}
}

var updateFigures = flag.Bool("update-figures", false, "write the READMEs' figures anew")

// A figure on a page that a generated table has: the page, the table's row by its
// first cell, the column by its head, then what the page says.
var figure = regexp.MustCompile(`(<!-- figure: (\S+) \| ([^|]+) \| ([^|>]+) -->)(.*?)(<!-- end -->)`)

// What the READMEs say was measured is what the measurements' pages say:
//
//	go test ./e2e/docs -run TestFigures -args -update-figures
func TestFigures(t *testing.T) {
	root, all := stacktest.Root(t), pages(t)
	for _, name := range []string{"README.md", "README.zh-CN.md"} {
		found := 0
		text := figure.ReplaceAllStringFunc(all[name], func(s string) string {
			m := figure.FindStringSubmatch(s)
			found++
			got, ok := cell(all[m[2]], m[3], m[4])
			if !ok {
				t.Errorf("%s: no table of %s has a row %q and a column %q", name, m[2], m[3], m[4])
				return s
			}
			if got != m[5] && !*updateFigures {
				t.Errorf("%s: %s is %s in %s, not %s: run this test with -args -update-figures", name, m[3]+", "+m[4], got, m[2], m[5])
			}
			return m[1] + got + m[6]
		})
		for i, line := range strings.Split(text, "\n") {
			if strings.HasPrefix(strings.TrimSpace(line), "<!-- figure") {
				t.Errorf("%s:%d: a line that begins with a comment ends the paragraph before it", name, i+1)
			}
		}
		if found < 5 {
			t.Errorf("%s: only %d figures were found", name, found)
		}
		if *updateFigures && text != all[name] {
			if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// spread is what stands behind a median.
var spread = regexp.MustCompile(` \([^)]*\)$`)

// cell finds a cell in the tables of a page, without the spread behind it.
func cell(page, row, column string) (string, bool) {
	at := -1
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, "|") {
			at = -1
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if i := slices.Index(cells, column); i > 0 {
			at = i
		}
		if at > 0 && at < len(cells) && cells[0] == row {
			return spread.ReplaceAllString(cells[at], ""), true
		}
	}
	return "", false
}
