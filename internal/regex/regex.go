// Package regex says whether a regular expression fits a part of a text, and
// nothing else: not where, nor what its groups hold. Syntax and meaning are RE2's,
// as package regexp has them. Groups in groups don't recurse, and a match costs at
// most the length of its text times MaxSteps.
package regex

import "errors"

// MaxSteps is how many steps an expression may come to. A character or a class is
// one, each alternative and each repetition one more, and what is repeated by
// number counts as often as that.
const MaxSteps = 2000

var errMuch = errors.New("it repeats too much")

// Regex is a compiled expression. It is immutable.
type Regex struct {
	steps    []step
	sets     []set
	anchored bool // it fits only from the beginning
	around   bool // it looks at the runes around a place, not only for the text's ends
}

// step is one step of a program, or of a fragment of one.
type step struct {
	kind   uint8
	out    int32 // where it leads: in a fragment counted from the step itself, in a program from the first
	lo, hi rune
}

// Kinds of steps.
const (
	takeRange = iota // takes a rune from lo to hi
	takeSet          // takes a rune of the set number lo
	fork             // leads to lo as well, which counts as out does
	look             // leads on where all conditions in lo hold
	fit              // the expression fits
)

// Conditions on the runes before and after a place.
const (
	beginLine = 1 << iota
	endLine
	beginText
	endText
	wordEdge
	noWordEdge
)

// Compile reads an expression. An error says what is wrong, and of a wrong syntax
// also where: the part of the text it is about.
func Compile(text string) (*Regex, error) {
	p := parser{text: text, open: make([]level, 1)}
	code := p.parse()
	if p.err != nil {
		return nil, p.err
	}
	x := &Regex{steps: join(code, []step{{kind: fit}}), sets: p.sets}
	if len(x.steps) > MaxSteps {
		return nil, errMuch
	}
	for i := range x.steps {
		s := &x.steps[i]
		s.out += int32(i)
		switch s.kind {
		case fork:
			s.lo += int32(i)
		case look:
			x.around = x.around || s.lo&^(beginText|endText) != 0
		}
	}
	// Conditions in a row hold at the same place.
	for s := &x.steps[0]; s.kind == look && !x.anchored; s = &x.steps[s.out] {
		x.anchored = s.lo&beginText != 0
	}
	return x, nil
}

// fewSteps is up to how many steps a match needs no memory of its own.
const fewSteps = 64

// MatchString reports whether the expression fits a part of s. It follows all
// ways through the expression at once, so that it costs at most the length of s
// times the number of steps.
func (x *Regex) MatchString(s string) bool {
	var few [5 * fewSteps]int32
	room, n := few[:], len(x.steps)
	if n > fewSteps {
		room = make([]int32, 5*n)
	}
	m := matcher{Regex: x, at: room[:n], next: room[n : 2*n], later: room[2*n : 4*n], seen: room[4*n:]}
	before := rune(-1)
	for i, r := range s {
		if m.begin(before, r, i == 0 || !x.anchored) {
			return true
		}
		if m.waiting == 0 && x.anchored {
			return false
		}
		for _, pc := range m.at[:m.waiting] {
			if s := &x.steps[pc]; s.kind == takeRange && s.lo <= r && r <= s.hi || s.kind == takeSet && x.sets[s.lo].has(r) {
				m.next[m.coming] = s.out
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
	*Regex
	at      []int32 // steps that wait for the next rune,
	waiting int     // and how many
	next    []int32 // steps that come after the last rune,
	coming  int     // and how many
	later   []int32 // steps that follow has still to look at: each step once names two
	seen    []int32 // for each step the last place that it was come by at,
	place   int32   // of which this is the number
}

// begin moves to the place between two runes, -1 for none, where a match may
// start or not. It reports whether the expression fits up to here.
func (m *matcher) begin(before, after rune, start bool) bool {
	holds := conditions(before, after, m.around)
	m.waiting = 0
	m.place++
	if start && m.follow(0, holds) {
		return true
	}
	for _, pc := range m.next[:m.coming] {
		if m.follow(pc, holds) {
			return true
		}
	}
	m.coming = 0
	return false
}

// conditions are those that hold between two runes: of lines and words only if
// asked for.
func conditions(before, after rune, around bool) rune {
	var holds rune
	if before < 0 {
		holds = beginText | beginLine
	}
	if after < 0 {
		holds |= endText | endLine
	}
	if !around {
		return holds
	}
	if before == '\n' {
		holds |= beginLine
	}
	if after == '\n' {
		holds |= endLine
	}
	if isWord(before) != isWord(after) {
		return holds | wordEdge
	}
	return holds | noWordEdge
}

func isWord(r rune) bool { return r == '_' || isAlnum(r) }

//go:noinline
func isAlnum(r rune) bool {
	return '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
}

// follow notes the steps that a step leads to without taking a rune, at a place
// of which these conditions hold. It reports whether one of them is the end.
func (m *matcher) follow(pc int32, holds rune) bool {
	m.later[0] = pc
	for left := 1; left > 0; {
		left--
		pc := m.later[left]
		if m.seen[pc] == m.place {
			continue
		}
		m.seen[pc] = m.place
		switch s := &m.steps[pc]; s.kind {
		case fit:
			return true
		case fork:
			m.later[left], m.later[left+1] = s.lo, s.out
			left += 2
		case look:
			if s.lo&^holds == 0 {
				m.later[left] = s.out
				left++
			}
		default:
			m.at[m.waiting] = pc
			m.waiting++
		}
	}
	return false
}
