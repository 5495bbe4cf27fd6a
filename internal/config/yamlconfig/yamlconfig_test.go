package yamlconfig_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

func convert(t *testing.T, text string) *yamlconfig.Document {
	t.Helper()
	doc, problem := yamlconfig.Convert([]byte(text))
	if problem != nil {
		t.Fatal(problem)
	}
	return doc
}

func TestConvert(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1":                                  `{"a":1}`,
		"a: [1, -2, 1.50, 1e3, 0]":              `{"a":[1,-2,1.50,1e3,0]}`,
		"a: [0x10, 0o10, 1_000, +5]":            `{"a":[16,8,1000,5]}`,
		"a: 9007199254740993":                   `{"a":9007199254740993}`,
		"a: 123456789012345678901":              `{"a":123456789012345678901}`,
		"a: .5":                                 `{"a":0.5}`,
		"a: [true, false, null, ~, ]":           `{"a":[true,false,null,null]}`,
		"a: [yes, no, on, 'true', 2s]":          `{"a":["yes","no","on","true","2s"]}`,
		"a: 2001-01-01":                         `{"a":"2001-01-01"}`,
		"a: 06:30":                              `{"a":"06:30"}`,
		"a:":                                    `{"a":null}`,
		"a: \"q\\\" \\\\ \\n \\u00e4\"":         `{"a":"q\" \\ \u000a ä"}`,
		"a: |\n  x\n  y\n":                      `{"a":"x\u000ay\u000a"}`,
		"{header:x-debug: SECRET}":              `{"header:x-debug":"SECRET"}`,
		"{\"a\":[{\"b\":\"\\u0041\"}]}":         `{"a":[{"b":"A"}]}`,
		"5: x\ntrue: y":                         `{"5":"x","true":"y"}`,
		"? a\n: b":                              `{"a":"b"}`,
		"a: !!str 5":                            `{"a":"5"}`,
		"a: &x [1]\nb: *x":                      `{"a":[1],"b":[1]}`,
		"a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}": `{"a":{"p":1,"q":2},"b":{"q":3,"p":1}}`,
		"a: &x {p: 1}\nb: &y {p: 2}\nc: {<<: [*x, *y]}": `{"a":{"p":1},"b":{"p":2},"c":{"p":1}}`,
		"a: 1\na: 2": `{"a":1,"a":2}`,
	} {
		if got := string(convert(t, text).JSON); got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

// Whatever is written is what a YAML library reads.
func TestConvertAgreesWithTheLibrary(t *testing.T) {
	files, err := filepath.Glob("../../../testdata/configs/*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want, got any
		if err := yaml.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(convert(t, string(text)).JSON, &got); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(fmt.Sprint(normal(want)), fmt.Sprint(normal(got))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// normal makes numbers of one type.
func normal(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	}
	return v
}

func TestPositions(t *testing.T) {
	doc := convert(t, "# comment\na: 1\nbb:\n  - x\n  -   {c: 5, d: [6]}\ne: &k\n  f: 7\ng: *k\n")
	for part, want := range map[string]string{
		`{"a"`: "2:1", `"a"`: "2:1", `1`: "2:4", `"bb"`: "3:1", `[`: "4:3", `"x"`: "4:5", `{"c"`: "5:7", `"c"`: "5:8", `5`: "5:11",
		`"d"`: "5:14", `6`: "5:18", `"e"`: "6:1", `7`: "7:6", `"g"`: "8:1",
	} {
		line, column := doc.Position(strings.Index(string(doc.JSON), part))
		if got := fmt.Sprintf("%d:%d", line, column); got != want {
			t.Errorf("%s is at %s, want %s", part, got, want)
		}
	}
	// What an alias stands for is where it was written.
	if line, column := doc.Position(strings.LastIndex(string(doc.JSON), "7")); line != 7 || column != 6 {
		t.Errorf("the alias is at %d:%d", line, column)
	}
}

func TestParse(t *testing.T) {
	p, problems := yamlconfig.Parse([]byte("limits:\n- {name: a, rate: 5/s}\n"))
	if len(problems) > 0 || len(p.Limits) != 1 {
		t.Errorf("got %v, %v", p, problems)
	}
	p, problems = yamlconfig.Parse([]byte("limits:\n- name: a\n  rate: 5\n  kye: ip\n"))
	if p != nil || len(problems) != 2 || problems[0].String() != "3:9: limits[0].rate: expected a rate, not a number" ||
		problems[1].String() != "4:3: limits[0].kye: unknown field (did you mean key?)" {
		t.Errorf("got %v", problems)
	}
}

func TestAliasesAreBounded(t *testing.T) {
	lines := []string{"a0: &a0 [x, x, x, x, x, x, x, x, x]"}
	merges := []string{"m0: &m0 {x: 1}"}
	for i := 1; i < 40; i++ {
		a := fmt.Sprintf("*a%d", i-1)
		lines = append(lines, fmt.Sprintf("a%d: &a%d [%s, %s, %s, %s, %s, %s, %s, %s, %s]", i, i, a, a, a, a, a, a, a, a, a))
		merges = append(merges, fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}", i, i, i-1, i-1))
	}
	for name, text := range map[string]string{
		"laughs":     strings.Join(lines, "\n"),
		"merges":     strings.Join(merges, "\n"),
		"itself":     "a: &a [*a]",
		"merge loop": "a: &a {<<: *a}",
		"loop":       "a: &a\n  b: {c: *a}",
		"deep":       strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"very deep":  strings.Repeat("[", 500_000),
	} {
		doc, problem := yamlconfig.Convert([]byte(text))
		if problem == nil {
			t.Errorf("%s: %d bytes of JSON", name, len(doc.JSON))
		}
	}
	doc, problem := yamlconfig.Convert([]byte(strings.Repeat("#", config.MaxBytes+1)))
	if problem == nil {
		t.Errorf("got %v", doc)
	}
}

func FuzzConvert(f *testing.F) {
	files, err := filepath.Glob("../../../testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		doc, problem := yamlconfig.Convert(text)
		if (doc == nil) == (problem == nil) {
			t.Fatalf("got %v, %v", doc, problem)
		}
		if doc != nil && !json.Valid(doc.JSON) {
			t.Fatalf("%q became %q", text, doc.JSON)
		}
	})
}
