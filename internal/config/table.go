package config

import (
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// kind is a type that fields can have: how it is read, and how it is described.
type kind[V any] struct {
	typ   *Type
	parse func(p *parser, v gjson.Result) (V, bool)
}

// field is one row of an object's table. It is the only place where the field
// is declared: parsing, schema and reference all come from it.
type field[T any] struct {
	info Field
	// set reads v into t.
	set func(p *parser, v gjson.Result, t *T)
	// soon marks a field of the language that the engine doesn't know yet.
	soon bool
}

// row makes a field. def is the default as JSON, or "" for none.
func row[T, V any](name string, k kind[V], def, doc string, set func(t *T, v V)) field[T] {
	return field[T]{
		info: Field{Name: name, Type: k.typ, Default: def, Doc: doc},
		set: func(p *parser, v gjson.Result, t *T) {
			if x, ok := k.parse(p, v); ok {
				set(t, x)
			}
		},
	}
}

// must marks a field that has to be given.
func must[T any](f field[T]) field[T] {
	f.info.Required = true
	return f
}

// soon marks a field that is read and checked but that nothing obeys yet: to
// accept it would be a lie.
func soon[T any](f field[T]) field[T] {
	f.soon = true
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
	finish func(p *parser, v gjson.Result, given func(name string) gjson.Result, t *T)

	once     sync.Once
	defaults T
}

// zero returns a T with every default set. What its fields point to is shared,
// and never written to.
func (o *table[T]) zero() T {
	o.once.Do(func() {
		p := &parser{policy: new(Policy)}
		for i := range o.fields {
			if f := &o.fields[i]; f.info.Default != "" {
				f.set(p, gjson.Parse(f.info.Default), &o.defaults)
			}
		}
		if p.total > 0 {
			panic("config: " + o.name + ": a default that isn't allowed: " + p.errs.Error())
		}
	})
	return o.defaults
}

// parse reads an object. It reports all that is wrong and returns false when
// something was.
func (o *table[T]) parse(p *parser, v gjson.Result) (T, bool) {
	var t T
	ok := o.parseInto(p, v, &t)
	return t, ok
}

// parseInto is parse into a place that fields can see while later ones are
// read.
func (o *table[T]) parseInto(p *parser, v gjson.Result, t *T) bool {
	before := p.failures()
	*t = o.zero()
	if !v.IsObject() {
		return p.want(v, "an object")
	}
	var buf [40]gjson.Result
	given := buf[:]
	if len(o.fields) > len(buf) {
		given = make([]gjson.Result, len(o.fields))
	}
	v.ForEach(func(k, val gjson.Result) bool {
		for i := range o.fields {
			if o.fields[i].info.Name == k.Str {
				given[i] = val
				return true
			}
		}
		o.unknown(p, k)
		return true
	})
	for i := range o.fields {
		f := &o.fields[i]
		switch {
		case !given[i].Exists():
			if f.info.Required {
				p.failField(v, f.info.Name, "is required", "")
			}
		case f.soon && !p.all:
			p.failField(given[i], f.info.Name, "not supported yet", "")
		case given[i].Type == gjson.Null:
			p.failField(given[i], f.info.Name, "has no value", "")
		default:
			p.in(f.info.Name)
			f.set(p, given[i], t)
			p.out()
		}
	}
	if o.finish != nil && !(o.whole && p.failures() > before) {
		o.finish(p, v, func(name string) gjson.Result {
			for i := range o.fields {
				if o.fields[i].info.Name == name {
					return given[i]
				}
			}
			return gjson.Result{}
		}, t)
	}
	return p.failures() == before
}

func (o *table[T]) unknown(p *parser, k gjson.Result) {
	if p.full() {
		p.failField(k, k.Str, "unknown field", "")
		return
	}
	names := make([]string, 0, len(o.fields))
	for i := range o.fields {
		if !o.fields[i].soon || p.all {
			names = append(names, o.fields[i].info.Name)
		}
	}
	s := nearest(strings.ToLower(strings.ReplaceAll(k.Str, "-", "_")), names)
	for _, n := range names {
		if strings.EqualFold(strings.ReplaceAll(k.Str, "-", "_"), n) {
			s = n
		}
	}
	p.failField(k, k.Str, "unknown field", s)
}

// kind is the table as a field's type.
func (o *table[T]) kind() kind[T] {
	return kind[T]{typ: o.typ(), parse: o.parse}
}

func (o *table[T]) typ() *Type {
	obj := &Object{Name: o.name, Doc: o.doc}
	for i := range o.fields {
		if !o.fields[i].soon {
			obj.Fields = append(obj.Fields, o.fields[i].info)
		}
	}
	return &Type{Kind: ObjectType, Object: obj}
}
