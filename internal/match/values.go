package match

import (
	"errors"
	"regexp"
	"regexp/syntax"

	"sluice/internal/source"
)

// common are the alternatives that every condition knows.
type common struct {
	src     source.Source
	texts   []string
	present bool
	absent  bool
	regexps []*regexp.Regexp
}

func (c *common) Source() source.Source { return c.src }

func (c *common) String() string { return describe(c.src, c.texts) }

// Bounds on a regular expression: its text, and what it compiles to. What a
// value costs grows with both.
const (
	maxRegexp      = 1024 // bytes
	maxRegexpSteps = 2000
)

func compileRegexp(text string) (*regexp.Regexp, error) {
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
	return regexp.Compile(text)
}

// take compiles text if it is one of the common alternatives. flags stand
// before every regular expression.
func (c *common) take(i int, text, flags string) (bool, error) {
	switch {
	case text == "":
		return true, &TextError{i, "a condition's value can't be empty; use absent"}
	case text == "present":
		c.present = true
	case text == "absent":
		c.absent = true
	case text[0] == '~':
		if len(text) > maxRegexp {
			return true, &TextError{i, "a regular expression has at most 1024 bytes"}
		}
		re, err := compileRegexp(flags + text[1:])
		if err != nil {
			return true, &TextError{i, regexpMessage(err)}
		}
		c.regexps = append(c.regexps, re)
	default:
		return false, nil
	}
	return true, nil
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

// any reports whether a common alternative holds for a value.
func (c *common) any(value string, ok bool) bool {
	if !ok {
		return c.absent
	}
	if c.present {
		return true
	}
	for _, re := range c.regexps {
		if re.MatchString(value) {
			return true
		}
	}
	return false
}

// values is a condition of exact values.
type values struct {
	common
	exact set
}

func parseValues(s source.Source, texts []string, _ *source.Options) (Condition, error) {
	c := &values{common: common{src: s, texts: texts}}
	var exact []string
	for i, t := range texts {
		done, err := c.take(i, t, "")
		if err != nil {
			return nil, err
		}
		if !done {
			exact = append(exact, t)
		}
	}
	c.exact = newSet(exact)
	return c, nil
}

func (c *values) Holds(v *source.View) bool {
	s, ok := c.src.Value(v)
	return ok && c.exact.has(s) || c.any(s, ok)
}

// set is a set of strings: a list while that is faster, then a map.
type set struct {
	list []string
	m    map[string]struct{}
}

func newSet(list []string) set {
	s := set{list: list}
	if len(list) > 8 {
		s.m = make(map[string]struct{}, len(list))
		for _, t := range list {
			s.m[t] = struct{}{}
		}
	}
	return s
}

func (s *set) has(t string) bool {
	if s.m != nil {
		_, ok := s.m[t]
		return ok
	}
	for _, e := range s.list {
		if e == t {
			return true
		}
	}
	return false
}
