// Package bill says what a program is made of: the Go modules that are linked
// into it, with their licences, as a list and as a CycloneDX bill of materials.
package bill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// Program is one that Go builds.
type Program struct {
	Root    string // the checkout
	Package string // import path or folder, such as ./cmd/sluice
	OS      string // GOOS
	Arch    string // GOARCH
	Tags    string // build tags, by commas
}

// Module is one that is linked into a program.
type Module struct {
	Path     string
	Version  string // "" for a part of this project
	Sum      string // h1:…, as go.sum has it; "" for the standard library and parts of this project
	Licences []string
	Texts    []Text
}

// Text is a licence's file.
type Text struct {
	Name    string
	Content []byte
}

// standard is what the standard library is called in lists of modules.
const standard = "std"

// Modules lists what is linked into a program, sorted by path, the standard
// library included and the project itself left out. A module whose licence isn't
// there, or isn't one that is known, is an error.
func Modules(ctx context.Context, p Program) ([]Module, error) {
	var err error
	if p.Root, err = filepath.Abs(p.Root); err != nil {
		return nil, err
	}
	found, err := linked(ctx, p)
	if err != nil {
		return nil, err
	}
	sums, err := readSums(filepath.Join(p.Root, "go.sum"))
	if err != nil {
		return nil, err
	}
	var list []Module
	for _, f := range found {
		m := Module{Path: f.Path, Version: f.Version, Sum: sums[f.Path+" "+f.Version]}
		dir := f.Dir
		if r := f.Replace; r != nil {
			m.Version, m.Sum, dir = r.Version, sums[r.Path+" "+r.Version], r.Dir
		}
		if rel, err := filepath.Rel(p.Root, dir); err == nil && filepath.IsLocal(rel) {
			// The project's own stand-in, under its licence.
			m = Module{Path: "sluice/" + filepath.ToSlash(rel)}
			dir = p.Root
		}
		if m.Texts, m.Licences, err = licences(dir); err != nil {
			return nil, fmt.Errorf("module %s %s: %w", f.Path, f.Version, err)
		}
		if one, ok := chosen[m.Path]; ok {
			if !slices.Contains(m.Licences, one) {
				return nil, fmt.Errorf("module %s %s is no longer offered under %s", f.Path, f.Version, one)
			}
			m.Licences = []string{one}
		}
		list = append(list, m)
	}
	std, err := standardLibrary(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	list = append(list, std)
	slices.SortFunc(list, func(a, b Module) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// chosen are the licences that this project takes where a module offers several.
var chosen = map[string]string{
	"github.com/golang/freetype": "FTL",
}

// listed is a module as go list prints it.
type listed struct {
	Path, Version, Dir string
	Main               bool
	Replace            *listed
}

func linked(ctx context.Context, p Program) (map[string]listed, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=ImportPath,Module", "-tags", p.Tags, p.Package)
	cmd.Dir = p.Root
	// GOFLAGS of this program's own build are not those of the other.
	cmd.Env = append(os.Environ(), "GOOS="+p.OS, "GOARCH="+p.Arch, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w: %s", p.Package, err, bytes.TrimSpace(stderr.Bytes()))
	}
	found := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var pkg struct{ Module *listed }
		switch err := d.Decode(&pkg); {
		case errors.Is(err, io.EOF):
			return found, nil
		case err != nil:
			return nil, fmt.Errorf("read what go list says: %w", err)
		case pkg.Module != nil && !pkg.Module.Main:
			found[pkg.Module.Path] = *pkg.Module
		}
	}
}

func standardLibrary(ctx context.Context, root string) (Module, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT", "GOVERSION")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return Module{}, fmt.Errorf("go env: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) != 2 {
		return Module{}, fmt.Errorf("go env says %q", out)
	}
	m := Module{Path: standard, Version: strings.TrimPrefix(words[1], "go")}
	// Some distributions keep the licence elsewhere than beside the library.
	for _, dir := range []string{words[0], filepath.Dir(words[0]), "/usr/share/doc/golang-go"} {
		if m.Texts, m.Licences, err = licences(dir); err == nil {
			return m, nil
		}
	}
	return Module{}, fmt.Errorf("the licence of Go in %s: %w", words[0], err)
}

// readSums reads go.sum: "PATH VERSION" to h1:….
func readSums(file string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if w := strings.Fields(line); len(w) == 3 && !strings.HasSuffix(w[1], "/go.mod") {
			sums[w[0]+" "+w[1]] = w[2]
		}
	}
	return sums, nil
}

// errNoLicence means that nobody may use a module, as far as can be told.
var errNoLicence = errors.New("no licence text that is known")

// minCoverage is how much of a text must be a known licence's, percent. The rest
// is names of authors, or a second notice.
const minCoverage = 60

// licences reads the licence texts in a folder and names those licences, SPDX.
func licences(dir string) ([]Text, []string, error) {
	files, err := licenceFiles(dir)
	if err != nil {
		return nil, nil, err
	}
	var texts []Text
	var names []string
	for _, name := range files {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, nil, err
		}
		texts = append(texts, Text{filepath.ToSlash(name), content})
		if c := licensecheck.Scan(content); c.Percent >= minCoverage {
			for _, m := range c.Match {
				names = append(names, m.ID)
			}
		}
	}
	if len(names) == 0 {
		return nil, nil, fmt.Errorf("%s: %w", dir, errNoLicence)
	}
	slices.Sort(names)
	return texts, slices.Compact(names), nil
}

// licenceFiles are the files of a folder that hold licences, and all of those in a
// folder of licences in it.
func licenceFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		switch {
		case e.Type().IsRegular() && isLicenceName(e.Name()):
			files = append(files, e.Name())
		case e.IsDir() && strings.EqualFold(e.Name(), "licenses"):
			inner, err := os.ReadDir(filepath.Join(dir, e.Name()))
			if err != nil {
				return nil, err
			}
			for _, i := range inner {
				if i.Type().IsRegular() {
					files = append(files, filepath.Join(e.Name(), i.Name()))
				}
			}
		}
	}
	return files, nil
}

func isLicenceName(name string) bool {
	upper := strings.ToUpper(name)
	if ext := filepath.Ext(upper); ext == ".GO" {
		return false
	}
	for _, start := range []string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"} {
		if strings.HasPrefix(upper, start) {
			return true
		}
	}
	return false
}
