package stack

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// ErrNoRoot means that the working directory isn't inside a checkout.
var ErrNoRoot = errors.New("not inside a checkout of sluice: no go.mod of module sluice here or above")

// Root finds the checkout that the working directory is in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if isRoot(dir) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", ErrNoRoot
		}
		dir = up
	}
}

func isRoot(dir string) bool {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return false
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "module sluice" {
			return true
		}
	}
	return false
}

// toolsDir is where downloaded tools go: .tools in the checkout, else a folder
// in the user's cache.
func toolsDir() (string, error) {
	root, err := Root()
	if err == nil {
		return filepath.Join(root, ".tools"), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "sluice", "tools"), nil
}
