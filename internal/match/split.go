package match

import (
	"slices"
	"strings"

	"sluice/internal/ipaddr"
	"sluice/internal/source"
)

// groups collects matchers by value.
type groups map[string][]int

// exactSplit divides by the exact value of a source.
type exactSplit struct {
	src      source.Source
	children map[string]*node
}

func (c *values) anchors(f func(string)) bool {
	if c.present || c.absent || len(c.regexps) > 0 {
		return false
	}
	for _, t := range c.exact.list {
		f(t)
	}
	return true
}

func (c *values) splitter(each func(func(int, Condition)), build func([]int) *node) splitter {
	g := groups{}
	each(func(i int, c Condition) {
		c.(*values).anchors(func(t string) { g[t] = append(g[t], i) })
	})
	return &exactSplit{c.src, g.build(build)}
}

func (g groups) build(build func([]int) *node) map[string]*node {
	children := make(map[string]*node, len(g))
	for t, set := range g {
		children[t] = build(slices.Compact(set))
	}
	return children
}

func (s *exactSplit) walk(x *Index, dst []int, v *source.View) []int {
	if val, ok := s.src.Value(v); ok {
		return s.children[val].walk(x, dst, v)
	}
	return dst
}

// hostSplit divides by the host: exact names, and suffixes with their leading
// dot.
type hostSplit struct {
	children map[string]*node
}

func (c *hostCondition) anchors(f func(string)) bool {
	if c.present || c.absent || len(c.regexps) > 0 {
		return false
	}
	for _, t := range c.exact.list {
		f(t)
	}
	for _, t := range c.suffixes {
		f(t)
	}
	return true
}

func (c *hostCondition) splitter(each func(func(int, Condition)), build func([]int) *node) splitter {
	g := groups{}
	each(func(i int, c Condition) {
		c.(*hostCondition).anchors(func(t string) { g[t] = append(g[t], i) })
	})
	return &hostSplit{g.build(build)}
}

// maxLabels bounds how many parents of a host are looked up.
const maxLabels = 32

func (s *hostSplit) walk(x *Index, dst []int, v *source.View) []int {
	h := v.Host()
	dst = s.children[h].walk(x, dst, v)
	// From the right: a longer host than DNS allows loses its left part.
	for i, n := len(h), 0; n < maxLabels; n++ {
		i = strings.LastIndexByte(h[:i], '.')
		if i <= 0 {
			break
		}
		dst = s.children[h[i:]].walk(x, dst, v)
	}
	return dst
}

// ipSplit divides by the client's address.
type ipSplit struct {
	bits4, bits6 []int // lengths of the prefixes that there are
	children     map[ipaddr.Prefix]*node
}

func (c *ipCondition) anchors(f func(string)) bool {
	if c.present || c.absent || len(c.regexps) > 0 {
		return false
	}
	for _, p := range c.prefixes {
		f(p.String())
	}
	return true
}

func (c *ipCondition) splitter(each func(func(int, Condition)), build func([]int) *node) splitter {
	s := &ipSplit{children: map[ipaddr.Prefix]*node{}}
	g := map[ipaddr.Prefix][]int{}
	each(func(i int, c Condition) {
		for _, p := range c.(*ipCondition).prefixes {
			g[p] = append(g[p], i)
		}
	})
	for p, set := range g {
		s.children[p] = build(slices.Compact(set))
		bits := &s.bits6
		if p.Addr().Is4() {
			bits = &s.bits4
		}
		if !slices.Contains(*bits, p.Bits()) {
			*bits = append(*bits, p.Bits())
		}
	}
	return s
}

func (s *ipSplit) walk(x *Index, dst []int, v *source.View) []int {
	a, ok := v.ClientIP()
	if !ok {
		return dst
	}
	bits := s.bits6
	if a.Is4() {
		bits = s.bits4
	}
	for _, b := range bits {
		if p, ok := a.Prefix(b); ok {
			dst = s.children[p].walk(x, dst, v)
		}
	}
	return dst
}
