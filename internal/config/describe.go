package config

// TypeKind is the shape of a field's value.
type TypeKind byte

// Shapes of values.
const (
	TextType    TypeKind = iota // Pattern or Enum say which texts
	IntegerType                 // Min and Max bound it
	NumberType                  // any number
	BooleanType
	ObjectType // Object has its fields
	ListType   // Items is an item's type
	MapType    // Keys says which names it has, Items a value's type
	AnyOfType  // one of AnyOf
)

// Type describes the values that a field takes, for the schema and the
// reference.
type Type struct {
	Kind    TypeKind
	Name    string // what the reference calls it: duration, rate; may be ""
	Doc     string // one line on its syntax; may be ""
	Pattern string // regular expression that a text fits, "" for any
	Enum    []string
	Min     int64
	Max     int64
	Object  *Object
	Items   *Type
	Keys    string // what a map's keys are
	MinLen  int    // fewest items of a list
	AnyOf   []*Type
}

// Object describes an object's fields.
type Object struct {
	Name   string // a word for it: limit
	Doc    string
	Fields []Field
}

// Field describes one field.
type Field struct {
	Name     string
	Type     *Type
	Default  string // as JSON; "" for none
	Doc      string
	Required bool
}

// Describe returns the description of a whole configuration.
func Describe() *Object { return policyTable.typ().Object }
