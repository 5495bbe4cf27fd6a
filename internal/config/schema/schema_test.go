package schema_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sluice/internal/config"
	"sluice/internal/config/schema"
	"sluice/internal/config/yamlconfig"
)

const root = "../../../"

func TestGeneratedFilesAreUpToDate(t *testing.T) {
	js, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string][]byte{"schema.json": js, "configuration.md": schema.Reference()} {
		got, err := os.ReadFile(filepath.Join(root, "docs/reference", file))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/reference/%s is out of date: run go run ./internal/config/gen (%v)", file, err)
		}
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	js, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(js))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// parserOnly are the wrong samples that a schema can't refuse, and why. All others
// it does.
var parserOnly = map[string]string{
	"gateway-scope":             "several fields",
	"client-ip-from-alone":      "several fields",
	"client-ip-header-from-all": "several fields",
	"client-ip-two-ways":        "several fields",
	"hash-keys":                 "several fields",
	"hash-secret-alone":         "several fields",
	"redis-password-twice":      "several fields",
	"redis-user-alone":          "several fields",
	"option-of-another":         "several fields: the algorithm says which it takes",
	"rate-month":                "several fields: only a calendar has months",
	"path-param":                "several fields: a parameter of the match's template",
	"duplicate-name":            "several limits",
	"duplicate-window-name":     "several limits",
	"rate-twice":                "several items",
	"duplicate-field":           "a JSON object has a field once",
	"match-twice":               "two spellings of one source",
	"burst-overflow":            "arithmetic",
	"rate-huge":                 "arithmetic",
	"rate-huge-window":          "arithmetic",
	"match-big-number":          "numbers beyond 2^53",
	"hot-together":              "which ways of sparing calls go together, and with what",
	"key-too-long":              "the length of one source among several",
	"client-ip-cidr":            "the syntax of an address",
	"match-cidr":                "the syntax of an address",
	"match-host":                "the syntax of a host",
	"match-path":                "the syntax of a path",
	"match-regex":               "the syntax of a regular expression",
	"reject-template":           "the syntax of a template",
}

// The schema accepts all that the parser accepts, and refuses what is wrong as
// far as a schema can say it.
func TestSchemaAndParserAgree(t *testing.T) {
	s := compile(t)
	valid, seen := 0, map[string]bool{}
	for _, folder := range []string{"configs", "cookbook", "advice", "invalid"} {
		files, err := filepath.Glob(filepath.Join(root, "testdata", folder, "*"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".golden") || strings.HasSuffix(file, ".test.yaml") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			doc, problem := yamlconfig.Convert(text)
			if problem != nil {
				continue // no schema sees what is no YAML
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc.JSON))
			if err != nil {
				t.Fatal(err)
			}
			_, errs := config.Parse(doc.JSON)
			bySchema := s.Validate(value)
			name, _, _ := strings.Cut(filepath.Base(file), ".")
			why, only := parserOnly[name]
			seen[name] = true
			switch {
			case len(errs) == 0 && bySchema != nil:
				t.Errorf("%s: the parser accepts what the schema refuses: %v", file, bySchema)
			case len(errs) == 0:
				valid++
			case bySchema == nil && !only:
				t.Errorf("%s: the schema accepts what the parser refuses: %v", file, errs)
			case bySchema != nil && only:
				t.Errorf("%s: the schema refuses it after all, in spite of %s", file, why)
			}
		}
	}
	for name := range parserOnly {
		if !seen[name] {
			t.Errorf("there is no sample %s", name)
		}
	}
	if valid < 60 {
		t.Errorf("only %d samples are right", valid)
	}
}

func TestReferenceNamesEveryField(t *testing.T) {
	page := string(schema.Reference())
	var walk func(o *config.Object)
	seen := map[string]bool{}
	var types func(ty *config.Type)
	types = func(ty *config.Type) {
		if ty == nil {
			return
		}
		if ty.Object != nil {
			walk(ty.Object)
		}
		types(ty.Items)
		for _, a := range ty.AnyOf {
			types(a)
		}
	}
	walk = func(o *config.Object) {
		if seen[o.Name] {
			return
		}
		seen[o.Name] = true
		if !strings.Contains(page, "\n## "+o.Name+"\n") {
			t.Errorf("%s has no section", o.Name)
		}
		for _, f := range o.Fields {
			if !strings.Contains(page, "| `"+f.Name+"` | ") {
				t.Errorf("%s.%s is not there", o.Name, f.Name)
			}
			if f.Doc == "" {
				t.Errorf("%s.%s says nothing", o.Name, f.Name)
			}
			types(f.Type)
		}
	}
	walk(config.Describe())
	// Links within the page lead somewhere.
	for _, part := range strings.Split(page, "](#")[1:] {
		anchor := part[:strings.IndexByte(part, ')')]
		title := strings.ReplaceAll(anchor, "-", " ")
		if !strings.Contains(page, "# "+title+"\n") && !strings.Contains(page, "# "+anchor+"\n") {
			t.Errorf("the link to #%s leads nowhere", anchor)
		}
	}
}
