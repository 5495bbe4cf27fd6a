package release

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// checkout makes a repository with one commit of a few files, and later changes.
type checkout struct {
	t    *testing.T
	root string
}

func newCheckout(t *testing.T, version, changelog string) checkout {
	t.Helper()
	c := checkout{t, t.TempDir()}
	c.write("internal/version/version.go", "package version\n\nvar Version = \""+version+"\"\n")
	c.write("CHANGELOG.md", changelog)
	c.git("init", "-q")
	c.git("add", "-A")
	c.git("commit", "-q", "-m", "all")
	return c
}

func (c checkout) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.root, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		c.t.Fatal(err)
	}
}

func (c checkout) git(args ...string) {
	c.t.Helper()
	runGit(c.t, c.root, args...)
}

func runGit(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (c checkout) version(snapshot bool) (string, error) {
	return Version(c.t.Context(), c.root, snapshot)
}

const log = "# Changelog\n\n## Unreleased\n\n## 1.2.3\n\n- x\n"

func TestVersionOfACommit(t *testing.T) {
	c := newCheckout(t, "1.2.3-dev", log)
	v, err := c.version(false)
	if err != nil || !regexp.MustCompile(`^1\.2\.3-dev\.1\.g[0-9a-f]{10}$`).MatchString(v) {
		t.Errorf("%q, %v", v, err)
	}
	// A tag may be an image's, so its name has no +.
	if !semantic.MatchString(v) {
		t.Errorf("%q is no semantic version", v)
	}
	c = newCheckout(t, "1.2.3", log)
	if v, err := c.version(false); err != nil || !strings.HasPrefix(v, "1.2.3-dev.1.g") {
		t.Errorf("without a tag: %q, %v", v, err)
	}
}

func TestVersionOfATag(t *testing.T) {
	c := newCheckout(t, "1.2.3", log)
	c.git("tag", "v1.2.3")
	if v, err := c.version(false); err != nil || v != "1.2.3" {
		t.Errorf("%q, %v", v, err)
	}
	for tag, says := range map[string]string{"v1.2.4": "internal/version says 1.2.3", "v1.2": "no semantic version"} {
		c := newCheckout(t, "1.2.3", log)
		c.git("tag", tag)
		if v, err := c.version(false); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("tag %s: %q, %v", tag, v, err)
		}
	}
	c = newCheckout(t, "1.2.3", "# Changelog\n\n## Unreleased\n")
	c.git("tag", "v1.2.3")
	if v, err := c.version(false); err == nil || !strings.Contains(err.Error(), "no section ## 1.2.3") {
		t.Errorf("without a section: %q, %v", v, err)
	}
}

func TestChangesAreRefused(t *testing.T) {
	for what, change := range map[string]func(checkout){
		"changed": func(c checkout) { c.write("CHANGELOG.md", "other") },
		"new":     func(c checkout) { c.write("new", "") },
		"staged":  func(c checkout) { c.write("new", ""); c.git("add", "new") },
	} {
		c := newCheckout(t, "1.2.3", log)
		c.git("tag", "v1.2.3")
		change(c)
		if v, err := c.version(false); !errors.Is(err, ErrDirty) {
			t.Errorf("%s: %q, %v", what, v, err)
		}
		if _, err := Make(t.Context(), c.root, filepath.Join(c.root, "out"), false, t.Logf); !errors.Is(err, ErrDirty) {
			t.Errorf("%s: Make says %v", what, err)
		}
		if v, err := c.version(true); err != nil || !strings.HasSuffix(v, ".dirty") || !semantic.MatchString(v) {
			t.Errorf("%s, a snapshot: %q, %v", what, v, err)
		}
	}
}

func TestNoCheckout(t *testing.T) {
	if v, err := Version(t.Context(), t.TempDir(), true); err == nil {
		t.Errorf("got %q", v)
	}
}
