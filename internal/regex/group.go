package regex

import "strings"

// group opens a group, or sets flags.
func (p *parser) group() {
	outer, at := p.flags, p.i-1
	rest := p.text[at:]
	switch {
	case !strings.HasPrefix(rest, "(?"):
	case len(rest) > 4 && rest[2:4] == "P<":
		p.name(at, at+4)
	case len(rest) > 3 && rest[2] == '<':
		p.name(at, at+3)
	default:
		p.i++
		if p.setFlags(at) {
			return
		}
	}
	p.open = append(p.open, level{flags: outer})
}

// name reads the name of a group that begins at a place.
func (p *parser) name(at, from int) {
	const badName = "invalid named capture"
	end := strings.IndexByte(p.text[from:], '>')
	if end < 0 {
		p.fail(badName, at, len(p.text))
		return
	}
	end += from
	ok := end > from
	for i := from; i < end; i++ {
		ok = ok && isWord(rune(p.text[i]))
	}
	if p.i = end + 1; !ok {
		p.fail(badName, at, p.i)
	}
}

// setFlags reads the flags of a group that begins at a place, up to the colon or
// parenthesis that ends them. It reports whether it was the latter, and no group.
func (p *parser) setFlags(at int) bool {
	flags, off, saw := p.flags, false, true
	for p.i < len(p.text) {
		c := p.next()
		switch c {
		case '-':
			if off {
				p.fail(badFlags, at, p.i)
			}
			off, saw = true, false
			continue
		case ':', ')':
			if !saw {
				p.fail(badFlags, at, p.i)
			}
			p.flags = flags
			return c == ')'
		}
		flag := strings.IndexByte(flagLetters, byte(c))
		if c > 'z' || flag < 0 {
			p.fail(badFlags, at, p.i)
			return false
		}
		saw = true
		flags |= 1 << flag
		if off {
			flags &^= 1 << flag
		}
	}
	p.fail(badFlags, at, p.i)
	return false
}

const (
	badFlags    = "invalid or unsupported Perl syntax"
	flagLetters = "imsU" // in the order of their bits
)
