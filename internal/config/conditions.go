package config

import (
	"math"
	"sort"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"sluice/internal/key"
	"sluice/internal/match"
	"sluice/internal/source"
)

// conditions is an object of source: condition, all of which have to hold.
//
//go:noinline
func conditions() kind[*match.Matcher] {
	scalar := &Type{Kind: AnyOfType, AnyOf: []*Type{{Kind: TextType}, {Kind: NumberType}, {Kind: BooleanType}}}
	return kind[*match.Matcher]{
		typ: &Type{Kind: MapType, Name: "conditions", Keys: "source", Doc: "Sources, each with a condition; all have to hold.",
			Items: &Type{Kind: AnyOfType, AnyOf: append([]*Type{{Kind: ListType, Items: scalar, MinLen: 1}}, scalar.AnyOf...)}},
		parse: parseConditions,
	}
}

// maxConditions bounds the conditions that have to hold together.
const maxConditions = 64

// maxAlternatives bounds the list of one condition.
const maxAlternatives = 20_000

func parseConditions(p *parser, v *gjson.Result) (*match.Matcher, bool) {
	if !v.IsObject() {
		return nil, p.want(v, "an object of conditions")
	}
	before := p.failures()
	n := 0
	each(v, func(_, _ *gjson.Result) bool { n++; return n <= maxConditions })
	if n > maxConditions {
		return nil, p.fail(v, "at most "+strconv.Itoa(maxConditions)+" conditions can be given together")
	}
	outer := p.scope
	var all []match.Condition
	one := func(k, val *gjson.Result) {
		p.in(k.Str)
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
	isPath := func(k *gjson.Result) bool { return k.Str == "path" }
	each(v, func(k, val *gjson.Result) bool {
		if isPath(k) {
			one(k, val)
			p.scope = bindScope{templates: match.New(all...).Templates(), unknown: p.failures() != before}
		}
		return true
	})
	each(v, func(k, val *gjson.Result) bool {
		if !isPath(k) {
			one(k, val)
		}
		return true
	})
	p.scope = outer
	// Cheap conditions first; the order doesn't change the outcome.
	sort.Stable(byEffort(all))
	return match.New(all...), p.failures() == before
}

// limitMatch is a limit's match: the sources of its other fields can refer to
// the templates of its path.
//
//go:noinline
func limitMatch() kind[*match.Matcher] {
	k := conditions()
	return kind[*match.Matcher]{typ: k.typ, parse: func(p *parser, v *gjson.Result) (*match.Matcher, bool) {
		m, ok := k.parse(p, v)
		p.scope = bindScope{templates: m.Templates(), unknown: !ok}
		return m, ok
	}}
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

func parseCondition(p *parser, v *gjson.Result, s source.Source) match.Condition {
	var texts []string
	var places []*gjson.Result
	one := func(v *gjson.Result) {
		if t, ok := scalarText(p, v); ok {
			texts = append(texts, t)
			places = append(places, v)
		}
	}
	before := p.failures()
	if v.IsArray() {
		i := 0
		each(v, func(_, item *gjson.Result) bool {
			if i == maxAlternatives {
				p.fail(v, "a condition has at most "+strconv.Itoa(maxAlternatives)+" alternatives")
				return false
			}
			p.item(i)
			one(item)
			p.out()
			i++
			return true
		})
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
		if te, ok := err.(*match.TextError); ok && v.IsArray() {
			place = places[te.Index]
			p.item(te.Index)
			defer p.out()
		}
		p.fail(place, err.Error())
		return nil
	}
	return c
}

// scalarText is the text that a condition's value is compared as.
func scalarText(p *parser, v *gjson.Result) (string, bool) {
	switch v.Type {
	case gjson.String:
		return v.Str, true
	case gjson.True, gjson.False:
		return v.Raw, true
	case gjson.Number:
		if n, ok := wholeNumber(v); ok {
			return strconv.FormatInt(n, 10), true
		}
		if v.Num == math.Trunc(v.Num) {
			return "", p.fail(v, "a number beyond 2^53 has to be in quotes")
		}
		return strconv.FormatFloat(v.Num, 'f', -1, 64), true
	}
	return "", p.want(v, "a value or a list of values")
}

// parseSource reads a source where the parser is.
func parseSource(p *parser, v *gjson.Result) (source.Source, bool) {
	s, err := source.Parse(v.Str)
	if err != nil {
		return nil, sourceError(p, v, err)
	}
	return s, true
}

// sourceError records an error of source.Parse.
func sourceError(p *parser, v *gjson.Result, err error) bool {
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
	part := kind[key.Part]{
		typ: &Type{Kind: TextType, Name: "key part", Doc: "A source, or several joined by ` or `, of which the first that a request has counts."},
		parse: func(p *parser, v *gjson.Result) (key.Part, bool) {
			if v.Type != gjson.String {
				return nil, p.want(v, "a source")
			}
			part, err := key.ParsePart(v.Str)
			if err != nil {
				return nil, sourceError(p, v, err)
			}
			before := p.failures()
			for i := range part {
				part[i] = p.bind(v, part[i])
			}
			return part, p.failures() == before
		},
	}
	return mapped(oneOrList(part), func(p *parser, v *gjson.Result, parts []key.Part) (*key.Key, bool) {
		if len(parts) > key.MaxParts {
			return nil, p.fail(v, "a key has at most "+strconv.Itoa(key.MaxParts)+" parts")
		}
		return key.New(parts...), true
	})
}
