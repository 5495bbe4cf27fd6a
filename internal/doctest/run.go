package doctest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Runner runs the blocks of pages.
type Runner struct {
	Dir string   // where commands run; the repository's root as pages see it
	Env []string // added to this program's environment
	// Replace are texts of the pages, such as an address, and what stands for them
	// here. In what commands print they are put back.
	Replace map[string]string
	// Prepare are what blocks ask for by prepare=NAME.
	Prepare map[string]func(t *testing.T)
	// Background starts a command that stays, when a block asks for it, and returns
	// when it can be used.
	Background func(t *testing.T, command string)
}

// longest is how long one command may take.
const longest = 2 * time.Minute

// Run runs the blocks of a page, one after the other, and fails the test where
// one doesn't do what the page says. A page without any is a mistake.
func (r *Runner) Run(t *testing.T, page string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := Blocks(string(text))
	if err != nil {
		t.Fatalf("%s: %v", page, err)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no block to run", page)
	}
	for _, b := range blocks {
		if b.Background { // it outlives its block
			r.block(t, &b)
			continue
		}
		t.Run(filepath.Base(page)+":"+strconv.Itoa(b.Line), func(t *testing.T) { r.block(t, &b) })
	}
}

// save writes a file of the page, which has to be below Dir.
func (r *Runner) save(t *testing.T, b *Block) {
	t.Helper()
	if !filepath.IsLocal(b.File) {
		t.Fatalf("line %d: %s is not below the page's folder", b.Line, b.File)
	}
	file := filepath.Join(r.Dir, b.File)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(r.here(b.Text)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// here is a page's text with what stands for its addresses in this test.
func (r *Runner) here(text string) string { return r.replacer(false).Replace(text) }

// replacer replaces all at once, so that what one puts in place of a text is no
// other's, and the longest first.
func (r *Runner) replacer(back bool) *strings.Replacer {
	var pairs [][2]string
	for from, to := range r.Replace {
		if back {
			from, to = to, from
		}
		pairs = append(pairs, [2]string{from, to})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(len(b[0]), len(a[0])), strings.Compare(a[0], b[0]))
	})
	var all []string
	for _, p := range pairs {
		all = append(all, p[0], p[1])
	}
	return strings.NewReplacer(all...)
}

func (r *Runner) block(t *testing.T, b *Block) {
	if b.Prepare != "" {
		f := r.Prepare[b.Prepare]
		if f == nil {
			t.Fatalf("nobody prepares %s", b.Prepare)
		}
		f(t)
	}
	if b.File != "" {
		r.save(t, b)
		return
	}
	if b.Background {
		if r.Background == nil {
			t.Fatalf("line %d: nobody starts %s", b.Line, b.Commands[0].Text)
		}
		r.Background(t, b.Commands[0].Text)
		return
	}
	for i, c := range b.Commands {
		out, code := r.command(t, c.Text)
		want := 0
		if i == len(b.Commands)-1 {
			want = b.Exit
		}
		if code != want {
			t.Errorf("$ %s\nended with %d, not %d:\n%s", c.Text, code, want, out)
		}
		if !Matches(c.Want, out) {
			t.Errorf("$ %s\nprinted\n%s\nand the page shows\n%s", c.Text, out, strings.Join(c.Want, "\n"))
		}
	}
}

// command runs one command in a shell.
func (r *Runner) command(t *testing.T, text string) (string, int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	defer cancel()
	text = r.here(text)
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), r.Env...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("$ %s: %v", text, err)
	}
	return r.replacer(true).Replace(string(b)), cmd.ProcessState.ExitCode()
}
