package config

import (
	"sync"
	"unsafe"

	"sluice/internal/jsontext"
)

// kind is how the values of a V are read, and how they are described. That they are a
// V is known where kinds and tables are written, and forgotten behind that, so that
// the compiler makes what reads them once and not once for each V.
//
// What makes kinds isn't inlined where it has a function in it: that would be compiled
// once more for each field.
type kind[V any] struct{ *reader }

// reader is a kind, its V forgotten.
type reader struct {
	typ *Type // nil in the plugin
	// parse reads v into the V that to points to, and returns true. When something is
	// wrong it reports that, and leaves the V as it would be without a value.
	parse func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool
}

// newKind is the kind that parse reads.
func newKind[V any](parse func(p *parser, v *jsontext.Value, to *V) bool) kind[V] {
	// A pointer is passed like any other.
	return kind[V]{newReader(*(*func(*parser, *jsontext.Value, unsafe.Pointer) bool)(unsafe.Pointer(&parse)))}
}

//go:noinline
func newReader(parse func(p *parser, v *jsontext.Value, to unsafe.Pointer) bool) *reader {
	return &reader{parse: parse}
}

// read is parse.
func (k kind[V]) read(p *parser, v *jsontext.Value, to *V) bool {
	return k.parse(p, v, unsafe.Pointer(to))
}

// as describes a kind.
func (k kind[V]) as(t Type) kind[V] {
	if described {
		k.typ = &t
	}
	return k
}

// field is one row of a table. It is the only place where the field is declared:
// parsing, schema and reference all come from it.
type field struct {
	info Field
	// at is where the field's default is. Its value is at the same place in the struct
	// that is filled.
	at unsafe.Pointer
	*reader
	// soon marks a field of the language that the engine doesn't know yet.
	soon bool
}

// row makes a field. at is its place in its table's defaults; def is the default as
// JSON, or "" for none.
func row[V any](name string, at *V, k kind[V], def, doc string) *field {
	f := newField(name, unsafe.Pointer(at), k.reader, def)
	if described {
		f.info.Doc, f.info.Type = doc, k.typ
	}
	return f
}

//go:noinline
func newField(name string, at unsafe.Pointer, r *reader, def string) *field {
	return &field{info: Field{Name: name, Default: def}, at: at, reader: r}
}

// must marks a field that has to be given.
func must(f *field) *field {
	f.info.Required = true
	return f
}

// table is an object type: its fields in the order in which they are read, whatever
// their order in the text. It fills a T.
type table[T any] struct{ *object }

// object is a table, its T forgotten.
type object struct {
	name, doc string // "" in the plugin
	fields    []*field
	whole     bool
	finish    func(p *parser, v *jsontext.Value, given givenFields, t unsafe.Pointer)
	defaults  unsafe.Pointer
	set       func(to, from unsafe.Pointer) // copies a T
	ready     sync.Once
}

// givenFields finds a field's value in the text of an object; it doesn't exist when
// absent.
type givenFields = func(name string) *jsontext.Value

// newTable makes a table. defaults is an empty T, which takes the defaults of fields.
// What they point to is shared, and never written to. finish, which may be nil, checks
// what concerns several fields, after all were read.
func newTable[T any](name, doc string, defaults *T, fields []*field, finish func(p *parser, v *jsontext.Value, given givenFields, t *T)) table[T] {
	o := newObject(unsafe.Pointer(defaults), set[T], fields, *(*func(*parser, *jsontext.Value, givenFields, unsafe.Pointer))(unsafe.Pointer(&finish)))
	if described {
		o.name, o.doc = name, doc
		// The compiler doesn't know which struct a row's place is in; tests run this.
		for _, f := range fields {
			if uintptr(f.at)-uintptr(o.defaults) >= unsafe.Sizeof(*defaults) {
				panic("config: " + name + ": the place of " + f.info.Name + " is elsewhere")
			}
		}
	}
	return table[T]{o}
}

//go:noinline
func newObject(defaults unsafe.Pointer, set func(to, from unsafe.Pointer), fields []*field, finish func(p *parser, v *jsontext.Value, given givenFields, t unsafe.Pointer)) *object {
	return &object{defaults: defaults, set: set, fields: fields, finish: finish}
}

func set[T any](to, from unsafe.Pointer) { *(*T)(to) = *(*T)(from) }

// wholeOnly keeps finish for objects whose fields are all right.
func (o table[T]) wholeOnly() table[T] {
	o.whole = true
	return o
}

// read reads an object. It reports all that is wrong and returns false when something
// was; to is as without fields then. Meanwhile later fields see in it what earlier
// ones read.
func (o table[T]) read(p *parser, v *jsontext.Value, to *T) bool {
	return o.object.read(p, v, unsafe.Pointer(to))
}

// kind is the table as a field's type.
func (o table[T]) kind() kind[T] {
	k := kind[T]{newReader(o.object.read)}
	if described {
		k.typ = o.typ()
	}
	return k
}
