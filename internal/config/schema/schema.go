// Package schema describes the configuration to editors and to people: a JSON
// Schema and a reference page, both made of the tables that the parser reads
// by. It is not part of the plugin.
package schema

//go:generate sh -c "cd ../../.. && go run ./internal/config/gen"

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"sluice/internal/config"
	"sluice/internal/source"
)

// object is a JSON object whose fields keep their order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		for j, v := range [...]any{m.name, m.value} {
			if j > 0 {
				b.WriteByte(':')
			}
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(v); err != nil {
				return nil, err
			}
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// JSON returns the JSON Schema (draft 2020-12) of a configuration. What
// concerns several fields at once it can't say: the parser has the last word.
func JSON() ([]byte, error) {
	root := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "sluice configuration"},
	}
	root = append(root, ofObject(config.Describe())...)
	raw, err := root.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func ofObject(o *config.Object) object {
	props := object{}
	required := []string{}
	for _, f := range o.Fields {
		t := ofType(f.Type)
		t = append(t, member{"description", f.Doc})
		if f.Default != "" {
			t = append(t, member{"default", json.RawMessage(f.Default)})
		}
		props = append(props, member{f.Name, t})
		if f.Required {
			required = append(required, f.Name)
		}
	}
	out := object{{"type", "object"}, {"additionalProperties", false}, {"properties", props}}
	if len(required) > 0 {
		out = append(out, member{"required", required})
	}
	return out
}

func ofType(t *config.Type) object {
	switch t.Kind {
	case config.IntegerType:
		return object{{"type", "integer"}, {"minimum", t.Min}, {"maximum", t.Max}}
	case config.NumberType:
		return object{{"type", "number"}}
	case config.BooleanType:
		return object{{"type", "boolean"}}
	case config.ObjectType:
		return ofObject(t.Object)
	case config.ListType:
		out := object{{"type", "array"}, {"items", ofType(t.Items)}}
		if t.MinLen > 0 {
			out = append(out, member{"minItems", t.MinLen})
		}
		return out
	case config.MapType:
		out := object{{"type", "object"}, {"additionalProperties", ofType(t.Items)}}
		switch t.Keys {
		case "source":
			out = append(out, member{"propertyNames", object{{"pattern", "^" + sourcePattern() + "$"}}})
		case "header name":
			out = append(out, member{"propertyNames", object{{"pattern", "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}}})
		}
		return out
	case config.AnyOfType:
		var all []object
		for _, a := range t.AnyOf {
			all = append(all, ofType(a))
		}
		return object{{"anyOf", all}}
	}
	out := object{{"type", "string"}}
	switch {
	case len(t.Enum) > 0:
		out = append(out, member{"enum", t.Enum})
	case t.Name == "source":
		out = append(out, member{"pattern", "^" + sourcePattern() + "$"})
	case t.Name == "key part":
		out = append(out, member{"pattern", "^" + sourcePattern() + "( or .*)?$"})
	case t.Pattern != "":
		out = append(out, member{"pattern", t.Pattern})
	}
	return out
}

// sourcePattern is a regular expression of what begins like a source.
func sourcePattern() string {
	var all []string
	for _, k := range source.Kinds() {
		if k.Bare {
			all = append(all, k.Name)
		}
		if k.Sep != 0 {
			all = append(all, k.Name+regexp.QuoteMeta(string(k.Sep))+".+")
		}
	}
	return "(" + strings.Join(all, "|") + ")"
}
