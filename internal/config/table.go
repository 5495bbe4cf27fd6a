package config

import (
	"sync"
	"unsafe"

	"sluice/internal/jsontext"
)

// kind is a type that fields can have: how it is read, and how it is described.
// What makes kinds isn't inlined: that would compile the parse function once more
// for each field.
type kind[V any] struct {
	typ   *Type
	parse func(p *parser, v *jsontext.Value) (V, bool)
}

// field is one row of the table of a T. It is the only place where the field is
// declared: parsing, schema and reference all come from it.
type field[T any] struct{ row anyField }

// anyField is a field of some table. What a table fills is known where it is
// written, and forgotten here, so that the compiler makes what reads tables once
// and not once for each.
type anyField struct {
	info Field
	// set reads v into the T that t points to.
	set func(p *parser, v *jsontext.Value, t unsafe.Pointer)
	// soon marks a field of the language that the engine doesn't know yet.
	soon bool
}

// row makes a field. def is the default as JSON, or "" for none.
func row[T, V any](name string, k kind[V], def, doc string, set func(t *T, v V)) field[T] {
	if !described {
		doc = ""
	}
	// A pointer is passed like any other.
	return field[T]{newField(name, k, def, doc, *(*func(unsafe.Pointer, V))(unsafe.Pointer(&set)))}
}

//go:noinline
func newField[V any](name string, k kind[V], def, doc string, set func(t unsafe.Pointer, v V)) anyField {
	return anyField{
		info: Field{Name: name, Type: k.typ, Default: def, Doc: doc},
		set: func(p *parser, v *jsontext.Value, t unsafe.Pointer) {
			if x, ok := k.parse(p, v); ok {
				set(t, x)
			}
		},
	}
}

// must marks a field that has to be given.
func must[T any](f field[T]) field[T] {
	f.row.info.Required = true
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
	finish func(p *parser, v *jsontext.Value, given func(name string) *jsontext.Value, t *T)

	ready    sync.Once
	defaults T
}

// anyTable is a table, what it fills forgotten.
type anyTable struct {
	name, doc string
	fields    []anyField
	whole     bool
	finish    func(p *parser, v *jsontext.Value, given func(name string) *jsontext.Value, t unsafe.Pointer)
}

func (o *table[T]) any() *anyTable {
	return &anyTable{
		o.name, o.doc,
		// A field[T] is an anyField and nothing else.
		unsafe.Slice((*anyField)(unsafe.Pointer(unsafe.SliceData(o.fields))), len(o.fields)),
		o.whole,
		*(*func(*parser, *jsontext.Value, func(string) *jsontext.Value, unsafe.Pointer))(unsafe.Pointer(&o.finish)),
	}
}

// parse reads an object. It reports all that is wrong and returns false when
// something was.
func (o *table[T]) parse(p *parser, v *jsontext.Value) (T, bool) {
	var t T
	ok := o.parseInto(p, v, &t)
	return t, ok
}

// parseInto is parse into a place that fields can see while later ones are
// read. What the defaults of fields point to is shared, and never written to.
func (o *table[T]) parseInto(p *parser, v *jsontext.Value, t *T) bool {
	a := o.any()
	a.setDefaults(&o.ready, unsafe.Pointer(&o.defaults))
	*t = o.defaults
	return a.parse(p, v, unsafe.Pointer(t))
}

// kind is the table as a field's type.
func (o *table[T]) kind() kind[T] {
	return kind[T]{typ: o.typ(), parse: o.parse}
}

func (o *table[T]) typ() *Type {
	if !described {
		return nil
	}
	return o.any().typ()
}
