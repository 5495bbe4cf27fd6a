// Package jsontext reads JSON where it stands: a Value is a part of the text, taken
// apart only as far as somebody asks. It has what the plugin needs and no more, since
// all of its code is in every gateway's memory.
//
// Texts should have been checked before, as package config does. Of one that isn't
// JSON it is only promised that reading ends, in bounds, with some result.
package jsontext

import "strings"

// Kind is what a Value is.
type Kind byte

// Kinds of values.
const (
	Absent Kind = iota // no value: a field that isn't there
	Null
	False
	True
	Number
	String
	List
	Object
)

// Value is a part of a text. The zero Value is absent.
type Value struct {
	Kind Kind
	// Raw is the value as it stands in the text, a String with its quotes.
	Raw string
	// Offset is where Raw begins in the text that was given to Parse, bytes.
	Offset int
}

// Parse returns the first value of a text, without what stands around it.
func Parse(text string) Value { return value(text, space(text, 0)) }

// Exists reports whether there is a value; null is one.
func (v *Value) Exists() bool { return v.Kind != Absent }

// Text is what a String stands for; "" for any other kind.
//
//go:noinline
func (v *Value) Text() string {
	if v.Kind != String {
		return ""
	}
	return Unquote(v.Raw)
}

// Get returns the field of an Object with a name, the first if there are several. An
// absent one has the object's Offset, for errors.
func (v *Value) Get(name string) *Value {
	found := &Value{Offset: v.Offset}
	if v.Kind == Object {
		c := v.Items()
		for c.Next() {
			if c.Key.Text() == name {
				*found = c.Item
				break
			}
		}
	}
	return found
}

// Items returns a Cursor before the first of an Object's fields or a List's items.
// Other kinds have none.
//
//go:noinline
func (v *Value) Items() Cursor {
	if v.Kind < List {
		return Cursor{}
	}
	return Cursor{text: v.Raw, at: 1, offset: v.Offset, fields: v.Kind == Object}
}

// Cursor goes over the fields of an Object or the items of a List, in the order of
// the text:
//
//	c := v.Items()
//	for c.Next() {
//		… c.Key, c.Item
//	}
type Cursor struct {
	// Key is the field's name, a String; absent in a List.
	Key Value
	// Item is the field's or the item's value. Next writes over it.
	Item Value

	text   string
	at     int
	offset int
	fields bool
}

// Next goes to the next field or item; false when there is none.
func (c *Cursor) Next() bool {
	if c.fields {
		if c.step(&c.Key); c.Key.Kind != String {
			return false
		}
	}
	c.step(&c.Item)
	return c.Item.Kind != Absent
}

// step reads the next value into v.
func (c *Cursor) step(v *Value) {
	*v = value(c.text, space(c.text, c.at))
	c.at = v.Offset + len(v.Raw)
	v.Offset += c.offset
}

// space returns where the space, and what separates values, ends.
func space(s string, i int) int {
	for i < len(s) && (s[i] <= ' ' || s[i] == ',' || s[i] == ':') {
		i++
	}
	return i
}

// value returns the value that begins at a place.
func value(s string, i int) Value {
	v := Value{Offset: i}
	if i >= len(s) {
		return v
	}
	end := i
	switch s[i] {
	case '"':
		v.Kind, end = String, text(s, i)
	case '{':
		v.Kind, end = Object, nested(s, i)
	case '[':
		v.Kind, end = List, nested(s, i)
	case ']', '}':
		return v
	default:
		for end < len(s) && s[end] > ' ' && strings.IndexByte(",:]}", s[end]) < 0 {
			end++
		}
		switch s[i] {
		case 'n':
			v.Kind = Null
		case 'f':
			v.Kind = False
		case 't':
			v.Kind = True
		default:
			v.Kind = Number
		}
	}
	v.Raw = s[i:end]
	return v
}

// text returns where a string ends that begins at a place.
func text(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return len(s)
}

// nested returns where an object or a list ends that begins at a place. What closes
// it is only counted.
func nested(s string, i int) int {
	depth := 0
	for i < len(s) {
		switch s[i] {
		case '"':
			i = text(s, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return len(s)
}
