package regex

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxRepeat is how often something may be repeated by number, all repetitions
// around it together.
const maxRepeat = 1000

// Flags that an expression can set.
const (
	foldCase = 1 << iota
	multiLine
	dotLine // . takes a line's end
	lazy    // finds others, but fits the same
)

// parser reads an expression and makes its code as it goes, with what is open on a
// stack of its own.
type parser struct {
	text  string
	i     int   // how much of it is read: all of it after an error
	err   error // the first
	flags int
	open  []level // the groups that are open, the expression itself first
	sets  []set
}

// level is a group that isn't closed yet.
type level struct {
	flags    int      // those before it
	branches [][]step // the alternatives before this one
	code     []step   // this one
	last     int      // where its last item begins, to which an operator after it applies,
	item     bool     // and whether there is one
	lastSize size
	size     size // of all before that item
}

// size is what is to know of a part of an expression beside its code.
type size struct {
	copies int  // how often something in it is repeated by number
	much   bool // it has more than MaxSteps steps, and its code was thrown away
}

func (s *size) include(other size) {
	s.copies = max(s.copies, other.copies)
	s.much = s.much || other.much
}

// fail ends the reading, with an error about a part of the text.
//
//go:noinline
func (p *parser) fail(what string, from, to int) {
	if p.err == nil {
		p.err = errors.New(what + ": `" + p.text[from:to] + "`")
	}
	p.i = len(p.text)
}

// parse makes the whole expression's code.
func (p *parser) parse() []step {
	for i, r := range p.text {
		if r == utf8.RuneError && !strings.HasPrefix(p.text[i:], "\uFFFD") {
			p.fail("invalid UTF-8", i, len(p.text))
		}
	}
	operator := -1 // where the operator began that ends here, and the one before it
	var before int
	for p.i < len(p.text) {
		before, operator = operator, -1
		at := p.i
		c := p.text[at]
		switch c {
		case '*', '+', '?', '{':
			if least, most, ok := p.operator(); ok {
				operator = at
				p.repeat(least, most, at, before)
				continue
			}
		}
		switch p.i++; c {
		case '(':
			p.group()
		case '|':
			p.branch()
		case ')':
			if len(p.open) == 1 {
				p.fail("unexpected )", 0, len(p.text))
				break
			}
			p.close()
		case '^':
			p.edge(beginText, beginLine)
		case '$':
			p.edge(endText, endLine)
		case '.':
			s := set{0, '\n' - 1, '\n' + 1, unicode.MaxRune}
			if p.flags&dotLine != 0 {
				s = set{0, unicode.MaxRune}
			}
			p.add(p.take(s))
		case '[':
			p.class()
		case '\\':
			p.backslash()
		default:
			p.i--
			p.literal(p.next())
		}
	}
	if len(p.open) > 1 {
		p.fail("missing closing )", 0, len(p.text))
	}
	code, n := p.end()
	if p.err == nil && n.much {
		p.err = errMuch
	}
	return code
}

// next reads a rune. It is utf8.RuneError at the end.
//
//go:noinline
func (p *parser) next() rune {
	r, n := utf8.DecodeRuneInString(p.text[p.i:])
	p.i += n
	return r
}

// has reports whether a byte is the next, and reads it if it is.
//
//go:noinline
func (p *parser) has(c byte) bool {
	ok := p.i < len(p.text) && p.text[p.i] == c
	if ok {
		p.i++
	}
	return ok
}

func (p *parser) top() *level { return &p.open[len(p.open)-1] }

// settle is for when no operator can apply to a level's last item any more.
//
//go:noinline
func (l *level) settle() {
	l.size.include(l.lastSize)
	l.lastSize = size{}
	if len(l.code) > MaxSteps {
		l.size.much = true
	}
	if l.size.much {
		l.code = l.code[:0]
	}
	l.last, l.item = len(l.code), false
}

// add adds an item of one step.
func (p *parser) add(s step) {
	l := p.top()
	l.settle()
	l.code = join(l.code, []step{s})
	l.item, l.lastSize.copies = true, 1
}

func (p *parser) literal(r rune) {
	s := set{r, r}
	if p.flags&foldCase != 0 {
		s = s.fold()
	}
	p.add(p.take(s))
}

// edge adds a condition: that of the text, or of a line if lines are asked for.
func (p *parser) edge(text, line rune) {
	if p.flags&multiLine != 0 {
		text = line
	}
	p.add(step{kind: look, out: 1, lo: text})
}

// branch ends an alternative.
func (p *parser) branch() {
	l := p.top()
	l.settle()
	code, n := l.code, len(l.branches)-1
	if n >= 0 && single(code) && single(l.branches[n]) {
		code = p.both(l.branches[n], code)
		l.branches = l.branches[:n]
	}
	l.branches, l.code, l.last = append(l.branches, code), nil, 0
}

// end makes one of the top level's alternatives.
func (p *parser) end() ([]step, size) {
	p.branch()
	l := p.top()
	n := len(l.branches) - 1
	code := l.branches[n]
	for n--; n >= 0 && !l.size.much; n-- {
		code = p.either(l.branches[n], code)
		l.size.much = len(code) > MaxSteps
	}
	if l.size.much {
		code = nil
	}
	return code, l.size
}

// close makes the top level an item of the one below.
func (p *parser) close() {
	code, n := p.end()
	p.flags = p.top().flags
	p.open = p.open[:len(p.open)-1]
	l := p.top()
	l.settle()
	l.code = join(l.code, code)
	n.copies = max(n.copies, 1)
	l.item, l.lastSize = true, n
}
