// Package usage finds the number that an answer's body states about itself: a
// path into its JSON, or into the last server-sent event that has it, as
// language-model services report tokens. It keeps a bounded part of the body.
package usage

import (
	"bytes"
	"strings"
	"unsafe"

	"sluice/internal/jsontext"
)

// MaxBytes bounds what is kept of a JSON body, or of one event, bytes. A longer
// one states nothing.
const MaxBytes = 256 << 10

// maxDepth bounds the nesting of JSON that is looked into.
const maxDepth = 64

// Reader takes a body in pieces. The zero Reader reads nothing; use New.
type Reader struct {
	path   string
	events bool
	buf    []byte
	over   bool // the body or the event at hand is too long
	value  int64
	found  bool
}

// New returns a Reader for a path of names and positions with dots. contentType
// tells a stream of events from one JSON text.
func New(path, contentType string) *Reader {
	t, _, _ := strings.Cut(contentType, ";")
	return &Reader{path: path, events: strings.EqualFold(strings.TrimSpace(t), "text/event-stream")}
}

// Write takes the next piece of the body; it isn't kept.
func (r *Reader) Write(p []byte) {
	if !r.events {
		r.keep(p)
		return
	}
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			r.keep(p)
			return
		}
		r.keep(p[:i])
		r.line()
		p = p[i+1:]
	}
}

// keep adds to what waits to be read.
func (r *Reader) keep(p []byte) {
	if r.over || len(r.buf)+len(p) > MaxBytes {
		r.over, r.buf = true, r.buf[:0]
		return
	}
	r.buf = append(r.buf, p...)
}

// line reads one line of a stream of events: of an event's data, which may be
// spread over several lines, each is tried alone, since services that report
// usage write an event's JSON on one.
func (r *Reader) line() {
	line := r.buf
	for len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok && !r.over {
		for len(data) > 0 && data[0] == ' ' {
			data = data[1:]
		}
		r.look(data)
	}
	r.buf, r.over = r.buf[:0], false
}

// Value returns the number, whole and at least 0; false when there is none. Call
// it after the last Write.
func (r *Reader) Value() (int64, bool) {
	if r.events {
		r.line() // one that ended without a line feed
	} else if !r.over {
		r.look(r.buf)
	}
	return r.value, r.found
}

// look takes the number out of one JSON text, if it has it.
func (r *Reader) look(json []byte) {
	if len(json) == 0 || json[0] != '{' && json[0] != '[' || tooDeep(json) {
		return
	}
	// Not a copy of it, since nothing of the text is kept. Nor is its end looked for:
	// what the path leads to may come long before.
	v := &jsontext.Value{Kind: jsontext.Object, Raw: unsafe.String(unsafe.SliceData(json), len(json))}
	if json[0] == '[' {
		v.Kind = jsontext.List
	}
	if n, ok := follow(v, r.path).Whole(); ok && n >= 0 && n <= 1<<48 {
		r.value, r.found = n, true
	}
}

// follow returns the value that a path leads to; an absent one if there is none.
func follow(v *jsontext.Value, path string) *jsontext.Value {
	for more := true; more; {
		var name string
		name, path, more = strings.Cut(path, ".")
		if v.Kind == jsontext.List {
			v = item(v, name)
		} else {
			v = v.Get(name)
		}
	}
	return v
}

// item returns the item of a list that a decimal number names, counted from 0.
func item(list *jsontext.Value, number string) *jsontext.Value {
	n := 0
	for i := 0; i < len(number); i++ {
		if number[i] < '0' || number[i] > '9' || n > MaxBytes {
			return new(jsontext.Value)
		}
		n = n*10 + int(number[i]-'0')
	}
	c := list.Items()
	for c.Next() {
		if n == 0 {
			return &c.Item
		}
		n--
	}
	return new(jsontext.Value)
}

// tooDeep reports whether a JSON text nests deeper than maxDepth.
func tooDeep(json []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(json); i++ {
		switch c := json[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
