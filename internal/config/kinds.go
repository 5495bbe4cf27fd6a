package config

import (
	"slices"
	"strconv"
	"strings"

	"sluice/internal/jsontext"
)

// integer is a whole number from lo to hi.
//
//go:noinline
func integer(lo, hi int64) kind[int64] {
	return kind[int64]{
		typ: &Type{Kind: IntegerType, Name: "number", Min: lo, Max: hi},
		parse: func(p *parser, v *jsontext.Value) (int64, bool) {
			span := "a whole number from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)
			if v.Kind != jsontext.Number {
				return 0, p.want(v, span)
			}
			n, ok := v.Whole()
			if !ok || n < lo || n > hi {
				return 0, p.fail(v, "expected "+span+", not "+short(v.Raw))
			}
			return n, true
		},
	}
}

// short cuts a text that is quoted in an error.
func short(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:37], "") + "..."
	}
	return s
}

// boolean is true or false.
//
//go:noinline
func boolean() kind[bool] {
	return kind[bool]{
		typ: &Type{Kind: BooleanType},
		parse: func(p *parser, v *jsontext.Value) (bool, bool) {
			if v.Kind != jsontext.True && v.Kind != jsontext.False {
				return false, p.want(v, "true or false")
			}
			return v.Kind == jsontext.True, true
		},
	}
}

// text is a text; check, which may be nil, says what is wrong with one.
//
//go:noinline
func text(t Type, check func(s string) string) kind[string] {
	t.Kind = TextType
	what := "a text"
	if t.Name != "" {
		what = article(t.Name)
	}
	return kind[string]{
		typ: &t,
		parse: func(p *parser, v *jsontext.Value) (string, bool) {
			if v.Kind != jsontext.String {
				return "", p.want(v, what)
			}
			if check != nil {
				if msg := check(v.Text()); msg != "" {
					return "", p.fail(v, msg)
				}
			}
			return v.Text(), true
		},
	}
}

// article puts a or an before a name.
func article(name string) string {
	if strings.IndexByte("aeio", name[0]) >= 0 {
		return "an " + name
	}
	return "a " + name
}

// choice is one of several words.
type choice[V any] struct {
	word  string
	value V
}

// enum is one of several words. Those in planned don't work yet.
//
//go:noinline
func enum[V any](choices []choice[V], planned ...string) kind[V] {
	words := make([]string, len(choices))
	for i, c := range choices {
		words[i] = c.word
	}
	return kind[V]{
		typ: &Type{Kind: TextType, Enum: words},
		parse: func(p *parser, v *jsontext.Value) (V, bool) {
			if i := oneOf(p, v, words, planned); i >= 0 {
				return choices[i].value, true
			}
			var none V
			return none, false
		},
	}
}

// oneOf returns which of words v is. It reports any other text and returns -1.
func oneOf(p *parser, v *jsontext.Value, words, planned []string) int {
	if v.Kind != jsontext.String {
		p.want(v, listed(words))
		return -1
	}
	if i := slices.Index(words, v.Text()); i >= 0 {
		return i
	}
	if slices.Contains(planned, v.Text()) {
		p.fail(v, v.Text()+" is not supported yet")
		return -1
	}
	p.suggest(v, "expected "+listed(words)+", not "+quote(v.Text()), nearest(v.Text(), words))
	return -1
}

func quote(s string) string { return strconv.Quote(short(s)) }

// listed joins words as "a, b or c".
func listed(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " or " + words[n]
}

// list is a list of at least least items.
//
//go:noinline
func list[V any](k kind[V], least int) kind[[]V] {
	return kind[[]V]{
		typ: &Type{Kind: ListType, Items: k.typ, MinLen: least},
		parse: func(p *parser, v *jsontext.Value) ([]V, bool) {
			var out []V
			ok := parseItems(p, v, least, func(item *jsontext.Value) {
				if x, ok := k.parse(p, item); ok {
					out = append(out, x)
				}
			})
			return out, ok
		},
	}
}

// parseItems calls f for each item of a list, where the parser is then. It
// returns false when something was wrong with the list or an item.
//
//go:noinline
func parseItems(p *parser, v *jsontext.Value, least int, f func(item *jsontext.Value)) bool {
	if v.Kind != jsontext.List {
		return p.want(v, "a list")
	}
	before := p.failures()
	i := 0
	c := v.Items()
	for c.Next() {
		p.item(i)
		f(&c.Item)
		p.out()
		i++
	}
	if i < least {
		return p.fail(v, "expected at least "+strconv.Itoa(least)+" item")
	}
	return p.failures() == before
}

// oneOrList is a value or a non-empty list of them.
//
//go:noinline
func oneOrList[V any](k kind[V]) kind[[]V] {
	l := list(k, 1)
	return kind[[]V]{
		typ: &Type{Kind: AnyOfType, AnyOf: []*Type{k.typ, l.typ}},
		parse: func(p *parser, v *jsontext.Value) ([]V, bool) {
			if v.Kind == jsontext.List {
				return l.parse(p, v)
			}
			x, ok := k.parse(p, v)
			return []V{x}, ok
		},
	}
}

// mapped is a kind read as another, then turned into a V.
//
//go:noinline
func mapped[U, V any](k kind[U], f func(p *parser, v *jsontext.Value, u U) (V, bool)) kind[V] {
	return kind[V]{typ: k.typ, parse: func(p *parser, v *jsontext.Value) (V, bool) {
		u, ok := k.parse(p, v)
		if !ok {
			var none V
			return none, false
		}
		return f(p, v, u)
	}}
}
