package main

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sluice/internal/stack"
)

// A test that was renamed would no longer be selected: it has to be there.
func TestTheSelectionExists(t *testing.T) {
	root, err := stack.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range selection {
		files, err := filepath.Glob(filepath.Join(root, s.pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", s.pkg, len(files), err)
		}
		var text strings.Builder
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for _, name := range s.tests {
			if !strings.Contains(text.String(), "\nfunc "+name+"(t *testing.T)") {
				t.Errorf("%s has no %s", s.pkg, name)
			}
		}
	}
	if all := names(); len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Error("a name occurs twice")
	}
}

func TestOutcomes(t *testing.T) {
	got := map[string]string{}
	err := tests{}.note(strings.NewReader(strings.Join([]string{
		`{"Action":"run","Test":"A"}`,
		`{"Action":"pass","Test":"A/one"}`,
		`{"Action":"pass","Test":"A"}`,
		`{"Action":"pass","Test":"B/one"}`,
		`{"Action":"skip","Test":"C"}`,
		`{"Action":"fail","Test":"D/one"}`,
		`no json`,
		`{"Action":"pass"}`,
	}, "\n")), got)
	want := map[string]string{"A": passed, "C": "skip", "D": "fail"}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}

// An Envoy that can't be had fails the run and isn't left out. The version has no
// form that could be downloaded.
func TestAMissingEnvoyFails(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal(err)
	}
	err := run(t.Context(), []string{"0.none"}, "")
	if err == nil || !strings.Contains(err.Error(), "Envoy 0.none: TestGRPC") {
		t.Errorf("got %v", err)
	}
}

func TestPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("above\n"+begin+"old\n"+end+"below\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := result{"1.99.0", map[string]string{}}
	for _, n := range names() {
		r.outcomes[n] = passed
	}
	if err := write(page, []result{r}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	if !strings.HasPrefix(text, "above\n") || !strings.HasSuffix(text, end+"below\n") || strings.Contains(text, "old") ||
		!strings.Contains(text, "| TestGRPC | passed |\n") {
		t.Errorf("got\n%s", text)
	}
	if err := os.WriteFile(page, []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := write(page, []result{r}); !errors.Is(err, errNoMarks) {
		t.Errorf("without marks: %v", err)
	}
}
