package match

import (
	"slices"
	"strings"

	"sluice/internal/source"
)

// pathSplit divides by the path: a trie of its segments.
type pathSplit struct {
	root *pathNode
}

// pathNode is what templates have in common up to one segment.
type pathNode struct {
	literal map[string]*pathNode
	any     *pathNode // a parameter stands here
	exact   *node     // templates that end here
	tail    *node     // templates that end with /* here

	exactSet, tailSet []int
}

func (c *pathCondition) anchors(f func(string)) bool {
	if c.present || c.absent || len(c.regexps) > 0 {
		return false
	}
	for _, t := range c.templates {
		f(t.Shape())
	}
	return true
}

func (c *pathCondition) splitter(each func(func(int, Condition)), build func([]int) *node) splitter {
	s := &pathSplit{root: new(pathNode)}
	each(func(i int, c Condition) {
		for _, t := range c.(*pathCondition).templates {
			s.root.add(t, i)
		}
	})
	s.root.build(build)
	return s
}

func (n *pathNode) add(t *source.Template, matcher int) {
	for i := range t.Segments() {
		text, any := t.Segment(i)
		var next *pathNode
		if any {
			if n.any == nil {
				n.any = new(pathNode)
			}
			next = n.any
		} else {
			if next = n.literal[text]; next == nil {
				next = new(pathNode)
				if n.literal == nil {
					n.literal = map[string]*pathNode{}
				}
				n.literal[text] = next
			}
		}
		n = next
	}
	if t.Tail() {
		n.tailSet = append(n.tailSet, matcher)
	} else {
		n.exactSet = append(n.exactSet, matcher)
	}
}

// build makes the nodes of this and all nodes below. A trie is as deep as the
// longest template, which source bounds.
func (n *pathNode) build(build func([]int) *node) {
	n.exact = build(slices.Compact(n.exactSet))
	n.tail = build(slices.Compact(n.tailSet))
	n.exactSet, n.tailSet = nil, nil
	for _, c := range n.literal {
		c.build(build)
	}
	if n.any != nil {
		n.any.build(build)
	}
}

func (s *pathSplit) walk(x *Index, dst []int, v *source.View) []int {
	p := v.Path()
	if p == "" || p[0] != '/' {
		return dst
	}
	return s.root.walk(x, dst, v, p[1:], true)
}

// walk follows what is left of the path; more is false when nothing is. Its
// depth is bounded by the trie's.
func (n *pathNode) walk(x *Index, dst []int, v *source.View, rest string, more bool) []int {
	dst = n.tail.walk(x, dst, v)
	if !more {
		return n.exact.walk(x, dst, v)
	}
	seg, rest, more := cut(rest)
	if c := n.literal[seg]; c != nil {
		dst = c.walk(x, dst, v, rest, more)
	}
	if n.any != nil && seg != "" {
		dst = n.any.walk(x, dst, v, rest, more)
	}
	return dst
}

// cut takes the first segment off.
func cut(p string) (seg, rest string, more bool) {
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:], true
	}
	return p, "", false
}
