package config

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"sluice/internal/jsontext"
	"sluice/internal/key"
	"sluice/internal/match"
	"sluice/internal/source"
)

// conditions is an object of source: condition, all of which have to hold.
func conditions() kind[*match.Matcher] {
	k := newKind(parseConditions)
	if described {
		scalar := &Type{Kind: AnyOfType, AnyOf: []*Type{{Kind: TextType}, {Kind: NumberType}, {Kind: BooleanType}}}
		k.typ = &Type{Kind: MapType, Name: "conditions", Keys: "source", Doc: "Sources, each with a condition; all have to hold.",
			Items: &Type{Kind: AnyOfType, AnyOf: append([]*Type{{Kind: ListType, Items: scalar, MinLen: 1}}, scalar.AnyOf...)}}
	}
	return k
}

// maxConditions bounds the conditions that have to hold together.
const maxConditions = 64

// maxAlternatives bounds the list of one condition.
const maxAlternatives = 20_000

func parseConditions(p *parser, v *jsontext.Value, to **match.Matcher) bool {
	if v.Kind != jsontext.Object {
		return p.want(v, "an object of conditions")
	}
	before := p.failures()
	n := 0
	fields := v.Items()
	for n <= maxConditions && fields.Next() {
		n++
	}
	if n > maxConditions {
		return p.fail(v, "at most "+strconv.Itoa(maxConditions)+" conditions can be given together")
	}
	outer := p.scope
	var all []match.Condition
	one := func(k, val *jsontext.Value) {
		p.in(k.Text())
		defer p.out()
		s, ok := parseSource(p, k)
		if !ok {
			return
		}
		for _, c := range all {
			if c.Source().String() == s.String() {
				p.fail(k, "there already is a condition for this source")
				return
			}
		}
		if c := parseCondition(p, val, p.bind(k, s)); c != nil {
			all = append(all, c)
		}
	}
	// The path first: other sources may name a parameter of its templates.
	for _, path := range [...]bool{true, false} {
		c := v.Items()
		for c.Next() {
			if (c.Key.Text() == "path") != path {
				continue
			}
			one(&c.Key, &c.Item)
			if path {
				p.scope = bindScope{templates: match.New(all...).Templates(), unknown: p.failures() != before}
			}
		}
	}
	p.scope = outer
	// Cheap conditions first; the order doesn't change the outcome.
	sort.Stable(byEffort(all))
	if p.failures() > before {
		return false
	}
	*to = match.New(all...)
	return true
}

// limitMatch is a limit's match: the sources of its other fields can refer to
// the templates of its path.
//
//go:noinline
func limitMatch() kind[*match.Matcher] {
	k := conditions()
	return kind[*match.Matcher]{newKind(func(p *parser, v *jsontext.Value, to **match.Matcher) bool {
		ok := k.read(p, v, to)
		p.scope = bindScope{templates: (*to).Templates(), unknown: !ok}
		return ok
	}).like(k.reader)}
}

type byEffort []match.Condition

func (l byEffort) Len() int           { return len(l) }
func (l byEffort) Less(i, j int) bool { return effort(l[i]) < effort(l[j]) }
func (l byEffort) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }

// effort orders conditions by what trying them costs.
func effort(c match.Condition) int {
	s := c.Source()
	if a, ok := s.(source.Attributed); ok && len(a.Attributes(new(source.Options))) > 0 {
		return 3
	}
	switch s.(type) {
	case source.Path, source.Method, source.Host:
		return 0
	case source.Header:
		return 1
	}
	return 2
}

func parseCondition(p *parser, v *jsontext.Value, s source.Source) match.Condition {
	var texts []string
	var places []jsontext.Value
	one := func(v *jsontext.Value) {
		if t, ok := scalarText(p, v); ok {
			texts = append(texts, t)
			places = append(places, *v)
		}
	}
	before := p.failures()
	if v.Kind == jsontext.List {
		i := 0
		c := v.Items()
		for c.Next() {
			if i == maxAlternatives {
				p.fail(v, "a condition has at most "+strconv.Itoa(maxAlternatives)+" alternatives")
				break
			}
			p.item(i)
			one(&c.Item)
			p.out()
			i++
		}
		if i == 0 {
			p.fail(v, "an empty list never holds")
		}
	} else {
		one(v)
	}
	if p.failures() != before {
		return nil
	}
	c, err := match.Parse(s, texts, &p.policy.Source)
	if err != nil {
		place := v
		// Not errors.As, here and below: it brings reflection into the module, and
		// these errors are never wrapped.
		if te, ok := err.(*match.TextError); ok && v.Kind == jsontext.List {
			place = &places[te.Index]
			p.item(te.Index)
			defer p.out()
		}
		p.fail(place, err.Error())
		return nil
	}
	return c
}

// scalarText is the text that a condition's value is compared as.
func scalarText(p *parser, v *jsontext.Value) (string, bool) {
	switch v.Kind {
	case jsontext.String:
		return v.Text(), true
	case jsontext.True, jsontext.False:
		return v.Raw, true
	case jsontext.Number:
		if n, ok := v.Whole(); ok {
			return strconv.FormatInt(n, 10), true
		}
		f := v.Float()
		if f == math.Trunc(f) {
			return "", p.fail(v, "a number beyond 2^53 has to be in quotes")
		}
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	return "", p.want(v, "a value or a list of values")
}

// parseSource reads a source where the parser is.
func parseSource(p *parser, v *jsontext.Value) (source.Source, bool) {
	s, err := source.Parse(v.Text())
	if err != nil {
		return nil, sourceError(p, v, err)
	}
	return s, true
}

// sourceError records an error of source.Parse.
func sourceError(p *parser, v *jsontext.Value, err error) bool {
	unknown, ok := err.(*source.UnknownError)
	if !ok || p.full() {
		return p.fail(v, err.Error())
	}
	var names []string
	for _, k := range source.Kinds() {
		names = append(names, k.Name)
	}
	s := nearest(unknown.Name, names)
	if s != "" {
		s += strings.TrimPrefix(unknown.Text, unknown.Name)
		if _, err := source.Parse(s); err != nil {
			s = ""
		}
	}
	return p.suggest(v, "unknown source "+quote(unknown.Text), s)
}

// keyParts is a key: a source, sources joined by "or", or a list of those.
//
//go:noinline
func keyParts() kind[*key.Key] {
	list := oneOrList(worded("a source", parseKeyPart).as(
		Type{Name: "key part", Doc: "A source, or several joined by ` or `, of which the first that a request has counts."}))
	return kind[*key.Key]{newKind(func(p *parser, v *jsontext.Value, to **key.Key) bool {
		var parts []key.Part
		if !list.read(p, v, &parts) {
			return false
		}
		if len(parts) > key.MaxParts {
			return p.fail(v, "a key has at most "+strconv.Itoa(key.MaxParts)+" parts")
		}
		*to = key.New(parts...)
		return true
	}).like(list.reader)}
}

func parseKeyPart(p *parser, v *jsontext.Value, s string, to *key.Part) bool {
	part, err := key.ParsePart(s)
	if err != nil {
		return sourceError(p, v, err)
	}
	before := p.failures()
	for i := range part {
		part[i] = p.bind(v, part[i])
	}
	*to = part
	return p.failures() == before
}
