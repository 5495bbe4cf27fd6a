package regex

import "slices"

// either makes f|g. Alternatives may be taken in any order, since only whether
// they fit counts. Those that begin alike share their beginning, and characters
// become one class, so that there are no more steps than package regexp makes of
// the same. It calls itself for what comes after a common beginning: that is as
// often as alternatives branch off in a row, some 250 times in 1024 bytes.
func (p *parser) either(f, g []step) []step {
	switch {
	case len(f) == 0:
		return quest(g)
	case len(g) == 0:
		return quest(f)
	case optional(f):
		return quest(p.either(f[1:], g))
	case optional(g):
		return quest(p.either(f, g[1:]))
	}
	if n := firstOf(f); n > 0 {
		var list [][]step
		for ; n > 0; n = firstOf(f) {
			list, f = append(list, without(f, n)), f[n:]
		}
		g = p.either(f, g)
		for i := len(list) - 1; i >= 0; i-- {
			g = p.either(list[i], g)
		}
		return g
	}
	first, n := g, firstOf(g)
	if n > 0 {
		first = without(g, n)
	}
	var both []step
	if single(f) && single(first) {
		both = p.both(f, first)
	} else if alike := alike(f, first); alike > 0 {
		both = join(f[:alike:alike], p.either(f[alike:], first[alike:]))
	} else {
		out := join([]step{forkTo(1 + len(f))}, f)
		for i := range f {
			out[1+i].redirect(len(f)-i, len(f)+len(g)-i)
		}
		return join(out, g)
	}
	if n > 0 {
		both = p.either(both, g[n:])
	}
	return both
}

// optional reports whether a fragment is what quest makes, and not star.
func optional(f []step) bool { return skips(f) && comesBack(f) > 0 }

// firstOf is where the second of a fragment's alternatives begins; the first
// begins at 1. It is 0 if the fragment isn't alternatives only.
func firstOf(f []step) int {
	n := int(f[0].lo)
	if f[0].kind != fork || n <= 1 || n >= len(f) {
		return 0
	}
	for i := range f {
		s := &f[i]
		if i > 0 && (!within(i, int(s.out), n, len(f)) || s.kind == fork && !within(i, int(s.lo), n, len(f))) {
			return 0
		}
	}
	return n
}

// within reports whether a step leads to its own side of n, or to the end.
//
//go:noinline
func within(i, to, n, end int) bool {
	to += i
	return to == end || to > 0 && (to < n) == (i < n)
}

// without is the first of a fragment's alternatives, without the others.
//
//go:noinline
func without(f []step, n int) []step {
	first := join(nil, f[1:n])
	for i := range first {
		first[i].redirect(len(f)-1-i, len(first)-i)
	}
	return first
}

// comesBack is the first step that itself or a later one leads to, or the number of
// steps.
//
//go:noinline
func comesBack(f []step) int {
	first := len(f)
	for i := range f {
		s := &f[i]
		if s.out <= 0 {
			first = min(first, i+int(s.out))
		}
		if s.kind == fork && s.lo <= 0 {
			first = min(first, i+int(s.lo))
		}
	}
	return first
}

// alike is how many steps fragments have in common at their beginning, of those
// that lead to the next only, and are led to from the one before only.
func alike(f, g []step) int {
	n, most := 0, min(comesBack(f), comesBack(g))
	for n < most && f[n].kind != fork && f[n].out == 1 && f[n] == g[n] {
		n++
	}
	return n
}

// single reports whether a fragment takes one rune and nothing else.
//
//go:noinline
func single(f []step) bool { return len(f) == 1 && f[0].kind <= takeSet }

// both makes f|g of two that take one rune.
func (p *parser) both(f, g []step) []step {
	var s set
	for _, from := range [2]step{f[0], g[0]} {
		if from.kind == takeRange {
			s = s.add(from.lo, from.hi)
			continue
		}
		s = s.include(p.sets[from.lo])
	}
	return []step{p.take(s)}
}

// take is a step that takes a rune of a set, which isn't changed any more.
func (p *parser) take(s set) step {
	t := step{kind: takeRange, out: 1, lo: 1}
	if len(s) == 2 {
		t.lo, t.hi = s[0], s[1]
	} else if len(s) > 2 {
		t.kind = takeSet
		for t.lo = 0; int(t.lo) < len(p.sets); t.lo++ {
			if slices.Equal(p.sets[t.lo], s) {
				return t
			}
		}
		p.sets = append(p.sets, s)
	}
	return t
}
