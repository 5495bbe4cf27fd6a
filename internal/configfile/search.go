package configfile

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

// Bounds on a search: how deep it goes, and how many nodes it sees; an alias
// could lead back to what it stands in.
const (
	maxDepth = 80
	maxNodes = 2_000_000
)

// search looks for configurations in documents.
type search struct {
	text  []byte
	found []Found
	nodes int
	// Of the Envoy configuration: its routes, and those without a name.
	routes, unnamed int
}

// document looks at one document.
func (s *search) document(root *yaml.Node) {
	switch value(root, "kind") {
	case "WasmPlugin":
		s.wasmPlugin(root)
	case "EnvoyExtensionPolicy":
		for _, w := range items(field(field(root, "spec"), "wasm")) {
			if isSluice(value(w, "name"), code(w)) || ours(field(w, "config")) {
				s.add(field(w, "config"), "EnvoyExtensionPolicy "+value(field(root, "metadata"), "name"))
			}
		}
	case "ConfigMap":
		s.configMap(root)
	default:
		s.walk(root, nil, 0)
		if len(s.found) == 0 && ours(root) {
			s.add(root, "")
		}
	}
}

// wasmPlugin looks at Istio's and Higress's resource of that kind.
func (s *search) wasmPlugin(root *yaml.Node) {
	spec, name := field(root, "spec"), value(field(root, "metadata"), "name")
	for _, at := range []string{"pluginConfig", "defaultConfig"} {
		if c := field(spec, at); c != nil && (isSluice(name, value(spec, "url")) || ours(c)) {
			s.add(c, "WasmPlugin "+name+", "+at)
		}
	}
	for _, rule := range items(field(spec, "matchRules")) {
		if c := field(rule, "config"); c != nil && (isSluice(name, value(spec, "url")) || ours(c)) {
			s.add(c, "WasmPlugin "+name+", a match rule")
		}
	}
}

// configMap looks into the files that a ConfigMap holds.
func (s *search) configMap(root *yaml.Node) {
	data := field(root, "data")
	if data == nil || data.Kind != yaml.MappingNode {
		return
	}
	for i := 0; i+1 < len(data.Content); i += 2 {
		name, n := data.Content[i].Value, resolve(data.Content[i+1])
		if n == nil || n.Kind != yaml.ScalarNode || !strings.Contains(n.Value, "limits") {
			continue
		}
		inner, err := Find([]byte(n.Value))
		if err != nil {
			continue
		}
		for _, f := range inner {
			if f.Policy == nil && f.doc == nil && !strings.Contains(f.Where, "sluice") {
				continue // some text that isn't YAML at all
			}
			where := "ConfigMap " + value(field(root, "metadata"), "name") + ", " + name
			if f.Where != "" {
				where += ", " + f.Where
			}
			s.found = append(s.found, s.shifted(f, n, where))
		}
	}
}

// walk looks for wasm filters of Envoy, and counts routes. path has the names on
// the way that say where something is.
func (s *search) walk(n *yaml.Node, path []string, depth int) {
	n = resolve(n)
	if s.nodes++; n == nil || depth > maxDepth || s.nodes > maxNodes {
		return
	}
	switch n.Kind {
	case yaml.SequenceNode:
		for _, item := range n.Content {
			s.walk(item, path, depth+1)
		}
	case yaml.MappingNode:
		if name := value(n, "name"); name != "" {
			path = append(path[:len(path):len(path)], name)
		}
		if c := field(n, "configuration"); c != nil && (field(n, "vm_config") != nil || field(n, "root_id") != nil) {
			if isSluice(value(n, "name"), value(n, "root_id"), code(n)) || ours(field(c, "value")) {
				s.filter(c, strings.Join(path, ", "))
			}
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			k, v := n.Content[i].Value, n.Content[i+1]
			if k == "routes" {
				s.countRoutes(v)
			}
			s.walk(v, path, depth+1)
		}
	}
}

func (s *search) countRoutes(list *yaml.Node) {
	for _, r := range items(list) {
		if field(r, "match") == nil {
			continue
		}
		s.routes++
		if value(r, "name") == "" {
			s.unnamed++
		}
	}
}

