package config

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/tidwall/gjson"
)

// setDefaults sets the defaults of a table's fields in what t points to, once.
//
//go:noinline
func (o *anyTable) setDefaults(once *sync.Once, t unsafe.Pointer) {
	once.Do(func() {
		p := &parser{policy: new(Policy)}
		for i := range o.fields {
			if f := &o.fields[i]; f.info.Default != "" {
				v := gjson.Parse(f.info.Default)
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
func (o *anyTable) parse(p *parser, v *gjson.Result, t unsafe.Pointer) bool {
	fields := o.fields
	before := p.failures()
	if !v.IsObject() {
		return p.want(v, "an object")
	}
	given := make([]*gjson.Result, len(fields))
	for i := range given {
		given[i] = absent
	}
	each(v, func(k, val *gjson.Result) bool {
		if i := find(fields, k.Str); i >= 0 {
			given[i] = val
		} else {
			unknownField(p, k, fields)
		}
		return true
	})
	for i := range fields {
		f := &fields[i]
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
		o.finish(p, v, func(name string) *gjson.Result {
			if i := find(fields, name); i >= 0 {
				return given[i]
			}
			return absent
		}, t)
	}
	return p.failures() == before
}

// absent is the value of a field that isn't given.
var absent = new(gjson.Result)

// find returns the position of a field, or -1.
func find(fields []anyField, name string) int {
	for i := range fields {
		if fields[i].info.Name == name {
			return i
		}
	}
	return -1
}

func unknownField(p *parser, k *gjson.Result, fields []anyField) {
	if p.full() {
		p.failField(k, k.Str, "unknown field", "")
		return
	}
	names := make([]string, 0, len(fields))
	for i := range fields {
		if !fields[i].soon || p.all {
			names = append(names, fields[i].info.Name)
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
