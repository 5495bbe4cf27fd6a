package config

import (
	"strconv"
	"unicode/utf8"

	"sluice/internal/jsontext"
)

// Bounds on a configuration's text.
const (
	// MaxBytes is the largest configuration.
	MaxBytes = 1 << 20
	// maxDepth is how deep lists and objects may nest.
	maxDepth = 32
)

// scanner checks that a text is one JSON value of bounded size and depth
// without duplicate keys, which the parser behind it takes for granted.
//
// Small functions that many places call aren't inlined, here and in the parser: their
// copies are a good part of it, in every gateway's memory.
type scanner struct {
	s  string
	at int
	// err is the first error; where is its place.
	err   string
	where int
	// dups are places of keys that an object has twice.
	dups []duplicate
}

type duplicate struct {
	path   string
	name   string
	offset int
}

// checkJSON returns what is wrong with a text as JSON.
func checkJSON(text string) Errors {
	if len(text) > MaxBytes {
		return Errors{{Message: "a configuration has at most " + strconv.Itoa(MaxBytes) + " bytes, this one has " + strconv.Itoa(len(text))}}
	}
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 {
			return Errors{{Message: "not valid JSON: a byte that isn't UTF-8", Offset: i}}
		}
		i += n
	}
	c := scanner{s: text}
	c.space()
	if c.at == len(text) {
		return Errors{{Message: "the configuration is empty"}}
	}
	c.value("", 0)
	c.space()
	if c.err == "" && c.at < len(text) {
		c.fail("text after the end of the configuration")
	}
	if c.err != "" {
		return Errors{{Message: c.err, Offset: c.where}}
	}
	var errs Errors
	for _, d := range c.dups {
		if len(errs) < maxErrors {
			errs = append(errs, Error{Path: FieldPath(d.path, d.name), Message: "given twice", Offset: d.offset})
		}
	}
	return errs
}

//go:noinline
func (c *scanner) fail(msg string) bool {
	if c.err == "" {
		c.err, c.where = "not valid JSON: "+msg, c.at
	}
	return false
}

//go:noinline
func (c *scanner) space() {
	for c.at < len(c.s) {
		switch c.s[c.at] {
		case ' ', '\t', '\n', '\r':
			c.at++
		default:
			return
		}
	}
}

// peek returns the next byte, 0 at the end.
func (c *scanner) peek() byte {
	if c.at < len(c.s) {
		return c.s[c.at]
	}
	return 0
}

func (c *scanner) value(path string, depth int) bool {
	if depth > maxDepth {
		if c.err == "" {
			c.err, c.where = "nested more than "+strconv.Itoa(maxDepth)+" deep", c.at
		}
		return false
	}
	switch b := c.peek(); {
	case c.at == len(c.s):
		return c.fail("it ends too early")
	case b == '{':
		return c.object(path, depth)
	case b == '[':
		return c.array(path, depth)
	case b == '"':
		_, ok := c.text()
		return ok
	case b == '-' || '0' <= b && b <= '9':
		return c.number()
	}
	for _, w := range [...]string{"true", "false", "null"} {
		if len(c.s)-c.at >= len(w) && c.s[c.at:c.at+len(w)] == w {
			c.at += len(w)
			return true
		}
	}
	return c.fail("expected a value")
}

func (c *scanner) object(path string, depth int) bool {
	c.at++
	c.space()
	if c.peek() == '}' {
		c.at++
		return true
	}
	seen := map[string]struct{}{}
	for {
		c.space()
		if c.peek() != '"' {
			return c.fail("expected a field's name in quotes")
		}
		start := c.at
		name, ok := c.text()
		if !ok {
			return false
		}
		if _, dup := seen[name]; dup {
			c.dups = append(c.dups, duplicate{path, name, start})
		}
		seen[name] = struct{}{}
		c.space()
		if c.peek() != ':' {
			return c.fail("expected : after a field's name")
		}
		c.at++
		c.space()
		if !c.value(FieldPath(path, name), depth+1) {
			return false
		}
		c.space()
		switch c.peek() {
		case ',':
			c.at++
		case '}':
			c.at++
			return true
		default:
			return c.fail("expected , or } in an object")
		}
	}
}

func (c *scanner) array(path string, depth int) bool {
	c.at++
	c.space()
	if c.peek() == ']' {
		c.at++
		return true
	}
	for i := 0; ; i++ {
		c.space()
		if !c.value(ItemPath(path, i), depth+1) {
			return false
		}
		c.space()
		switch c.peek() {
		case ',':
			c.at++
		case ']':
			c.at++
			return true
		default:
			return c.fail("expected , or ] in a list")
		}
	}
}

// text reads a string and returns what it stands for.
func (c *scanner) text() (string, bool) {
	start := c.at
	escaped := false
	for c.at++; c.at < len(c.s); c.at++ {
		switch b := c.s[c.at]; {
		case b == '"':
			c.at++
			if escaped {
				return jsontext.Unquote(c.s[start:c.at]), true
			}
			return c.s[start+1 : c.at-1], true
		case b < ' ':
			return "", c.fail("a control character in a text")
		case b == '\\':
			escaped = true
			if !c.escape() {
				return "", c.fail("a bad escape in a text")
			}
		}
	}
	return "", c.fail("a text without its closing quote")
}

// escape steps over the byte after a backslash, and over the first three digits
// of a \u.
func (c *scanner) escape() bool {
	c.at++
	switch c.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		for range 4 {
			c.at++
			b := c.peek()
			if !('0' <= b && b <= '9' || 'a' <= b && b <= 'f' || 'A' <= b && b <= 'F') {
				return false
			}
		}
		return true
	}
	return false
}

func (c *scanner) number() bool {
	if c.peek() == '-' {
		c.at++
	}
	if c.peek() == '0' {
		c.at++
	} else if !c.digits() {
		return c.fail("a bad number")
	}
	if c.peek() == '.' {
		c.at++
		if !c.digits() {
			return c.fail("a bad number")
		}
	}
	if b := c.peek(); b == 'e' || b == 'E' {
		c.at++
		if b := c.peek(); b == '+' || b == '-' {
			c.at++
		}
		if !c.digits() {
			return c.fail("a bad number")
		}
	}
	return true
}

func (c *scanner) digits() bool {
	start := c.at
	for b := c.peek(); '0' <= b && b <= '9'; b = c.peek() {
		c.at++
	}
	return c.at > start
}

// CheckJSON returns what is wrong with a text as JSON, for those who read one before
// Parse does: it is one value of bounded size and depth, without duplicate keys.
func CheckJSON(text []byte) Errors { return checkJSON(string(text)) }
