package match

import (
	"sluice/internal/regex"
	"sluice/internal/source"
)

// maxRegexp is how many bytes a regular expression may have. What a value costs
// grows with them, and with the steps that package regex bounds.
const maxRegexp = 1024

// common are the alternatives that every condition knows.
type common struct {
	src     source.Source
	texts   []string
	present bool
	absent  bool
	regexps []*regex.Regex
}

func (c *common) Source() source.Source { return c.src }

func (c *common) String() string { return describe(c.src, c.texts) }

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
		re, err := regex.Compile(flags + text[1:])
		if err != nil {
			return true, &TextError{i, "bad regular expression: " + err.Error()}
		}
		c.regexps = append(c.regexps, re)
	default:
		return false, nil
	}
	return true, nil
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
