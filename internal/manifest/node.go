package manifest

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a piece of YAML, with its comments and in its order.
type node = *yaml.Node

// parse reads YAML that this program holds; a mistake in it is one in the
// program, and the package's first test finds it.
func parse(text string) node {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		panic("manifest: YAML of the program itself: " + err.Error())
	}
	return doc.Content[0]
}

// encode writes documents, each with its comments.
func encode(docs ...node) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	for _, d := range docs {
		if err := enc.Encode(d); err != nil {
			return nil, err
		}
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// at walks down: a string picks a field, a number an item. nil is not there.
func at(n node, path ...any) node {
	for _, step := range path {
		if n == nil {
			return nil
		}
		switch step := step.(type) {
		case string:
			i := index(n, step)
			if i < 0 {
				return nil
			}
			n = n.Content[i+1]
		case int:
			if n.Kind != yaml.SequenceNode || step >= len(n.Content) {
				return nil
			}
			n = n.Content[step]
		}
	}
	return n
}

// index is the position of a field's name in a mapping's content, or -1.
func index(n node, field string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == field {
			return i
		}
	}
	return -1
}

// set gives a mapping a field, in its old place or at the end.
func set(n node, field string, value node) {
	if i := index(n, field); i >= 0 {
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, text(field), value)
}

// remove takes a field away.
func remove(n node, field string) {
	if i := index(n, field); i >= 0 {
		n.Content = append(n.Content[:i:i], n.Content[i+2:]...)
	}
}

// comment puts a comment above a field.
func comment(n node, field, words string) {
	if i := index(n, field); i >= 0 {
		n.Content[i].HeadComment = wrap(words)
	}
}

// wrap makes comment lines of words; a line that is given stays one.
func wrap(words string) string {
	var out []string
	for line := range strings.Lines(words) {
		out = append(out, strings.TrimRight("# "+strings.TrimSuffix(line, "\n"), " "))
	}
	return strings.Join(out, "\n")
}

// named finds the item of a list whose name is name.
func named(list node, name string) node {
	if list == nil {
		return nil
	}
	for _, item := range list.Content {
		if v := at(item, "name"); v != nil && v.Value == name {
			return item
		}
	}
	return nil
}

// plain matches texts that every YAML reader, also of YAML 1.1, takes for a
// text without quotes.
var plain = regexp.MustCompile(`^(/?[A-Za-z][A-Za-z0-9._/*-]*|/|[0-9]+/[a-z0-9]+|[0-9]+(ms|s|min|h|hour|day))$`)

// words that some reader takes for something else than a text.
var special = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null|inf|nan|\.inf|\.nan|~)$`)

func text(s string) node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if !plain.MatchString(s) || special.MatchString(s) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

func number(i int) node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(i)}
}

func boolean(b bool) node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: strconv.FormatBool(b)}
}

// literal is a text of several lines, written as such.
func literal(s string) node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s, Style: yaml.LiteralStyle}
}

func list(items ...node) node {
	return &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: items}
}

func texts(items ...string) node {
	l := list()
	for _, s := range items {
		l.Content = append(l.Content, text(s))
	}
	return flow(l)
}

// object makes a mapping of names and nodes, in turn.
func object(fields ...any) node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(fields); i += 2 {
		name, _ := fields[i].(string)
		value, ok := fields[i+1].(node)
		if s, is := fields[i+1].(string); is {
			value, ok = text(s), true
		}
		if ok {
			set(n, name, value)
		}
	}
	return n
}

// flow writes a node in one line.
func flow(n node) node {
	n.Style = yaml.FlowStyle
	return n
}

// block writes a node, and all below it, over lines, and drops quotes that
// nobody needs.
func block(n node) node {
	if n.Kind == yaml.ScalarNode {
		if n.Tag == "!!str" {
			*n = *text(n.Value)
		}
		return n
	}
	n.Style = 0
	if len(n.Content) == 0 {
		n.Style = yaml.FlowStyle
	}
	for _, item := range n.Content {
		block(item)
	}
	if n.Kind == yaml.SequenceNode && short(n) {
		n.Style = yaml.FlowStyle
	}
	return n
}

// short says that a list has only scalars and fits a line.
func short(n node) bool {
	size := 0
	for _, item := range n.Content {
		if item.Kind != yaml.ScalarNode {
			return false
		}
		size += len(item.Value) + 2
	}
	return size < 70
}
