package regex

import "strings"

const badRange = "invalid character class range"

// class reads a class in brackets, the first of which was read.
func (p *parser) class() {
	at := p.i - 1
	negated := p.has('^')
	var s set
	for first := true; p.err == nil && (first || !p.has(']')); first = false {
		s = p.classItem(s, at)
	}
	if p.flags&foldCase != 0 {
		s = s.fold()
	}
	if negated {
		s = s.inverse()
	}
	p.add(p.take(s))
}

// classItem adds the next of the class that begins at a place to a set: another
// class, a character or a range.
func (p *parser) classItem(s set, class int) set {
	at := p.i
	rest := p.text[at:]
	if strings.HasPrefix(rest, "[:") {
		if end := strings.Index(rest[2:], ":]"); end >= 0 {
			p.i += 2 + end + 2
			name, negated := strings.CutPrefix(rest[2:2+end], "^")
			other := namedSet(name)
			if other == nil || len(name) == 1 { // which is a backslash's
				p.fail(badRange, at, p.i)
			}
			return p.include(s, other, negated)
		}
	}
	if p.has('\\') {
		if s, ok := p.escapedClass(s); ok {
			return s
		}
		p.i--
	}
	lo := p.classRune(class)
	hi := lo
	if rest := p.text[p.i:]; len(rest) >= 2 && rest[0] == '-' && rest[1] != ']' {
		p.i++
		if hi = p.classRune(class); hi < lo {
			p.fail(badRange, at, p.i)
		}
	}
	return s.add(lo, hi)
}

// classRune reads a character of the class that begins at a place.
func (p *parser) classRune(class int) rune {
	if p.i == len(p.text) {
		p.fail("missing closing ]", class, p.i)
	}
	if p.has('\\') {
		return p.escaped()
	}
	return p.next()
}

// include adds a class as the flags have it to s, or all but it.
func (p *parser) include(s, class set, negated bool) set {
	if p.flags&foldCase != 0 {
		class = class.fold()
	}
	if negated {
		class = class.inverse()
	}
	return s.include(class)
}

// escapedClass adds the class that a backslash, which was read, begins, to a set.
// It reports false if another thing comes next.
func (p *parser) escapedClass(s set) (set, bool) {
	at := p.i
	if at == len(p.text) {
		return nil, false
	}
	c := p.text[at]
	negated := c&0x20 == 0
	const short = "dsw"
	if i := strings.IndexByte(short, c|0x20); i >= 0 {
		p.i++
		return p.include(s, namedSet(short[i:i+1]), negated), true
	}
	if c|0x20 != 'p' {
		return nil, false
	}
	from := at + 1
	p.i++
	var end int
	if p.next() == '{' {
		from++
		if end = strings.IndexByte(p.text[from:], '}'); end < 0 {
			p.fail(badRange, at-1, len(p.text))
			return s, true
		}
		end += from
		p.i = end + 1
	} else {
		end = p.i
	}
	name, inverse := strings.CutPrefix(p.text[from:end], "^")
	class := unicodeSet(name)
	if class == nil {
		p.fail(badRange, at-1, p.i)
	}
	return p.include(s, class, negated != inverse), true
}
