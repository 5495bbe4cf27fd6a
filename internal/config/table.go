package config

import (
	"sync"
	"unsafe"

	"github.com/tidwall/gjson"
)

// kind is a type that fields can have: how it is read, and how it is described.
type kind[V any] struct {
	typ   *Type
	parse func(p *parser, v *gjson.Result) (V, bool)
}

// field is one row of the table of a T. It is the only place where the field is
// declared: parsing, schema and reference all come from it.
type field[T any] struct{ row anyField }

// anyField is a field of some table. What reads tables doesn't know what they
// fill, so that the compiler makes one of it and not one for each.
type anyField struct {
	info Field
	// set reads v into what t points to.
	set func(p *parser, v *gjson.Result, t any)
	// soon marks a field of the language that the engine doesn't know yet.
	soon bool
}

// row makes a field. def is the default as JSON, or "" for none.
//
//go:noinline
func row[T, V any](name string, k kind[V], def, doc string, set func(t *T, v V)) field[T] {
	f := anyField{
		info: Field{Name: name, Default: def},
		set: func(p *parser, v *gjson.Result, t any) {
			if x, ok := k.parse(p, v); ok {
				set(t.(*T), x)
			}
		},
	}
	if described {
		f.info.Type, f.info.Doc = k.typ, doc
	}
	return field[T]{f}
}

// must marks a field that has to be given.
//
//go:noinline
func must[T any](f field[T]) field[T] {
	f.row.info.Required = true
	return f
}

// soon marks a field that is read and checked but that nothing obeys yet: to
// accept it would be a lie.
//
//go:noinline
func soon[T any](f field[T]) field[T] {
	f.row.soon = true
	return f
}

// table is an object type: its fields in the order in which they are read,
// whatever their order in the text.
type table[T any] struct {
	name   string
	doc    string
	fields []field[T]
	// whole keeps finish for objects whose fields are all right.
	whole bool
	// finish checks what concerns several fields, after all were read. given
	// finds a field's value in the text; it doesn't exist when absent.
	finish func(p *parser, v *gjson.Result, given func(name string) *gjson.Result, t *T)

	once     sync.Once
	defaults T
}

// rows are the fields of the table.
func (o *table[T]) rows() []anyField {
	// A field[T] is an anyField and nothing else.
	return unsafe.Slice((*anyField)(unsafe.Pointer(unsafe.SliceData(o.fields))), len(o.fields))
}

// zero returns a T with every default set. What its fields point to is shared,
// and never written to.
func (o *table[T]) zero() *T {
	o.once.Do(func() { setDefaults(o.name, o.rows(), &o.defaults) })
	return &o.defaults
}

// parse reads an object. It reports all that is wrong and returns false when
// something was.
//
//go:noinline
func (o *table[T]) parse(p *parser, v *gjson.Result) (T, bool) {
	var t T
	ok := o.parseInto(p, v, &t)
	return t, ok
}

// parseInto is parse into a place that fields can see while later ones are
// read.
func (o *table[T]) parseInto(p *parser, v *gjson.Result, t *T) bool {
	*t = *o.zero()
	var finish func(given func(name string) *gjson.Result)
	if o.finish != nil {
		finish = func(given func(name string) *gjson.Result) { o.finish(p, v, given, t) }
	}
	return parseFields(p, v, o.rows(), t, o.whole, finish)
}

// kind is the table as a field's type.
//
//go:noinline
func (o *table[T]) kind() kind[T] {
	return kind[T]{typ: o.typ(), parse: o.parse}
}

func (o *table[T]) typ() *Type {
	if !described {
		return nil
	}
	return objectType(o.name, o.doc, o.rows())
}
