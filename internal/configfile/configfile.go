// Package configfile finds the sluice configurations in what people have at
// hand: a configuration by itself, an Envoy configuration, or a Kubernetes
// manifest that holds one. Errors keep their line and column in that file. It is
// for the tool only.
package configfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

// MaxBytes bounds a file: a manifest holds more than one configuration.
const MaxBytes = 16 << 20

// ErrNone is a file without a sluice configuration.
var ErrNone = errors.New("holds no sluice configuration: expected one with `limits`, an Envoy configuration or a manifest that has the sluice filter in it")

// Found is one sluice configuration in a file.
type Found struct {
	// Where says where in the file it is, "" for a file that is nothing else.
	Where string
	// Policy is nil when there are Problems.
	Policy   *config.Policy
	Problems []yamlconfig.Problem // all that is wrong, in the order of the text
	JSON     []byte               // what the plugin would be given
	// RoutesUnnamed counts the routes without a name of the Envoy configuration
	// around it, and Routes all of them; 0 where there is none around it.
	RoutesUnnamed, Routes int

	doc   *yamlconfig.Document
	lists map[int][]gjson.Result            // items, by where their list begins
	shift func(line, column int) (int, int) // from the configuration's own text to the file's
}

// Position returns the line and column in the file of a path such as
// limits[1].key, or of the nearest part around it that is there; 0, 0 when
// nothing is known.
func (f *Found) Position(path string) (line, column int) {
	if f.doc == nil {
		return 0, 0
	}
	offset := 0
	v := gjson.ParseBytes(f.doc.JSON)
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next, ok := f.child(v, step)
		if !ok {
			break
		}
		v, offset = next, next.Index
	}
	return f.place(f.doc.Position(offset))
}

// child is a field or an item of v. Indexes stay those of the whole text.
func (f *Found) child(v gjson.Result, name string) (found gjson.Result, ok bool) {
	if v.IsArray() {
		items, known := f.lists[v.Index]
		if !known {
			v.ForEach(func(_, item gjson.Result) bool {
				items = append(items, item)
				return true
			})
			if f.lists == nil {
				f.lists = map[int][]gjson.Result{}
			}
			f.lists[v.Index] = items
		}
		i, err := strconv.Atoi(name)
		if err != nil || i < 0 || i >= len(items) {
			return found, false
		}
		return items[i], true
	}
	v.ForEach(func(k, val gjson.Result) bool {
		if ok = v.IsObject() && k.Str == name; ok {
			found = val
		}
		return !ok
	})
	return found, ok
}

func (f *Found) place(line, column int) (int, int) {
	if f.shift != nil && line > 0 {
		return f.shift(line, column)
	}
	return line, column
}

// Read reads a file, or in for "-".
func Read(name string, in io.Reader) ([]byte, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, explain(name, err)
		}
		defer f.Close()
		if s, err := f.Stat(); err == nil && s.IsDir() {
			return nil, fmt.Errorf("%s is a folder: name the files in it", name)
		}
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, MaxBytes+1))
	if err != nil {
		return nil, explain(name, err)
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("%s is larger than %d MiB: that is no configuration", name, MaxBytes>>20)
	}
	return text, nil
}

// explain is why a file can't be read, and what to do.
func explain(name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no file %s: check its name", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s may not be read by this user: change its rights, or the user", name)
	}
	return fmt.Errorf("%s can't be read: %w", name, err)
}

// Find returns the sluice configurations in a file's text, at least one, or
// ErrNone.
func Find(text []byte) ([]Found, error) {
	docs, plain := split(text)
	if plain {
		return []Found{parse(text)}, nil
	}
	s := &search{text: text}
	for _, root := range docs {
		s.document(root)
	}
	if len(s.found) == 0 {
		return nil, ErrNone
	}
	for i := range s.found {
		s.found[i].Routes, s.found[i].RoutesUnnamed = s.routes, s.unnamed
	}
	return s.found, nil
}

// split reads the documents of a text. plain says that the text as a whole is to
// be read as one configuration: it is one, or no YAML, which its reader says best.
func split(text []byte) (docs []*yaml.Node, plain bool) {
	dec := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, true
		}
		if len(n.Content) == 1 && n.Content[0].Tag != "!!null" {
			docs = append(docs, n.Content[0])
		}
	}
	if len(docs) == 0 {
		return nil, true // an empty configuration
	}
	for _, d := range docs {
		if field(d, "static_resources") != nil || field(d, "kind") != nil || field(d, "@type") != nil || field(d, "resources") != nil {
			return docs, false
		}
	}
	for _, d := range docs {
		if ours(d) {
			return docs, len(docs) == 1
		}
	}
	return docs, false
}

// parse reads a text that is a configuration and nothing else.
func parse(text []byte) Found {
	doc, problem := yamlconfig.Convert(text)
	if problem != nil {
		return Found{Problems: []yamlconfig.Problem{*problem}}
	}
	return fromDocument(doc)
}

func fromDocument(doc *yamlconfig.Document) Found {
	f := Found{doc: doc, JSON: doc.JSON}
	policy, errs := config.Parse(doc.JSON)
	f.Policy, f.Problems = policy, doc.Locate(errs)
	return f
}
