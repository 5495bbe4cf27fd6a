package match

import (
	"errors"
	"regexp/syntax"
)

// Bounds on a regular expression: its text, and what it compiles to. What a
// value costs grows with both.
const (
	maxRegexp      = 1024 // bytes
	maxRegexpSteps = 2000
)

// regex is a regular expression of which only whether it fits counts. Package
// regexp's own matchers, which also find where, are 90 kB of code; its parser is
// the one that is used. It is immutable.
type regex struct {
	prog     *syntax.Prog
	anchored bool // it fits only from the beginning
	around   bool // it looks at the runes around a place, not only for the text's ends
}

func compileRegexp(text string) (*regex, error) {
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxRegexpSteps {
		return nil, errors.New("it repeats too much")
	}
	x := &regex{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	for i := range prog.Inst {
		inst := &prog.Inst[i]
		x.around = x.around || inst.Op == syntax.InstEmptyWidth && syntax.EmptyOp(inst.Arg)&^(syntax.EmptyBeginText|syntax.EmptyEndText) != 0
	}
	return x, nil
}

// regexpMessage is a compile error without Go's own prefix.
func regexpMessage(err error) string {
	const prefix = "error parsing regexp: "
	m := err.Error()
	if len(m) > len(prefix) && m[:len(prefix)] == prefix {
		m = m[len(prefix):]
	}
	return "bad regular expression: " + m
}

// fewSteps is up to how many steps a match needs no memory of its own.
const fewSteps = 64

// MatchString reports whether the expression fits a part of s. It follows all
// ways through the expression at once, so that it costs at most the length of s
// times the number of steps.
func (x *regex) MatchString(s string) bool {
	var few struct {
		at, next [fewSteps]uint32
		later    [2 * fewSteps]uint32
		seen     [fewSteps / 64]uint64
	}
	m := matcher{regex: x, at: few.at[:], next: few.next[:], later: few.later[:], seen: few.seen[:]}
	if n := len(x.prog.Inst); n > fewSteps {
		m.at, m.next, m.later, m.seen = make([]uint32, n), make([]uint32, n), make([]uint32, 2*n), make([]uint64, (n+63)/64)
	}
	before := rune(-1)
	for i, r := range s {
		if m.begin(before, r, i == 0 || !x.anchored) {
			return true
		}
		if m.waiting == 0 && x.anchored {
			return false
		}
		for _, pc := range m.at[:m.waiting] {
			if inst := &x.prog.Inst[pc]; fits(inst, r) {
				m.next[m.coming] = inst.Out
				m.coming++
			}
		}
		before = r
	}
	return m.begin(before, -1, s == "" || !x.anchored)
}

// matcher is a run of an expression over a text. Its lists have room for every
// step, and keep their length: to append to them would move them to the heap.
type matcher struct {
	*regex
	at      []uint32 // steps that wait for the next rune,
	waiting int      // and how many
	next    []uint32 // steps that come after the last rune,
	coming  int      // and how many
	later   []uint32 // steps that follow has still to look at: each step once names two
	seen    []uint64 // bits: steps that were come by at this place
}

// begin moves to the place between two runes, -1 for none, where a match may
// start or not. It reports whether the expression fits up to here.
func (m *matcher) begin(before, after rune, start bool) bool {
	var empty syntax.EmptyOp
	if m.around {
		empty = syntax.EmptyOpContext(before, after)
	} else {
		if before < 0 {
			empty = syntax.EmptyBeginText
		}
		if after < 0 {
			empty |= syntax.EmptyEndText
		}
	}
	m.waiting = 0
	clear(m.seen)
	if start && m.follow(uint32(m.prog.Start), empty) {
		return true
	}
	for _, pc := range m.next[:m.coming] {
		if m.follow(pc, empty) {
			return true
		}
	}
	m.coming = 0
	return false
}

// follow notes the steps that a step leads to without taking a rune, at a place
// of which these conditions hold. It reports whether one of them is the end.
func (m *matcher) follow(pc uint32, empty syntax.EmptyOp) bool {
	m.later[0] = pc
	for left := 1; left > 0; {
		left--
		pc := m.later[left]
		if m.seen[pc/64]>>(pc%64)&1 != 0 {
			continue
		}
		m.seen[pc/64] |= 1 << (pc % 64)
		switch inst := &m.prog.Inst[pc]; inst.Op {
		case syntax.InstMatch:
			return true
		case syntax.InstAlt, syntax.InstAltMatch:
			m.later[left], m.later[left+1] = inst.Arg, inst.Out
			left += 2
		case syntax.InstCapture, syntax.InstNop:
			m.later[left] = inst.Out
			left++
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^empty == 0 {
				m.later[left] = inst.Out
				left++
			}
		case syntax.InstFail:
		default:
			m.at[m.waiting] = pc
			m.waiting++
		}
	}
	return false
}

// fits reports whether a step that waits for a rune takes this one.
func fits(inst *syntax.Inst, r rune) bool {
	switch inst.Op {
	case syntax.InstRune1:
		return r == inst.Rune[0]
	case syntax.InstRuneAny:
		return true
	case syntax.InstRuneAnyNotNL:
		return r != '\n'
	}
	return inst.MatchRune(r)
}
