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

// The schema accepts all that the parser accepts. It can't see everything that
// is wrong, but most.
func TestSchemaAndParserAgree(t *testing.T) {
	s := compile(t)
	valid, both, parser := 0, 0, []string{}
	for _, folder := range []string{"configs", "invalid"} {
		files, err := filepath.Glob(filepath.Join(root, "testdata", folder, "*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".golden") {
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
			switch {
			case len(errs) == 0 && bySchema != nil:
				t.Errorf("%s: the parser accepts what the schema refuses: %v", file, bySchema)
			case len(errs) == 0:
				valid++
			case bySchema != nil:
				both++
			default:
				parser = append(parser, filepath.Base(file))
			}
		}
	}
	t.Logf("both accept %d and refuse %d; only the parser refuses %v", valid, both, parser)
	if valid < 10 || both < 50 {
		t.Errorf("both accept %d and refuse %d", valid, both)
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
