package config

import (
	"slices"
	"strings"
	"unsafe"

	"sluice/internal/jsontext"
)

// place is where a field's value is in the struct that t points to.
func (o *object) place(f *field, t unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(t, uintptr(f.at)-uintptr(o.defaults))
}

// setDefaults sets the defaults of a table's fields.
func (o *object) setDefaults() {
	p := &parser{policy: new(Policy)}
	for _, f := range o.fields {
		if f.info.Default != "" {
			v := jsontext.Parse(f.info.Default)
			f.parse(p, &v, f.at)
		}
	}
	if p.total > 0 {
		panic("config: " + o.name + ": a default that isn't allowed: " + p.errs.Error())
	}
}

// read is table's.
func (o *object) read(p *parser, v *jsontext.Value, to unsafe.Pointer) bool {
	o.ready.Do(o.setDefaults)
	o.set(to, o.defaults)
	ok := o.fill(p, v, to)
	if !ok {
		o.set(to, o.defaults)
	}
	return ok
}

// fill reads an object into what t points to, which has its defaults. It reports all
// that is wrong and returns false when something was.
func (o *object) fill(p *parser, v *jsontext.Value, t unsafe.Pointer) bool {
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
	for i, f := range fields {
		at := &given[i]
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
			f.parse(p, at, o.place(f, t))
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
func find(fields []*field, name string) int {
	for i, f := range fields {
		if f.info.Name == name {
			return i
		}
	}
	return -1
}

func unknownField(p *parser, k *jsontext.Value, fields []*field) {
	name := k.Text()
	if p.full() {
		p.failField(k, name, "unknown field", "")
		return
	}
	names := make([]string, 0, len(fields))
	for _, f := range fields {
		if !f.soon || p.all {
			names = append(names, f.info.Name)
		}
	}
	meant := strings.ToLower(strings.Join(strings.Split(name, "-"), "_"))
	if !slices.Contains(names, meant) {
		meant = nearest(meant, names)
	}
	p.failField(k, name, "unknown field", meant)
}

// typ describes a table.
func (o *object) typ() *Type {
	obj := &Object{Name: o.name, Doc: o.doc}
	for _, f := range o.fields {
		if !f.soon {
			obj.Fields = append(obj.Fields, f.info)
		}
	}
	return &Type{Kind: ObjectType, Object: obj}
}
