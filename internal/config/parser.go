package config

import (
	"sluice/internal/jsontext"
	"sluice/internal/source"
)

// parser is one run over a configuration: where it is, and what was wrong.
type parser struct {
	path  []step
	errs  Errors
	total int // errors found; those past maxErrors aren't kept
	// policy is what is being made; fields that were parsed before can be used.
	policy *Policy
	// scope is what sources of the limit that is being read can refer to.
	scope bindScope
	// rates counts the rates read so far.
	rates int
	// all accepts fields that are marked soon, for tests.
	all bool
}

// step is one element of a path.
type step struct {
	name  string
	index int // of a list's item; -1 for a field
}

//go:noinline
func (p *parser) in(name string) { p.path = append(p.path, step{name: name, index: -1}) }

//go:noinline
func (p *parser) item(i int) { p.path = append(p.path, step{index: i}) }

//go:noinline
func (p *parser) out() { p.path = p.path[:len(p.path)-1] }

func (p *parser) failures() int    { return p.total }
func (p *parser) at() (out string) { return pathText(p.path) }

func pathText(steps []step) string {
	out := ""
	for _, s := range steps {
		if s.index < 0 {
			out = FieldPath(out, s.name)
		} else {
			out = ItemPath(out, s.index)
		}
	}
	return out
}

// fail records an error at the place where the parser is. It returns false.
//
//go:noinline
func (p *parser) fail(v *jsontext.Value, message string) bool {
	return p.suggest(v, message, "")
}

// suggest is fail with what was probably meant.
func (p *parser) suggest(v *jsontext.Value, message, suggestion string) bool {
	keep := !p.full()
	p.total++
	if keep {
		p.errs = append(p.errs, Error{Path: p.at(), Message: message, Suggestion: suggestion, Offset: v.Offset})
	}
	return false
}

// full reports whether further errors are only counted.
func (p *parser) full() bool { return p.total >= maxErrors }

// failField is fail at a field of the object where the parser is.
func (p *parser) failField(v *jsontext.Value, name, message, suggestion string) bool {
	p.in(name)
	p.suggest(v, message, suggestion)
	p.out()
	return false
}

// typeName names the JSON type of v for an error.
func typeName(v *jsontext.Value) string {
	switch v.Kind {
	case jsontext.String:
		return "a text"
	case jsontext.Number:
		return "a number"
	case jsontext.True, jsontext.False:
		return "true or false"
	case jsontext.List:
		return "a list"
	case jsontext.Object:
		return "an object"
	}
	return "null"
}

// want records that v has the wrong type.
func (p *parser) want(v *jsontext.Value, what string) bool {
	return p.fail(v, "expected "+what+", not "+typeName(v))
}

// bindScope is what the sources of a limit can refer to.
type bindScope struct {
	templates []*source.Template // of the limit's match
	unknown   bool               // the match couldn't be read
}

// bind ties a source to the path templates of its limit.
func (p *parser) bind(v *jsontext.Value, s source.Source) source.Source {
	b, ok := s.(source.Binder)
	if !ok || p.scope.unknown {
		return s
	}
	bound, err := b.Bind(p.scope.templates)
	if err != nil {
		p.fail(v, err.Error())
		return s
	}
	return bound
}
