package doctest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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
		t.Run(filepath.Base(page)+":"+strconv.Itoa(b.Line), func(t *testing.T) { r.block(t, &b) })
	}
}

func (r *Runner) block(t *testing.T, b *Block) {
	if b.Prepare != "" {
		f := r.Prepare[b.Prepare]
		if f == nil {
			t.Fatalf("nobody prepares %s", b.Prepare)
		}
		f(t)
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
	for from, to := range r.Replace {
		text = strings.ReplaceAll(text, from, to)
	}
	cmd := exec.CommandContext(ctx, "bash", "-c", text)
	cmd.Dir = r.Dir
	cmd.Env = append(os.Environ(), r.Env...)
	b, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("$ %s: %v", text, err)
	}
	out := string(b)
	for from, to := range r.Replace {
		out = strings.ReplaceAll(out, to, from)
	}
	return out, cmd.ProcessState.ExitCode()
}
