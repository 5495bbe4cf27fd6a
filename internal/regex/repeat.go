package regex

// operator reads an operator that repeats. Most is -1 for any number, and least is
// -1 for a number that is far too large. A brace that begins no operator isn't
// read.
func (p *parser) operator() (least, most int, ok bool) {
	at := p.i
	p.i++
	switch p.text[at] {
	case '*':
		return 0, -1, true
	case '+':
		return 1, -1, true
	case '?':
		return 0, 1, true
	}
	least, ok = p.number()
	most = least
	if ok && p.has(',') {
		most = -1
		if p.i < len(p.text) && p.text[p.i] != '}' {
			if most, ok = p.number(); most < 0 {
				least = -1
			}
		}
	}
	if ok && p.has('}') {
		return least, most, true
	}
	p.i = at
	return 0, 0, false
}

// number reads decimal digits, without zeros before them. One far too large is -1.
//
//go:noinline
func (p *parser) number() (v int, ok bool) {
	from := p.i
	for ; p.i < len(p.text) && '0' <= p.text[p.i] && p.text[p.i] <= '9'; p.i++ {
		if v >= 1e8 {
			v = -1
		}
		if v >= 0 {
			v = v*10 + int(p.text[p.i]-'0')
		}
	}
	return v, p.i > from && (p.text[from] != '0' || p.i == from+1)
}

// repeat has the last item repeated by the operator that begins at a place, and
// before which another one ended that began before, or -1.
func (p *parser) repeat(least, most, at, before int) {
	const badCount = "invalid repeat count"
	if least < 0 || least > maxRepeat || most > maxRepeat || most >= 0 && least > most {
		p.fail(badCount, at, p.i)
		return
	}
	p.has('?') // finds others, but fits the same
	if before >= 0 {
		p.fail("invalid nested repetition operator", before, p.i)
		return
	}
	l := p.top()
	if !l.item {
		p.fail("missing argument to repetition operator", at, p.i)
		return
	}
	if most == 0 {
		l.lastSize = size{copies: 1}
	}
	l.lastSize.copies *= max(least, most, 1)
	if l.lastSize.copies > maxRepeat {
		p.fail(badCount, at, p.i)
		return
	}
	code, ok := repeat(l.code[l.last:], least, most)
	l.code = join(l.code[:l.last], code)
	l.lastSize.much = l.lastSize.much || !ok
}
