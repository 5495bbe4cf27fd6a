package config

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"sluice/internal/jsontext"
)

// integer is a whole number from lo to hi.
//
//go:noinline
func integer(lo, hi int64) kind[int64] {
	return newKind(func(p *parser, v *jsontext.Value, to *int64) bool {
		span := "a whole number from " + strconv.FormatInt(lo, 10) + " to " + strconv.FormatInt(hi, 10)
		if v.Kind != jsontext.Number {
			return p.want(v, span)
		}
		n, ok := v.Whole()
		if !ok || n < lo || n > hi {
			return p.fail(v, "expected "+span+", not "+short(v.Raw))
		}
		*to = n
		return true
	}).as(Type{Kind: IntegerType, Name: "number", Min: lo, Max: hi})
}

// narrow is a number that is kept as a V, which has room for all that k allows.
//
//go:noinline
func narrow[V int | uint32](k kind[int64]) kind[V] {
	return kind[V]{newKind(func(p *parser, v *jsontext.Value, to *V) bool {
		var n int64
		if !k.read(p, v, &n) {
			return false
		}
		*to = V(n)
		return true
	}).like(k.reader)}
}

// like describes a reader as another is.
func (r *reader) like(other *reader) *reader {
	r.typ = other.typ
	return r
}

// short cuts a text that is quoted in an error.
func short(s string) string {
	if len(s) <= 40 {
		return s
	}
	n := 37
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "..."
}

// boolean is true or false.
func boolean() kind[bool] { return truth(false) }

// not is true or false, and kept the other way round.
func not() kind[bool] { return truth(true) }

//go:noinline
func truth(inverse bool) kind[bool] {
	return newKind(func(p *parser, v *jsontext.Value, to *bool) bool {
		if v.Kind != jsontext.True && v.Kind != jsontext.False {
			return p.want(v, "true or false")
		}
		*to = (v.Kind == jsontext.True) != inverse
		return true
	}).as(Type{Kind: BooleanType})
}

// text is any text that check, which may be nil, has nothing against.
//
//go:noinline
func text(check func(s string) string) kind[string] {
	return worded("a text", func(p *parser, v *jsontext.Value, s string, to *string) bool {
		if check != nil {
			if msg := check(s); msg != "" {
				return p.fail(v, msg)
			}
		}
		*to = s
		return true
	}).as(Type{Kind: TextType})
}

// worded is a text that parse makes a V of. what is what an error calls one.
func worded[V any](what string, parse func(p *parser, v *jsontext.Value, s string, to *V) bool) kind[V] {
	// A pointer is passed like any other.
	return kind[V]{newWorded(what, *(*func(*parser, *jsontext.Value, string, unsafe.Pointer) bool)(unsafe.Pointer(&parse)))}
}

//go:noinline
func newWorded(what string, parse func(p *parser, v *jsontext.Value, s string, to unsafe.Pointer) bool) *reader {
	return newReader(func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool {
		if v.Kind != jsontext.String {
			return p.want(v, what)
		}
		return parse(p, v, v.Text(), to)
	})
}

// enum is one of several words; the V is the position of the word in them.
func enum[V ~uint8 | ~bool](words ...string) kind[V] {
	return kind[V]{newEnum(words)}.as(Type{Kind: TextType, Enum: words})
}

//go:noinline
func newEnum(words []string) *reader {
	return newReader(func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool {
		i := oneOf(p, v, words)
		if i < 0 {
			return false
		}
		*(*uint8)(to) = uint8(i) // false and true are 0 and 1, too
		return true
	})
}

// oneOf returns which of words v is. It reports any other text and returns -1.
func oneOf(p *parser, v *jsontext.Value, words []string) int {
	if v.Kind != jsontext.String {
		p.want(v, listed(words))
		return -1
	}
	s := v.Text()
	i := slices.Index(words, s)
	if i < 0 {
		p.suggest(v, "expected "+listed(words)+", not "+quote(s), nearest(s, words))
	}
	return i
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

// pointer is a V, nil where it isn't given.
func pointer[V any](k kind[V]) kind[*V] {
	return kind[*V]{newPointer(k.reader, fresh[V])}
}

func fresh[V any]() unsafe.Pointer { return unsafe.Pointer(new(V)) }

//go:noinline
func newPointer(k *reader, fresh func() unsafe.Pointer) *reader {
	return newReader(func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool {
		x := fresh()
		if !k.parse(p, v, x) {
			return false
		}
		*(*unsafe.Pointer)(to) = x
		return true
	}).like(k)
}

// list is a list of at least least items. When one is wrong, it is nil.
func list[V any](k kind[V], least int) kind[[]V] {
	l := kind[[]V]{newList(&items{k.reader, longer[V], least}, false)}
	return l.as(Type{Kind: ListType, Items: k.typ, MinLen: least})
}

// oneOrList is a value or a non-empty list of them.
func oneOrList[V any](k kind[V]) kind[[]V] {
	l := kind[[]V]{newList(&items{k.reader, longer[V], 1}, true)}
	return l.as(Type{Kind: AnyOfType, AnyOf: []*Type{k.typ, {Kind: ListType, Items: k.typ, MinLen: 1}}})
}

// items is what a list has.
type items struct {
	*reader
	// longer makes a list one item longer, and returns where that is.
	longer func(list unsafe.Pointer) unsafe.Pointer
	least  int
}

// longer isn't inlined, since each list has it.
//
//go:noinline
func longer[V any](list unsafe.Pointer) unsafe.Pointer {
	l := (*[]V)(list)
	var zero V
	*l = append(*l, zero)
	return unsafe.Pointer(&(*l)[len(*l)-1])
}

//go:noinline
func newList(k *items, orOne bool) *reader {
	return newReader(func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool {
		none := (*[]unsafe.Pointer)(to) // a slice of anything is cleared alike
		*none = nil
		var ok bool
		if orOne && v.Kind != jsontext.List {
			ok = k.parse(p, v, k.longer(to))
		} else {
			ok = parseItems(p, v, k.least, func(item *jsontext.Value) {
				k.parse(p, item, k.longer(to))
			})
		}
		if !ok {
			*none = nil
		}
		return ok
	})
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
