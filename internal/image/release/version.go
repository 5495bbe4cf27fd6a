// Package release makes what a version ships: the plugin, its image, the tool for
// each platform, the Helm chart, bills of materials and checksums. One commit gives
// the same bytes wherever it is built with the same Go.
package release

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// ErrDirty means that a tree holds changes that no commit has.
var ErrDirty = errors.New("the tree has changes that are in no commit; commit them, or say SNAPSHOT=1 for a build that isn't published")

// baseLine is where internal/version names the version that is worked on.
var baseLine = regexp.MustCompile(`(?m)^var Version = "([^"]+)"$`)

// semantic is a version without build metadata, which no image tag may have.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

// Version is what a checkout is called: the tag vX.Y.Z of its commit, or else the
// version in internal/version with the number of commits and the commit's name, as
// in 0.1.0-dev.42.g1a2b3c4. A tree with changes is refused, or as a snapshot gets
// .dirty at its end.
func Version(ctx context.Context, root string, snapshot bool) (string, error) {
	changes, err := git(ctx, root, "status", "--porcelain")
	if err != nil {
		return "", err
	}
	if changes != "" && !snapshot {
		return "", fmt.Errorf("%w\n%s", ErrDirty, changes)
	}
	base, err := baseVersion(root)
	if err != nil {
		return "", err
	}
	tag, err := git(ctx, root, "describe", "--tags", "--exact-match", "--match", "v[0-9]*", "HEAD")
	if err == nil && changes == "" {
		return tagged(root, strings.TrimPrefix(tag, "v"), base)
	}
	count, err := git(ctx, root, "rev-list", "--count", "HEAD")
	if err != nil {
		return "", err
	}
	commit, err := git(ctx, root, "rev-parse", "--short=10", "HEAD")
	if err != nil {
		return "", err
	}
	v := base
	if !strings.Contains(v, "-") {
		v += "-dev"
	}
	v += "." + count + ".g" + commit
	if changes != "" {
		v += ".dirty"
	}
	return v, nil
}

// tagged checks that a tag says what the tree says.
func tagged(root, version, base string) (string, error) {
	if !semantic.MatchString(version) {
		return "", fmt.Errorf("the tag v%s is no semantic version", version)
	}
	if version != base {
		return "", fmt.Errorf("the tag says %s and internal/version says %s: they must be the same", version, base)
	}
	log, err := os.ReadFile(filepath.Join(root, "CHANGELOG.md"))
	if err != nil {
		return "", err
	}
	if !strings.Contains(string(log), "\n## "+version+"\n") && !strings.Contains(string(log), "\n## "+version+" ") {
		return "", fmt.Errorf("CHANGELOG.md has no section ## %s", version)
	}
	return version, nil
}

func baseVersion(root string) (string, error) {
	const file = "internal/version/version.go"
	text, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		return "", err
	}
	found := baseLine.FindSubmatch(text)
	if found == nil || !semantic.Match(found[1]) {
		return "", fmt.Errorf("%s names no semantic version", file)
	}
	return string(found[1]), nil
}

func git(ctx context.Context, root string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(out)))
	}
	return strings.TrimSpace(string(out)), nil
}
