package config

import (
	"strings"
	"sync"
	"unsafe"

	"sluice/internal/jsontext"
)

// setDefaults sets the defaults of a table's fields in what t points to, once.
//
//go:noinline
func (o *anyTable) setDefaults(once *sync.Once, t unsafe.Pointer) {
	once.Do(func() {
		p := &parser{policy: new(Policy)}
		for i := range o.fields {
			if f := &o.fields[i]; f.info.Default != "" {
				v := jsontext.Parse(f.info.Default)
				f.set(p, &v, t)
			}
		}
		if p.total > 0 {
			panic("config: " + o.name + ": a default that isn't allowed: " + p.errs.Error())
		}
	})
}

// parse reads an object into what t points to, which has its defaults. It
// reports all that is wrong and returns false when something was.
func (o *anyTable) parse(p *parser, v *jsontext.Value, t unsafe.Pointer) bool {
	fields := o.fields
	before := p.failures()
	if v.Kind != jsontext.Object {
		return p.want(v, "an object")
	}
	given := make([]jsontext.Value, len(fields))
	c := v.Items()
	for c.Next() {
		if i := find(fields, c.Key.Text()); i >= 0 {
			given[i] = c.Item
		} else {
			unknownField(p, &c.Key, fields)
		}
	}
	for i := range fields {
		f, at := &fields[i], &given[i]
		switch {
		case !at.Exists():
			if f.info.Required {
				p.failField(v, f.info.Name, "is required", "")
			}
		case f.soon && !p.all:
			p.failField(at, f.info.Name, "not supported yet", "")
		case at.Kind == jsontext.Null:
			p.failField(at, f.info.Name, "has no value", "")
		default:
			p.in(f.info.Name)
			f.set(p, at, t)
			p.out()
		}
	}
	if o.finish != nil && !(o.whole && p.failures() > before) {
		o.finish(p, v, func(name string) *jsontext.Value {
			if i := find(fields, name); i >= 0 {
				return &given[i]
			}
			return absent
		}, t)
	}
	return p.failures() == before
}

// absent is the value of a field that isn't given.
var absent = new(jsontext.Value)

// find returns the position of a field, or -1.
func find(fields []anyField, name string) int {
	for i := range fields {
		if fields[i].info.Name == name {
			return i
		}
	}
	return -1
}

func unknownField(p *parser, k *jsontext.Value, fields []anyField) {
	if p.full() {
		p.failField(k, k.Text(), "unknown field", "")
		return
	}
	names := make([]string, 0, len(fields))
	for i := range fields {
		if !fields[i].soon || p.all {
			names = append(names, fields[i].info.Name)
		}
	}
	s := nearest(strings.ToLower(strings.ReplaceAll(k.Text(), "-", "_")), names)
	for _, n := range names {
		if strings.EqualFold(strings.ReplaceAll(k.Text(), "-", "_"), n) {
			s = n
		}
	}
	p.failField(k, k.Text(), "unknown field", s)
}

// typ describes a table.
func (o *anyTable) typ() *Type {
	obj := &Object{Name: o.name, Doc: o.doc}
	for i := range o.fields {
		if !o.fields[i].soon {
			obj.Fields = append(obj.Fields, o.fields[i].info)
		}
	}
	return &Type{Kind: ObjectType, Object: obj}
}
