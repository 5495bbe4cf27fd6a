package regex

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// backslash reads what a backslash, which was read, begins outside of classes.
func (p *parser) backslash() {
	at := p.i
	edge := rune(0)
	if at < len(p.text) {
		switch p.text[at] {
		case 'A':
			edge = beginText
		case 'z':
			edge = endText
		case 'b':
			edge = wordEdge
		case 'B':
			edge = noWordEdge
		case 'Q':
			p.quoted()
			return
		}
	}
	if edge != 0 {
		p.i++
		p.add(step{kind: look, out: 1, lo: edge})
	} else if s, ok := p.escapedClass(nil); ok {
		p.add(p.take(s))
	} else {
		p.literal(p.escaped())
	}
}

// quoted reads what stands between \Q and \E or the end.
func (p *parser) quoted() {
	p.i++
	n := strings.Index(p.text[p.i:], `\E`)
	end := p.i + n
	if n < 0 {
		end = len(p.text)
	}
	for p.i < end {
		p.literal(p.next())
	}
	if n >= 0 && p.err == nil {
		p.i += 2
	}
}

// escaped reads a character that a backslash, which was read, stands before.
func (p *parser) escaped() rune {
	at := p.i - 1
	if p.i == len(p.text) {
		p.fail("trailing backslash at end of expression", p.i, p.i)
		return 0
	}
	c := p.next()
	if c < utf8.RuneSelf {
		if !isAlnum(c) {
			return c
		}
		const letters = "a\af\fn\nr\rt\tv\v"
		if i := strings.IndexByte(letters, byte(c)); i >= 0 {
			return rune(letters[i+1])
		}
	}
	r := rune(-1)
	if c == 'x' {
		r = p.hex()
	} else if c == '0' || '1' <= c && c <= '7' && p.octal() {
		r = c - '0'
		for i := 1; i < 3 && p.octal(); i++ {
			r = r*8 + rune(p.text[p.i]-'0')
			p.i++
		}
	}
	if r < 0 {
		p.fail("invalid escape sequence", at, p.i)
	}
	return r
}

// octal reports whether a digit up to 7 comes next.
//
//go:noinline
func (p *parser) octal() bool {
	return p.i < len(p.text) && '0' <= p.text[p.i] && p.text[p.i] <= '7'
}

// hex reads two hexadecimal digits, or any number of them in braces. Anything else
// is -1.
func (p *parser) hex() rune {
	if p.i == len(p.text) {
		return -1
	}
	c := p.next()
	if c != '{' {
		low := p.next()
		return digit(c)<<4 | digit(low)
	}
	r := rune(0)
	for digits := false; p.i < len(p.text); digits = true {
		if c = p.next(); c == '}' && digits {
			return r
		}
		if r = r<<4 | digit(c); r < 0 || r > unicode.MaxRune {
			break
		}
	}
	return -1
}

// digit is a hexadecimal digit's value, or -1.
//
//go:noinline
func digit(c rune) rune {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return -1
}