// filter adds the configuration of a wasm filter: a StringValue or a Struct.
func (s *search) filter(c *yaml.Node, where string) {
	v := field(c, "value")
	if v == nil {
		v = c
	}
	s.add(v, "filter "+where)
}

// add adds what a node holds: a configuration, or the text of one.
func (s *search) add(n *yaml.Node, where string) {
	n = resolve(n)
	if n == nil {
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		s.found = append(s.found, s.shifted(parse([]byte(n.Value)), n, where))
		return
	}
	doc, problem := yamlconfig.ConvertNode(n)
	f := Found{}
	if problem != nil {
		f.Problems = []yamlconfig.Problem{*problem}
	} else {
		f = fromDocument(doc)
	}
	f.Where = where
	s.found = append(s.found, f)
}

// shifted moves the places of a configuration that is a text in the file to
// where they are in the file.
func (s *search) shifted(f Found, n *yaml.Node, where string) Found {
	inner := f.shift
	outer := s.shift(n)
	f.Where = where
	f.shift = func(line, column int) (int, int) {
		if inner != nil {
			line, column = inner(line, column)
		}
		return outer(line, column)
	}
	for i := range f.Problems {
		p := &f.Problems[i]
		if p.Line == 0 {
			p.Line, p.Column = 1, 1
		}
		p.Line, p.Column = outer(p.Line, p.Column)
	}
	return f
}

// shift is how places in the text that a node holds become places in the file.
// Exact for texts in a block; in quotes as far as no escape stands before.
func (s *search) shift(n *yaml.Node) func(line, column int) (int, int) {
	switch n.Style & (yaml.LiteralStyle | yaml.FoldedStyle) {
	case 0:
		quote := 0
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			quote = 1
		}
		return func(line, column int) (int, int) {
			if line == 1 {
				column += n.Column - 1 + quote
			}
			return n.Line + line - 1, column
		}
	}
	indent := 0
	if lines := bytes.Split(s.text, []byte("\n")); n.Line < len(lines) {
		for _, l := range lines[n.Line:] {
			if t := bytes.TrimLeft(l, " "); len(bytes.TrimSpace(t)) > 0 {
				indent = len(l) - len(t)
				break
			}
		}
	}
	return func(line, column int) (int, int) { return n.Line + line, column + indent }
}

// ours reports whether a node looks like a sluice configuration: an object with
// limits, or the text of one.
func ours(n *yaml.Node) bool {
	n = resolve(n)
	if n == nil {
		return false
	}
	if n.Kind == yaml.ScalarNode && len(n.Value) <= config.MaxBytes {
		var inner yaml.Node
		if !strings.Contains(n.Value, "limits") || yaml.Unmarshal([]byte(n.Value), &inner) != nil || len(inner.Content) != 1 {
			return false
		}
		n = inner.Content[0]
	}
	if field(n, "limits") != nil {
		return true
	}
	// A misspelt one still has a section that nothing else has.
	return field(n, "redis") != nil && field(n, "static_resources") == nil
}

func isSluice(texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(t, "sluice") {
			return true
		}
	}
	return false
}

// code is the path or address of a plugin's module.
func code(n *yaml.Node) string {
	c := field(field(n, "vm_config"), "code")
	if c == nil {
		c = field(n, "code")
	}
	return value(field(c, "local"), "filename") + value(field(c, "image"), "url") + value(field(c, "http"), "url")
}

// resolve follows aliases, as many as can stand in a row.
func resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

// field is a field of an object, nil when there is none.
func field(n *yaml.Node, name string) *yaml.Node {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return resolve(n.Content[i+1])
		}
	}
	return nil
}

// value is a field's text, "" when there is none.
func value(n *yaml.Node, name string) string {
	if f := field(n, name); f != nil && f.Kind == yaml.ScalarNode {
		return f.Value
	}
	return ""
}

func items(n *yaml.Node) []*yaml.Node {
	if n = resolve(n); n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	return n.Content
}
