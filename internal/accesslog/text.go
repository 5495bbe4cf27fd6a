package accesslog

import (
	"slices"
	"strings"
)

// Parser reads lines of one format.
type Parser interface {
	// Parse reads a line into r. An error is a reason to skip the line; short
	// says that the line broke off and was read as far as it goes.
	Parse(line string, r *Record) (short bool, err error)
	// Fields lists what lines can say: of a text format always the same, of JSON
	// lines what was seen so far.
	Fields() []Field
	// Name is the format as a person calls it.
	Name() string
	// WholeSeconds reports whether times are no finer than a second.
	WholeSeconds() bool
}

// textFormat is a line as fields with fixed text between them.
type textFormat struct {
	name    string
	head    string // before the first field
	steps   []step
	escapes bool // values hold \" and \x22
	atEnd   bool
	whole   bool
	needed  int // steps without which a line is no request
}

type step struct {
	field  Field
	until  string // what follows the field; "" for the line's end
	quoted bool   // the field is in quotes
}

func (f *textFormat) Name() string { return f.name }

func (f *textFormat) WholeSeconds() bool { return f.whole }

func (f *textFormat) Fields() []Field {
	var out []Field
	for i := range f.steps {
		out = append(out, f.steps[i].field)
	}
	return out
}

// Parse is Parser.
func (f *textFormat) Parse(line string, r *Record) (short bool, err error) {
	r.reset()
	rest, ok := strings.CutPrefix(line, f.head)
	if !ok {
		return false, errShape
	}
	for i := range f.steps {
		s := &f.steps[i]
		var v string
		if s.until == "" {
			v, rest = rest, ""
		} else {
			var end int
			if i == len(f.steps)-1 && strings.HasSuffix(rest, s.until) {
				end = len(rest) - len(s.until) // what is before the line's end is the field's
			} else {
				end = s.end(rest, f.escapes)
			}
			if end < 0 {
				if i < f.needed {
					if s.quoted {
						return false, errQuote
					}
					return false, errShape
				}
				// The line breaks off: all that makes a request was there.
				short = true
				v, rest = rest, ""
				if s.quoted || !strings.ContainsAny(s.until, " \t") {
					v = strings.TrimSuffix(v, `"`)
				}
			} else {
				v, rest = rest[:end], rest[end+len(s.until):]
			}
		}
		if f.escapes && strings.IndexByte(v, '\\') >= 0 {
			v = unescape(v)
		}
		if err := r.set(&s.field, v); err != nil {
			return false, err
		}
		if short {
			break
		}
	}
	return short, r.finish(f.atEnd)
}

// end is where the field ends in rest, or -1. In quotes an escaped quote doesn't
// end it, unless no other does.
func (s *step) end(rest string, escapes bool) int {
	first := strings.Index(rest, s.until)
	if first < 0 || !s.quoted || !escapes {
		return first
	}
	for i := first; ; {
		slashes := 0
		for slashes < i && rest[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i
		}
		next := strings.Index(rest[i+1:], s.until)
		if next < 0 {
			return first
		}
		i += 1 + next
	}
}

// unescape undoes what nginx and Apache do to bytes that could end a field.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		switch s[i] {
		case 'x':
			if i+2 < len(s) {
				hi, lo := unhex(s[i+1]), unhex(s[i+2])
				if hi < 16 && lo < 16 {
					b.WriteByte(hi<<4 | lo)
					i += 2
					continue
				}
			}
			b.WriteString(`\x`)
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func unhex(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// piece is a part of a format string: fixed text, or a field.
type piece struct {
	text  string
	field *Field // nil for text
}

// newText makes a format of its pieces.
func newText(name string, pieces []piece) (*textFormat, error) {
	f := &textFormat{name: name}
	var fields, time bool
	finest := uint8(0)
	for _, p := range pieces {
		if p.field == nil {
			if !fields {
				f.head += p.text
			} else {
				f.steps[len(f.steps)-1].until += p.text
			}
			continue
		}
		before := f.head
		if fields {
			last := &f.steps[len(f.steps)-1]
			if before = last.until; before == "" {
				return nil, FormatError("two fields with nothing between them can't be told apart")
			}
		}
		f.steps = append(f.steps, step{field: *p.field, quoted: strings.HasSuffix(before, `"`)})
		fields = true
		if p.field.Kind == Time {
			time = true
			if p.field.rank > finest {
				finest, f.atEnd = p.field.rank, p.field.atEnd
			}
		}
	}
	if !fields {
		return nil, FormatError("a format without any field: nginx writes them $name, Envoy %NAME%")
	}
	if !time {
		return nil, FormatError("a format without a time: $time_local, $time_iso8601 or $msec of nginx, %START_TIME% of Envoy")
	}
	timed := slices.ContainsFunc(f.steps, func(s step) bool {
		return s.field.Kind == DurationMS || s.field.Kind == DurationS
	})
	// The end less the duration is finer than a second.
	f.whole = finest == wholeSeconds && !(f.atEnd && timed)
	request := false
	for i := range f.steps {
		s := &f.steps[i]
		s.quoted = s.quoted && strings.HasPrefix(s.until, `"`)
		switch s.field.Kind {
		case RequestLine, Method, Path, PathAlone:
			request = true
			f.needed = i + 1
		case Time:
			f.needed = i + 1
		}
	}
	if !request {
		return nil, FormatError("a format without a request: $request of nginx, %REQ(:METHOD)% and %REQ(:PATH)% of Envoy")
	}
	return f, nil
}

// FormatError is why a format can't be used.
type FormatError string

func (e FormatError) Error() string { return string(e) }
