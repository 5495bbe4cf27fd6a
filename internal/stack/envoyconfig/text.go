package envoyconfig

import (
	"bytes"
	"errors"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ErrNoPluginText is an Envoy configuration without the plugin's filter, or one
// whose plugin configuration is no YAML of its own.
var ErrNoPluginText = errors.New("no HTTP filter " + Plugin + " with a configuration in the listener " + Gateway)

// PluginText is the plugin's configuration as an Envoy configuration writes it,
// comments included, moved to the left margin. line and column, from 0, are how
// far its first character is from the file's.
func PluginText(file []byte) (text []byte, line, column int, err error) {
	var root yaml.Node
	if err := yaml.Unmarshal(file, &root); err != nil {
		return nil, 0, 0, err
	}
	value := pluginValue(&root)
	switch {
	case value == nil:
		return nil, 0, 0, ErrNoPluginText
	case value.Kind == yaml.ScalarNode:
		// JSON in a string: where its lines are depends on the string's style.
		return []byte(value.Value), 0, 0, nil
	case value.Style&yaml.FlowStyle != 0:
		text, err := yaml.Marshal(value)
		return text, 0, 0, err
	}
	line, column = value.Line-1, value.Column-1
	var out bytes.Buffer
	lines := strings.SplitAfter(string(file), "\n")
	for _, l := range lines[line:] {
		words := strings.TrimLeft(l, " ")
		indent := len(l) - len(words)
		blank := strings.TrimSpace(words) == ""
		if !blank && indent < column {
			break
		}
		if blank {
			out.WriteByte('\n')
			continue
		}
		out.WriteString(l[column:])
	}
	return append(bytes.TrimRight(out.Bytes(), "\n"), '\n'), line, column, nil
}

// pluginValue finds the plugin's configuration.
func pluginValue(root *yaml.Node) *yaml.Node {
	if len(root.Content) == 0 {
		return nil
	}
	manager := nodeAt(root.Content[0], "static_resources", "listeners", "@"+Gateway, "filter_chains", "0", "filters", "0", "typed_config")
	return nodeAt(manager, "http_filters", "@"+Plugin, "typed_config", "config", "configuration", "value")
}

// nodeAt walks down from n: by a field's name, by "@" and the name of a list's
// item, or by "0" to its first item. It returns nil where there is none.
func nodeAt(n *yaml.Node, path ...string) *yaml.Node {
	for _, step := range path {
		if n != nil && n.Kind == yaml.AliasNode {
			n = n.Alias
		}
		if n == nil {
			return nil
		}
		var next *yaml.Node
		switch {
		case n.Kind == yaml.MappingNode:
			next = fieldOf(n, step)
		case n.Kind == yaml.SequenceNode && step == "0" && len(n.Content) > 0:
			next = n.Content[0]
		case n.Kind == yaml.SequenceNode && strings.HasPrefix(step, "@"):
			for _, item := range n.Content {
				if name := fieldOf(item, "name"); name != nil && name.Value == step[1:] {
					next = item
					break
				}
			}
		}
		n = next
	}
	return n
}

func fieldOf(n *yaml.Node, name string) *yaml.Node {
	if n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}
