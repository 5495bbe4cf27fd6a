package bill

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The tool links far more than the plugin; each module's licence is known on every
// platform that it is built for.
func TestModulesOfTheTool(t *testing.T) {
	for _, p := range [][2]string{{"linux", "amd64"}, {"darwin", "arm64"}} {
		list, err := Modules(t.Context(), Program{Root: "../../..", Package: "./cmd/sluice", OS: p[0], Arch: p[1]})
		if err != nil {
			t.Fatal(err)
		}
		licence := map[string]string{}
		for _, m := range list {
			licence[m.Path] = strings.Join(m.Licences, " ")
			own := m.Path == standard || strings.HasPrefix(m.Path, "sluice/")
			if (m.Sum == "") != own || (m.Version == "") != strings.HasPrefix(m.Path, "sluice/") {
				t.Errorf("%s has version %q, sum %q", m.Path, m.Version, m.Sum)
			}
		}
		for path, want := range map[string]string{
			"std": "BSD-3-Clause", "github.com/spf13/cobra": "Apache-2.0", "github.com/golang/freetype": "FTL",
			"github.com/tidwall/gjson": "MIT", "sluice/third_party/pretty": "Apache-2.0",
		} {
			if !strings.Contains(licence[path], want) {
				t.Errorf("%v: %s is under %q, expected %s", p, path, licence[path], want)
			}
		}
		if !slices.IsSortedFunc(list, func(a, b Module) int { return strings.Compare(a.Path, b.Path) }) {
			t.Error("the list isn't sorted")
		}
	}
}

func TestLicencesThatAreNone(t *testing.T) {
	for what, files := range map[string]map[string]string{
		"nothing":      {"README.md": "hello"},
		"a few words":  {"LICENSE": "You may read this, and nothing else."},
		"only Go code": {"license.go": "package licence"},
	} {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, names, err := licences(dir); !errors.Is(err, errNoLicence) {
			t.Errorf("%s: %v, %v", what, names, err)
		}
	}
}

func TestMaterialsAreTheSameEachTime(t *testing.T) {
	modules := []Module{{Path: "a.example/b", Version: "v1.0.0+x", Sum: "h1:AAAA", Licences: []string{"MIT"}}}
	s := Subject{Name: "x", Version: "1.0.0", SHA256: strings.Repeat("a", 64), Licence: "Apache-2.0"}
	one, err := Materials(s, modules)
	if err != nil {
		t.Fatal(err)
	}
	if two, err := Materials(s, modules); err != nil || string(one) != string(two) {
		t.Errorf("twice made, twice different (%v)", err)
	}
	for _, want := range []string{`"purl": "pkg:golang/a.example/b@v1.0.0%2Bx"`, `"specVersion": "1.6"`} {
		if !strings.Contains(string(one), want) {
			t.Errorf("no %s in\n%s", want, one)
		}
	}
	modules[0].Sum = "h1:!"
	if _, err := Materials(s, modules); err == nil {
		t.Error("a checksum that is none passes")
	}
}
