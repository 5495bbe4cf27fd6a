package match

import (
	"slices"

	"sluice/internal/source"
)

// Index finds which of many matchers hold for a request. What that costs grows
// with how many hold, not with how many there are, as long as their conditions
// tell requests apart by exact values, hosts, paths or addresses.
type Index struct {
	matchers []*Matcher
	root     *node
	visits   int // values looked at while building
}

// NewIndex makes an index over matchers, which are named by their position.
func NewIndex(matchers []*Matcher) *Index {
	all := make([]int, len(matchers))
	for i := range all {
		all[i] = i
	}
	x := &Index{matchers: matchers}
	x.root = x.build(all, maxSplits, nil)
	return x
}

// Append appends the positions of all matchers that hold for a request, in
// ascending order. It allocates only to grow dst.
func (x *Index) Append(dst []int, v *source.View) []int {
	start := len(dst)
	dst = x.root.walk(x, dst, v)
	hits := dst[start:]
	if !slices.IsSorted(hits) {
		sort(hits)
	}
	// A matcher with alternatives may have been found by several of them.
	return dst[:start+len(slices.Compact(hits))]
}

// First returns the position of the first matcher that holds, or -1. It works
// in the spare room of v.Hits.
func (x *Index) First(v *source.View) int {
	used := len(v.Hits)
	hits := x.root.walk(x, v.Hits, v)
	v.Hits = hits[:used]
	if len(hits) == used {
		return -1
	}
	return slices.Min(hits[used:])
}

// node is a set of matchers: divided by one part of the request, or small
// enough to be tried one by one.
type node struct {
	list  []int    // tried one by one; empty where the set is divided
	split splitter // nil for a list
	rest  *node    // those that the division says nothing about; may be nil
}

// splitter divides matchers by the values that one of their conditions asks of
// one part of the request.
type splitter interface {
	// walk appends the matchers that hold among those that v's value leads to.
	walk(x *Index, dst []int, v *source.View) []int
}

func (n *node) walk(x *Index, dst []int, v *source.View) []int {
	for ; n != nil; n = n.rest {
		if n.split != nil {
			dst = n.split.walk(x, dst, v)
			continue
		}
		for _, i := range n.list {
			if x.matchers[i].Matches(v) {
				dst = append(dst, i)
			}
		}
	}
	return dst
}

const (
	// smallSet is how many matchers are tried one by one without more thought.
	smallSet = 4
	// maxSplits bounds how often one set is divided, and so the work on a request
	// that no condition tells apart.
	maxSplits = 256
	// maxVisits bounds the values looked at to build an index.
	maxVisits = 5_000_000
	// attributePrice is what asking the proxy for an attribute costs, in tries
	// of a matcher.
	attributePrice = 32
)

// anchor is a condition by which an index can divide.
type anchor interface {
	Condition
	// anchors calls f for each value that the condition holds for, and returns
	// false when it can also hold for values that can't be listed.
	anchors(f func(value string)) bool
	// splitter makes a splitter for conditions of this type.
	splitter(children func(add func(i int, c Condition)), build func(set []int) *node) splitter
}

// build makes the node of a set. used are the sources that the sets above were
// divided by.
func (x *Index) build(set []int, splits int, used []string) *node {
	if len(set) == 0 {
		return nil
	}
	if len(set) > smallSet && splits > 0 && x.visits < maxVisits {
		if by := x.choose(set, used); by != "" {
			return x.divide(set, by, splits-1, used)
		}
	}
	return &node{list: set}
}

// division is what dividing a set by one source would give.
type division struct {
	covered int            // matchers that it tells apart
	sizes   map[string]int // by value
	price   int
}

// choose returns the source that divides a set best, or "" when none is worth
// its price.
func (x *Index) choose(set []int, used []string) string {
	by := map[string]*division{}
	for _, i := range set {
		for _, c := range x.matchers[i].Conditions() {
			a, ok := c.(anchor)
			if !ok || !a.anchors(func(string) {}) {
				continue
			}
			name := c.Source().String()
			if slices.Contains(used, name) {
				continue
			}
			d := by[name]
			if d == nil {
				d = &division{sizes: map[string]int{}, price: smallSet}
				if s, ok := c.Source().(source.Attributed); ok && len(s.Attributes(new(source.Options))) > 0 {
					d.price = attributePrice
				}
				by[name] = d
			}
			d.covered++
			a.anchors(func(value string) {
				d.sizes[value]++
				x.visits++
			})
		}
	}
	best, bestGain := "", 0
	for name, d := range by {
		largest := 0
		for _, n := range d.sizes {
			largest = max(largest, n)
		}
		gain := d.covered - largest - d.price
		if gain > bestGain || gain == bestGain && gain > 0 && name < best {
			best, bestGain = name, gain
		}
	}
	return best
}

// divide makes a node that divides a set by a source.
func (x *Index) divide(set []int, by string, splits int, used []string) *node {
	n := new(node)
	var rest []int
	var covered []int
	var first anchor
	find := func(i int) anchor {
		for _, c := range x.matchers[i].Conditions() {
			if c.Source().String() == by {
				if a, ok := c.(anchor); ok && a.anchors(func(string) {}) {
					return a
				}
				return nil
			}
		}
		return nil
	}
	for _, i := range set {
		a := find(i)
		if a == nil {
			rest = append(rest, i)
			continue
		}
		if first == nil {
			first = a
		}
		covered = append(covered, i)
	}
	inner := append(slices.Clone(used), by)
	n.split = first.splitter(
		func(add func(i int, c Condition)) {
			for _, i := range covered {
				add(i, find(i))
			}
		},
		func(set []int) *node { return x.build(set, splits, inner) })
	// Those without the condition were not divided by it, and may not be again:
	// the source leads nowhere for them.
	n.rest = x.build(rest, splits, inner)
	return n
}
