// Package yamlconfig reads a configuration as people write it: YAML, of which
// JSON is a part. It turns it into the JSON that package config reads, and
// keeps where each value stood, so that an error can name its line and column.
// It is not part of the plugin.
package yamlconfig

import (
	"bytes"
	"errors"
	"io"
	"sort"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
)

// Document is a configuration as JSON, and where its parts stood in the YAML.
type Document struct {
	// JSON is what config.Parse reads.
	JSON  []byte
	marks []mark
}

// mark says where a piece of JSON came from.
type mark struct {
	offset, line, column int
}

// Problem is an error and its place in the YAML.
type Problem struct {
	config.Error
	// Line and Column count from 1; they are 0 where only the whole is wrong.
	Line, Column int
}

// String is the problem as compilers write one: line:column: path: message.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Error.Error()
	}
	return strconv.Itoa(p.Line) + ":" + strconv.Itoa(p.Column) + ": " + p.Error.Error()
}

// Parse reads a configuration from YAML. It returns a Policy, or everything
// that is wrong in the order of the text.
func Parse(text []byte) (*config.Policy, []Problem) {
	doc, problem := Convert(text)
	if problem != nil {
		return nil, []Problem{*problem}
	}
	policy, errs := config.Parse(doc.JSON)
	return policy, doc.Locate(errs)
}

// Locate adds places to the errors of the document's JSON.
func (d *Document) Locate(errs config.Errors) []Problem {
	var out []Problem
	for _, e := range errs {
		line, column := d.Position(e.Offset)
		out = append(out, Problem{e, line, column})
	}
	return out
}

// Position returns the line and column in the YAML, counted from 1, of what
// stands at an offset of the JSON.
func (d *Document) Position(offset int) (line, column int) {
	i := sort.Search(len(d.marks), func(i int) bool { return d.marks[i].offset > offset })
	if i == 0 {
		return 1, 1
	}
	return d.marks[i-1].line, d.marks[i-1].column
}

// Convert turns YAML into JSON. Aliases and merge keys are resolved; what they
// make of a text is bounded as a configuration's text is.
func Convert(text []byte) (*Document, *Problem) {
	if len(text) > config.MaxBytes {
		return nil, whole("a configuration has at most " + strconv.Itoa(config.MaxBytes) + " bytes, this one has " + strconv.Itoa(len(text)))
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, whole("the configuration is empty")
		}
		return nil, syntax(err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		return nil, at(&more, "a configuration is one document, and here begins a second")
	} else if !errors.Is(err, io.EOF) {
		return nil, syntax(err)
	}
	c := converter{doc: new(Document)}
	if len(root.Content) != 1 || root.Content[0].Tag == "!!null" {
		return nil, whole("the configuration is empty")
	}
	if p := c.node(root.Content[0], 0); p != nil {
		return nil, p
	}
	c.doc.JSON = c.out
	return c.doc, nil
}

func whole(message string) *Problem {
	return &Problem{Error: config.Error{Message: message}}
}

func at(n *yaml.Node, message string) *Problem {
	return &Problem{Error: config.Error{Message: message}, Line: n.Line, Column: n.Column}
}

// syntax turns a parser's error into a Problem.
func syntax(err error) *Problem {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	p := whole("not valid YAML: " + msg)
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		if n, msg, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(n); err == nil {
				p.Line, p.Column, p.Message = line, 1, "not valid YAML: "+msg
			}
		}
	}
	return p
}
