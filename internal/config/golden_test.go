package config_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

var update = flag.Bool("update", false, "write the golden files")

const testdata = "../../testdata"

// samples lists a folder's configurations.
func samples(t testing.TB, folder string) []string {
	t.Helper()
	var all []string
	for _, ext := range []string{"*.yaml", "*.json"} {
		files, err := filepath.Glob(filepath.Join(testdata, folder, ext))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, files...)
	}
	if len(all) == 0 {
		t.Fatalf("no samples in %s", folder)
	}
	return all
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// parseYAML is yamlconfig.Parse with the fields that nothing obeys yet.
func parseYAML(text []byte) (*config.Policy, []yamlconfig.Problem) {
	doc, problem := yamlconfig.Convert(text)
	if problem != nil {
		return nil, []yamlconfig.Problem{*problem}
	}
	policy, errs := config.ParseAll(doc.JSON)
	return policy, doc.Locate(errs)
}

func TestValid(t *testing.T) {
	for _, file := range samples(t, "configs") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, problems := parseYAML(read(t, file))
			for _, e := range problems {
				t.Error(e)
			}
			if p == nil && len(problems) == 0 {
				t.Error("neither a policy nor an error")
			}
		})
	}
}

func TestInvalid(t *testing.T) {
	files := samples(t, "invalid")
	if len(files) < 60 {
		t.Errorf("only %d wrong configurations", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			p, problems := parseYAML(read(t, file))
			if p != nil || len(problems) == 0 {
				t.Fatalf("accepted: %+v", p)
			}
			var got strings.Builder
			for _, e := range problems {
				got.WriteString(e.String() + "\n")
			}
			golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(read(t, golden)), got.String()); d != "" {
				t.Errorf("errors differ (-want +got):\n%s", d)
			}
		})
	}
}

func TestEveryGoldenHasItsConfiguration(t *testing.T) {
	goldens, err := filepath.Glob(filepath.Join(testdata, "invalid", "*.golden"))
	if err != nil {
		t.Fatal(err)
	}
	if len(goldens) != len(samples(t, "invalid")) {
		t.Errorf("%d golden files for %d configurations", len(goldens), len(samples(t, "invalid")))
	}
}

func TestTooLarge(t *testing.T) {
	text := bytes.Repeat([]byte("# padding\n"), config.MaxBytes/10+1)
	text = append(text, "limits: []\n"...)
	_, problems := parseYAML(text)
	if len(problems) != 1 || problems[0].String() != "a configuration has at most 1048576 bytes, this one has 1048591" {
		t.Errorf("got %v", problems)
	}
	_, errs := config.Parse(bytes.Repeat([]byte(" "), config.MaxBytes+1))
	if len(errs) != 1 || errs[0].Error() != "a configuration has at most 1048576 bytes, this one has 1048577" {
		t.Errorf("got %v", errs)
	}
}

// yamlDoc is a sample as JSON.
func yamlDoc(text []byte) ([]byte, bool) {
	doc, problem := yamlconfig.Convert(text)
	if problem != nil {
		return nil, false
	}
	return doc.JSON, true
}
