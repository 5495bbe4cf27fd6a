package source

import (
	"errors"
	"strings"
)

// Template is a path pattern made of segments: literal ones and {name}, which
// stands for any one segment. A final * stands for any number of segments.
type Template struct {
	text     string
	segments []segment
	tail     bool // ends with /*
}

type segment struct {
	text string // the literal, or the parameter's name
	any  bool
}

// maxSegments bounds a template's length, segments.
const maxSegments = 64

// ParseTemplate reads an exact path, a path that ends in /*, or either with
// {name} segments. Literal parts are normalised as requests' paths are.
func ParseTemplate(text string, o *Options) (*Template, error) {
	if text == "" || text[0] != '/' {
		return nil, errors.New("a path begins with /")
	}
	if strings.ContainsAny(text, "?#") {
		return nil, errors.New("a path has no query and no fragment")
	}
	t := &Template{text: text}
	body, tail := strings.CutSuffix(text, "/*")
	t.tail = tail
	// Parameters survive normalising as segments that no literal can be: a
	// slash never stands within one, so a NUL before the name marks it.
	var names []string
	parts := strings.Split(body, "/")
	for i, p := range parts {
		if strings.ContainsAny(p, "{}") {
			if len(p) < 3 || p[0] != '{' || p[len(p)-1] != '}' || !ident(p[1:len(p)-1]) {
				return nil, errors.New("a parameter is a whole segment, such as /users/{id}")
			}
			for _, n := range names {
				if n == p[1:len(p)-1] {
					return nil, errors.New("{" + n + "} is there twice")
				}
			}
			names = append(names, p[1:len(p)-1])
			parts[i] = paramMark
		} else if strings.Contains(p, "*") {
			return nil, errors.New("* stands only at the end, as /*; use {name} for one segment or ~regex")
		} else if strings.ContainsAny(p, "\x00") {
			return nil, errors.New("a path has no NUL")
		}
	}
	norm := strings.Join(parts, "/")
	if tail {
		norm = NormalizePath(norm+"/", &Options{IgnoreCase: o != nil && o.IgnoreCase, IgnoreTrailingSlash: true})
		norm = strings.TrimSuffix(norm, "/")
	} else {
		norm = NormalizePath(norm, o)
	}
	if norm != "" {
		for _, p := range strings.Split(norm[1:], "/") {
			if p == paramMark && len(names) > 0 {
				t.segments = append(t.segments, segment{names[0], true})
				names = names[1:]
				continue
			}
			t.segments = append(t.segments, segment{p, false})
		}
	}
	if len(names) > 0 {
		return nil, errors.New("after a parameter there can't be a .. segment")
	}
	if len(t.segments) > maxSegments {
		return nil, errors.New("a path has at most 64 segments")
	}
	return t, nil
}

const paramMark = "\x00"

// ident reports whether s can name a parameter.
func ident(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-') {
			return false
		}
	}
	return s != ""
}

func (t *Template) String() string { return t.text }

// Shape is the same for templates that match the same paths.
func (t *Template) Shape() string {
	var b strings.Builder
	for _, s := range t.segments {
		b.WriteByte('/')
		if s.any {
			b.WriteString(paramMark)
		} else {
			b.WriteString(s.text)
		}
	}
	if t.tail {
		b.WriteString("/*")
	}
	return b.String()
}

// Matches reports whether a normalised path fits.
func (t *Template) Matches(path string) bool {
	if path == "" || path[0] != '/' {
		return false
	}
	rest, more := path[1:], true
	for _, s := range t.segments {
		if !more {
			return false
		}
		var seg string
		seg, rest, more = cutSegment(rest)
		if s.any {
			if seg == "" {
				return false
			}
		} else if seg != s.text {
			return false
		}
	}
	return t.tail || !more
}

// cutSegment takes the first segment off a path without its leading slash.
func cutSegment(p string) (seg, rest string, more bool) {
	if i := strings.IndexByte(p, '/'); i >= 0 {
		return p[:i], p[i+1:], true
	}
	return p, "", false
}

// Segments returns how many segments t has before a final /*.
func (t *Template) Segments() int { return len(t.segments) }

// Segment returns the literal of segment i, counted from 0, or any for a
// parameter.
func (t *Template) Segment(i int) (literal string, any bool) {
	s := t.segments[i]
	if s.any {
		return "", true
	}
	return s.text, false
}

// Tail reports whether t ends with /*.
func (t *Template) Tail() bool { return t.tail }

// Param returns the segment that a parameter stands for, counted from 1, or 0
// when t has no such parameter.
func (t *Template) Param(name string) int {
	for i, s := range t.segments {
		if s.any && s.text == name {
			return i + 1
		}
	}
	return 0
}
