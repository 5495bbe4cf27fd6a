package config

import (
	"sort"
	"strconv"
	"strings"
)

// Error is one thing that is wrong with a configuration.
type Error struct {
	// Path names the place: redis.timeout, limits[2].rate; "" for the whole.
	Path    string
	Message string
	// Suggestion is what was probably meant, or "".
	Suggestion string
	// Offset is where the place begins in the text given to Parse, bytes.
	Offset int
}

func (e Error) Error() string {
	out := e.Message
	if e.Path != "" {
		out = e.Path + ": " + out
	}
	if e.Suggestion != "" {
		out += " (did you mean " + e.Suggestion + "?)"
	}
	return out
}

// Errors are all that is wrong, in the order of their places in the text.
type Errors []Error

// Error lists the errors, one a line.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i := range e {
		lines[i] = e[i].Error()
	}
	return strings.Join(lines, "\n")
}

// maxErrors bounds how many errors one Parse reports.
const maxErrors = 100

// finish sorts the errors by place and cuts the list.
func (e Errors) finish(total int) Errors {
	sort.Stable(byOffset(e))
	if total > len(e) {
		e = append(e, Error{Message: "and " + strconv.Itoa(total-len(e)) + " more errors", Offset: e[len(e)-1].Offset})
	}
	return e
}

// byOffset sorts errors. Functions that sort any slice bring reflection, or code
// for each type, into the module; a type of its own doesn't.
type byOffset []Error

func (l byOffset) Len() int           { return len(l) }
func (l byOffset) Less(i, j int) bool { return l[i].Offset < l[j].Offset }
func (l byOffset) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// FieldPath is the path of an object's field. A name with characters that paths
// use themselves is quoted: match["header:a.b"].
func FieldPath(parent, name string) string {
	plain := name != ""
	for i := 0; i < len(name) && plain; i++ {
		c := name[i]
		plain = '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' || c == '-' || c == ':' || c == '/' || c == ','
	}
	if !plain {
		return parent + "[" + strconv.Quote(name) + "]"
	}
	if parent == "" {
		return name
	}
	return parent + "." + name
}

// ItemPath is the path of a list's item, counted from 0.
func ItemPath(parent string, i int) string {
	return parent + "[" + strconv.Itoa(i) + "]"
}

// Position turns an offset into a line and a column of text, both counted from
// 1; the column counts characters.
func Position(text []byte, offset int) (line, column int) {
	if offset > len(text) {
		offset = len(text)
	}
	line, column = 1, 1
	for _, r := range string(text[:offset]) {
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}
