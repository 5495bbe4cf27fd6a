package regex

import "unicode"

// set is a set of runes: first and last of each range, in order, with gaps between
// the ranges.
type set []rune

// find is where the first range that doesn't end before r begins.
//
//go:noinline
func (s set) find(r rune) int {
	low, high := 0, len(s)/2
	for low < high {
		if mid := (low + high) / 2; s[2*mid+1] < r {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return 2 * low
}

func (s set) has(r rune) bool {
	i := s.find(r)
	return i < len(s) && s[i] <= r
}

// add adds a range, in place where there is room.
func (s set) add(lo, hi rune) set {
	if lo > hi {
		return s
	}
	i := s.find(lo - 1)
	n := i
	for ; n < len(s) && s[n] <= hi+1; n += 2 {
		lo, hi = min(lo, s[n]), max(hi, s[n+1])
	}
	if n == i {
		s = append(s, 0, 0)
		copy(s[i+2:], s[i:])
	} else {
		s = append(s[:i+2], s[n:]...)
	}
	s[i], s[i+1] = lo, hi
	return s
}

// include adds all of another set.
func (s set) include(other set) set {
	for i := 0; i < len(other); i += 2 {
		s = s.add(other[i], other[i+1])
	}
	return s
}

// inverse is a new set of all other runes.
func (s set) inverse() set {
	var out set
	next := rune(0)
	for i := 0; i < len(s); i += 2 {
		out = out.add(next, s[i]-1)
		next = s[i+1] + 1
	}
	return out.add(next, unicode.MaxRune)
}

// fold adds what differs from a rune of the set by its case only. Whatever does is
// in CaseRanges, but for the small form of one letter. To go through those 2,900
// runes keeps large sets cheap.
func (s set) fold() set {
	if len(s) == 0 {
		return s
	}
	if s.has('ß') {
		s = s.add('ẞ', 'ẞ')
	}
	first, last := s[0], s[len(s)-1]
	for i := range unicode.CaseRanges {
		c := &unicode.CaseRanges[i]
		for r := max(first, rune(c.Lo)); r <= min(last, rune(c.Hi)); r++ {
			if s.has(r) {
				for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
					s = s.add(f, f)
				}
			}
		}
	}
	return s
}

// named are the classes of ASCII that have names, \d, \s and \w first, each as
// ranges.
var named = [...]struct{ name, ranges string }{
	{"d", "09"},
	{"s", "\t\n\f\r  "},
	{"w", "09AZ__az"},
	{"alnum", "09AZaz"},
	{"alpha", "AZaz"},
	{"ascii", "\x00\x7f"},
	{"blank", "\t\t  "},
	{"cntrl", "\x00\x1f\x7f\x7f"},
	{"digit", "09"},
	{"graph", "!~"},
	{"lower", "az"},
	{"print", " ~"},
	{"punct", "!/:@[`{~"},
	{"space", "\t\r  "},
	{"upper", "AZ"},
	{"word", "09AZ__az"},
	{"xdigit", "09AFaf"},
}

// namedSet is a new set of the runes of such a class, or nil.
func namedSet(name string) set {
	for i := range named {
		if c := &named[i]; c.name == name {
			var s set
			for i := 0; i < len(c.ranges); i += 2 {
				s = s.add(rune(c.ranges[i]), rune(c.ranges[i+1]))
			}
			return s
		}
	}
	return nil
}
