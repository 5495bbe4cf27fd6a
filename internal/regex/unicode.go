package regex

import "strings"

// aliases are other names of the categories.
const aliases = `
Casedletter Lc
Closepunctuation Pe
Cntrl Cc
Combiningmark M
Connectorpunctuation Pc
Control Cc
Currencysymbol Sc
Dashpunctuation Pd
Decimalnumber Nd
Digit Nd
Enclosingmark Me
Finalpunctuation Pf
Format Cf
Initialpunctuation Pi
Letter L
Letternumber Nl
Lineseparator Zl
Lowercaseletter Ll
Mark M
Mathsymbol Sm
Modifierletter Lm
Modifiersymbol Sk
Nonspacingmark Mn
Number N
Openpunctuation Ps
Other C
Otherletter Lo
Othernumber No
Otherpunctuation Po
Othersymbol So
Paragraphseparator Zp
Privateuse Co
Punct P
Punctuation P
Separator Z
Spaceseparator Zs
Spacingmark Mc
Surrogate Cs
Symbol S
Titlecaseletter Lt
Unassigned Cn
Uppercaseletter Lu
`

// unicodeSet is a new set of the runes of a category or script, or nil. Case,
// spaces, underscores and hyphens in the name don't matter.
func unicodeSet(name string) set {
	name = plainName(name)
	if i := strings.Index(aliases, "\n"+name+" "); i >= 0 {
		name, _, _ = strings.Cut(aliases[i+len(name)+2:], "\n")
	}
	if name == "Assigned" {
		return unicodeSet("Cn").inverse()
	}
	var s set
	for rest := tables; rest != ""; {
		n := int(rest[0])
		entry, at := rest[1:1+n], 1+n+2
		if n > 2 && len(name) == 1 {
			break // all categories were looked at, and one letter is all that begin with it
		}
		end := at + int(rest[at-2]) + int(rest[at-1])<<8
		if entry == name || entry[:1] == name {
			s = s.addRanges(rest[at:end])
		}
		rest = rest[end:]
	}
	return s
}

// addRanges adds what a table lists.
func (s set) addRanges(text string) set {
	number := func() (v rune) {
		for shift := 0; ; shift += 7 {
			c := text[0]
			text = text[1:]
			v |= rune(c&0x7f) << shift
			if c < 0x80 {
				return v
			}
		}
	}
	for last := rune(0); text != ""; {
		lo, n, step := last+number(), number(), rune(1)
		if n&1 != 0 {
			step = number()
		}
		last = lo + n>>1*step
		if step == 1 {
			s = s.add(lo, last)
			continue
		}
		for ; lo <= last; lo += step {
			s = s.add(lo, lo)
		}
	}
	return s
}

// plainName is a name with its first letter large and the others small, and no
// spaces, underscores and hyphens.
func plainName(name string) string {
	out := make([]byte, 0, len(name))
	for i := range len(name) {
		c := name[i]
		if c == ' ' || c == '_' || c == '-' {
			continue
		}
		switch letter := c | 0x20; {
		case letter < 'a' || letter > 'z':
		case len(out) == 0:
			c = letter - 0x20
		default:
			c = letter
		}
		out = append(out, c)
	}
	return string(out)
}
