package regex

// A fragment is the steps of a part of an expression. Each says where it leads
// counted from itself, so that fragments can be copied and put one behind another
// as they are; to lead to the fragment's length is to leave it.

// redirect has a step that leads to one place lead to another.
//
//go:noinline
func (s *step) redirect(from, to int) {
	if int(s.out) == from {
		s.out = int32(to)
	}
	if s.kind == fork && int(s.lo) == from {
		s.lo = rune(to)
	}
}

//go:noinline
func forkTo(other int) step { return step{kind: fork, out: 1, lo: rune(other)} }

// skips reports whether a fragment's first step can also leave it: what quest
// and star make.
//
//go:noinline
func skips(f []step) bool {
	return len(f) > 0 && f[0].kind == fork && int(f[0].lo) == len(f)
}

// quest makes f?.
//
//go:noinline
func quest(f []step) []step {
	if len(f) == 0 || skips(f) {
		return f
	}
	return join([]step{forkTo(len(f) + 1)}, f)
}

// star makes f*, and may change f.
func star(f []step) []step {
	f = quest(f)
	for i := 1; i < len(f); i++ {
		f[i].redirect(len(f)-i, -i)
	}
	return f
}

// plus makes f+, and may change f.
func plus(f []step) []step {
	n := len(f)
	if n == 0 || skips(f) {
		return star(f)
	}
	if last := &f[n-1]; last.kind == fork && int(last.out) == 1-n {
		return f // it is one already
	}
	return join(f, []step{{kind: fork, out: int32(-n), lo: 1}})
}

// repeat makes f{least,most}, most being -1 for any number, and may change f. It
// reports false if that is too much.
func repeat(f []step, least, most int) ([]step, bool) {
	if len(f) == 0 || most == 0 {
		return nil, true
	}
	if skips(f) {
		if most < 0 {
			return star(f), true
		}
		least = most // each of them may be nothing
	}
	if most < 0 {
		if least == 0 {
			return star(f), true
		}
		if least*len(f) > MaxSteps {
			return nil, false
		}
		return join(repeated(f, least-1, least-1), plus(f)), true
	}
	if most*len(f)+most-least > MaxSteps {
		return nil, false
	}
	return repeated(f, least, most), true
}

// repeated is f as often as least, and up to most, in a row.
func repeated(f []step, least, most int) []step {
	var out []step
	total := most*len(f) + most - least
	for i := range most {
		if i >= least {
			out = join(out, []step{forkTo(total - len(out))})
		}
		out = join(out, f)
	}
	return out
}

// join is append. Each place that has it inlined is some 300 bytes of code.
//
//go:noinline
func join(f, g []step) []step { return append(f, g...) }
