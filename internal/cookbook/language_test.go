package cookbook

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/limit"
	"sluice/internal/source"
)

// connection are the fields that say how Redis is reached and shared: no recipe
// is about them.
var connection = []string{
	"redis.cluster", "redis.link", "redis.topology", "redis.username", "redis.password_env", "redis.password",
	"redis.db", "redis.timeout", "redis.retry", "retry.times", "retry.after",
	"configuration.gateways", "configuration.clock", "configuration.runtime_overrides",
}

// Every field, algorithm and source of the language is in some recipe.
func TestWholeLanguageIsUsed(t *testing.T) {
	u := usage{fields: map[string]bool{}, texts: map[string]bool{}}
	root := &config.Type{Kind: config.ObjectType, Object: config.Describe()}
	for _, r := range recipes(t) {
		doc, problem := yamlconfig.Convert([]byte(r.Text))
		if problem != nil {
			t.Fatalf("%s: %v", r.Name, problem)
		}
		var v any
		if err := json.Unmarshal(doc.JSON, &v); err != nil {
			t.Fatal(err)
		}
		u.value(root, v)
		u.words(v)
	}
	all := map[string]bool{}
	fields(all, root)
	for _, f := range slices.Sorted(maps.Keys(all)) {
		if !u.fields[f] && !slices.Contains(connection, f) {
			t.Errorf("no recipe has the field %s", f)
		}
	}
	for _, f := range connection {
		if !all[f] {
			t.Errorf("there is no field %s", f)
		}
	}
	for _, a := range limit.Algorithms() {
		if !u.texts[a.Name] && a.Name != "sliding_log" {
			t.Errorf("no recipe has the algorithm %s", a.Name)
		}
		if a.Storage != "" && !u.texts[a.Storage] && a.Storage != "compact" {
			t.Errorf("no recipe has the storage %s", a.Storage)
		}
	}
	for _, k := range source.Kinds() {
		if k.Bare {
			if !u.texts[k.Name] {
				t.Errorf("no recipe has the source %s", k.Name)
			}
			continue
		}
		u.want(t, "source", k.Name+string(k.Sep))
	}
	for _, place := range []string{"response_header:", "response_trailer:", "response_json:", "response_bytes", "metadata:"} {
		u.want(t, "place of a cost", place)
	}
	for _, word := range []string{"body_bytes", "skip", "deny", "present", "absent", "~", "*.", "problem", "text"} {
		u.want(t, "word", word)
	}
}

// usage is what recipes use: fields by the object's name and their own, and all
// texts, names of fields among them.
type usage struct {
	fields, texts map[string]bool
}

func (u *usage) want(t *testing.T, what, begin string) {
	t.Helper()
	for text := range u.texts {
		if strings.HasPrefix(text, begin) {
			return
		}
	}
	t.Errorf("no recipe has the %s %s", what, begin)
}

// value notes the fields of a value that is of type t.
func (u *usage) value(t *config.Type, v any) {
	switch t.Kind {
	case config.AnyOfType:
		for _, a := range t.AnyOf {
			u.value(a, v)
		}
	case config.ListType:
		if list, ok := v.([]any); ok {
			for _, item := range list {
				u.value(t.Items, item)
			}
		}
	case config.ObjectType:
		object, _ := v.(map[string]any)
		for _, f := range t.Object.Fields {
			if inner, ok := object[f.Name]; ok {
				u.fields[t.Object.Name+"."+f.Name] = true
				u.value(f.Type, inner)
			}
		}
	}
}

// words notes all texts.
func (u *usage) words(v any) {
	switch v := v.(type) {
	case string:
		for part := range strings.SplitSeq(v, " or ") {
			u.texts[part] = true
		}
	case []any:
		for _, item := range v {
			u.words(item)
		}
	case map[string]any:
		for name, inner := range v {
			u.texts[name] = true
			u.words(inner)
		}
	}
}

// fields lists the fields of a type's objects.
func fields(all map[string]bool, t *config.Type) {
	switch t.Kind {
	case config.AnyOfType:
		for _, a := range t.AnyOf {
			fields(all, a)
		}
	case config.ListType, config.MapType:
		fields(all, t.Items)
	case config.ObjectType:
		for _, f := range t.Object.Fields {
			all[t.Object.Name+"."+f.Name] = true
			fields(all, f.Type)
		}
	}
}
