package source

import (
	"errors"
	"strings"
)

// Source reads one part of a request.
type Source interface {
	// Value returns the part as text, and false when the request lacks it. An
	// empty value is a missing one, so a true comes with at least one byte. The
	// text may point into what the Request returned and into v: it is valid
	// until v is Reset.
	Value(v *View) (string, bool)
	// String is the source as a configuration writes it; Parse reads it back.
	String() string
}

// Appender is a Source that can write its value without making a string of it.
type Appender interface {
	// AppendValue appends what Value would return.
	AppendValue(dst []byte, v *View) ([]byte, bool)
}

// Attributed is a Source that reads attributes of the proxy rather than
// headers. Each attribute costs a host call.
type Attributed interface {
	// Attributes lists the paths that Value may ask for, elements joined by NUL.
	Attributes(o *Options) []string
}

// Kind describes one kind of source. Each lives in one file, which registers it.
type Kind struct {
	Name    string // the part before the separator
	Sep     byte   // what stands between name and argument; 0 when it takes none
	Bare    bool   // it can be written without an argument
	Arg     string // placeholder of the argument in the reference
	Doc     string // one line for the reference
	Example string
	Parse   func(arg string) (Source, error)
}

var kinds []*Kind

// register adds a kind; each kind's file calls it once.
func register(k Kind) { kinds = append(kinds, &k) }

// Kinds lists every kind of source, in a stable order.
func Kinds() []*Kind { return kinds }

// maxText bounds a source's text in a configuration, bytes.
const maxText = 512

// Parse reads a source as a configuration writes it: a name, for most kinds
// followed by a separator and an argument.
func Parse(text string) (Source, error) {
	if len(text) > maxText {
		return nil, errors.New("a source has at most 512 bytes")
	}
	end := 0
	for end < len(text) && (text[end] == '_' || 'a' <= text[end] && text[end] <= 'z') {
		end++
	}
	name, rest := text[:end], text[end:]
	known := false
	for _, k := range kinds {
		if k.Name != name {
			continue
		}
		known = true
		if rest == "" {
			if k.Bare {
				return k.Parse("")
			}
			continue
		}
		if k.Sep == 0 || rest[0] != k.Sep {
			continue
		}
		if rest = rest[1:]; rest == "" {
			return nil, errors.New(name + " needs " + k.Arg + " after the " + string(k.Sep) + ", such as " + k.Example)
		}
		return k.Parse(rest)
	}
	if known {
		return nil, errors.New("a source of this kind is written " + forms(name))
	}
	return nil, &UnknownError{Text: text, Name: name}
}

// UnknownError is Parse's error for a name that no kind has.
type UnknownError struct {
	Text string // what was to be parsed
	Name string // its name part
}

func (e *UnknownError) Error() string {
	return "unknown source \"" + e.Text + "\""
}

// forms lists how sources of one name are written.
func forms(name string) string {
	var f []string
	for _, k := range kinds {
		if k.Name == name {
			f = append(f, k.Forms()...)
		}
	}
	return strings.Join(f, " or ")
}

// Forms lists the ways in which sources of this kind are written.
func (k *Kind) Forms() []string {
	var f []string
	if k.Bare {
		f = append(f, k.Name)
	}
	if k.Sep != 0 {
		f = append(f, k.Name+string(k.Sep)+k.Arg)
	}
	return f
}

// present turns an empty value into a missing one.
func present(s string, ok bool) (string, bool) {
	if !ok || s == "" {
		return "", false
	}
	return s, true
}
