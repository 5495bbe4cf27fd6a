package yamlconfig

import (
	"math"
	"strconv"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
)

// maxDepth bounds how deep values nest, aliases included; an alias within its
// own anchor has no end. Package config allows less, and says so.
const maxDepth = 64

// converter writes a tree of nodes as JSON.
type converter struct {
	doc *Document
	out []byte
	// merges counts mappings that were looked at to merge them.
	merges int
}

// maxMerges bounds how many mappings are merged, those within others included.
const maxMerges = 100_000

func (c *converter) node(n *yaml.Node, depth int) *Problem {
	if depth > maxDepth {
		return at(n, "nested too deep")
	}
	if len(c.out) > config.MaxBytes {
		return at(n, "a configuration has at most "+strconv.Itoa(config.MaxBytes)+" bytes, and aliases make more of this one")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return c.node(n.Alias, depth+1)
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		c.mark(n)
		c.out = append(c.out, '[')
		for i, item := range n.Content {
			if i > 0 {
				c.out = append(c.out, ',')
			}
			if p := c.node(item, depth+1); p != nil {
				return p
			}
		}
		c.out = append(c.out, ']')
		return nil
	}
	c.mark(n)
	return c.scalar(n)
}

func (c *converter) mark(n *yaml.Node) {
	c.doc.marks = append(c.doc.marks, mark{len(c.out), n.Line, n.Column})
}

// entry is one field of a mapping.
type entry struct {
	name       string
	key, value *yaml.Node
}

func (c *converter) mapping(n *yaml.Node, depth int) *Problem {
	entries, p := c.entries(n, depth)
	if p != nil {
		return p
	}
	c.mark(n)
	c.out = append(c.out, '{')
	for i, e := range entries {
		if i > 0 {
			c.out = append(c.out, ',')
		}
		c.mark(e.key)
		c.out = appendText(c.out, e.name)
		c.out = append(c.out, ':')
		if p := c.node(e.value, depth+1); p != nil {
			return p
		}
	}
	c.out = append(c.out, '}')
	return nil
}

// entries lists a mapping's fields: its own, duplicates included, then those
// that it merges and doesn't have.
func (c *converter) entries(n *yaml.Node, depth int) ([]entry, *Problem) {
	if depth > maxDepth {
		return nil, at(n, "nested too deep")
	}
	if c.merges++; c.merges > maxMerges {
		return nil, at(n, "too many merged fields")
	}
	var own []entry
	var merged []*yaml.Node
	names := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		if k.Tag == "!!merge" {
			merged = append(merged, v)
			continue
		}
		for k.Kind == yaml.AliasNode {
			k = k.Alias
		}
		if k.Kind != yaml.ScalarNode {
			return nil, at(n.Content[i], "a field's name is a text")
		}
		names[k.Value] = true
		own = append(own, entry{k.Value, n.Content[i], v})
	}
	for _, m := range merged {
		list := []*yaml.Node{m}
		if resolved := resolve(m); resolved != nil && resolved.Kind == yaml.SequenceNode {
			list = resolved.Content
		}
		for _, item := range list {
			from := resolve(item)
			if from == nil || from.Kind != yaml.MappingNode {
				return nil, at(m, "<< merges an object or a list of objects")
			}
			more, p := c.entries(from, depth+1)
			if p != nil {
				return nil, p
			}
			for _, e := range more {
				if !names[e.name] {
					names[e.name] = true
					own = append(own, e)
				}
			}
		}
	}
	return own, nil
}

// resolve follows aliases; they lead to something in at most as many steps as
// values may nest.
func resolve(n *yaml.Node) *yaml.Node {
	for range maxDepth {
		if n == nil || n.Kind != yaml.AliasNode {
			return n
		}
		n = n.Alias
	}
	return nil
}

func (c *converter) scalar(n *yaml.Node) *Problem {
	switch n.Tag {
	case "!!null":
		c.out = append(c.out, "null"...)
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return at(n, "not true or false: "+n.Value)
		}
		c.out = strconv.AppendBool(c.out, b)
	case "!!int":
		if jsonNumber(n.Value) {
			c.out = append(c.out, n.Value...)
			return nil
		}
		var i int64
		if err := n.Decode(&i); err != nil {
			return at(n, "not a number that fits: "+n.Value)
		}
		c.out = strconv.AppendInt(c.out, i, 10)
	case "!!float":
		if jsonNumber(n.Value) {
			c.out = append(c.out, n.Value...)
			return nil
		}
		var f float64
		if err := n.Decode(&f); err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return at(n, "not a number: "+n.Value)
		}
		c.out = strconv.AppendFloat(c.out, f, 'g', -1, 64)
	case "!!binary":
		return at(n, "binary values have no place here")
	default:
		c.out = appendText(c.out, n.Value)
	}
	return nil
}

// jsonNumber reports whether s is a number in JSON too, which then keeps every
// digit.
func jsonNumber(s string) bool {
	i := 0
	digits := func() bool {
		start := i
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		return i > start
	}
	if i < len(s) && s[i] == '-' {
		i++
	}
	start := i
	if !digits() || s[start] == '0' && i > start+1 {
		return false
	}
	if i < len(s) && s[i] == '.' {
		i++
		if !digits() {
			return false
		}
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(s)
}

// appendText appends a text as JSON.
func appendText(dst []byte, s string) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', digits[r>>4], digits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}
