package config

import (
	"strings"

	"github.com/tidwall/gjson"
)

// setDefaults sets the defaults of fields in what t points to.
func setDefaults(name string, fields []anyField, t any) {
	p := &parser{policy: new(Policy)}
	for i := range fields {
		if f := &fields[i]; f.info.Default != "" {
			v := gjson.Parse(f.info.Default)
			f.set(p, &v, t)
		}
	}
	if p.total > 0 {
		panic("config: " + name + ": a default that isn't allowed: " + p.errs.Error())
	}
}

// parseFields reads an object into what t points to, which has its defaults.
// finish, which may be nil, comes last; whole keeps it for objects whose fields
// are all right. It reports all that is wrong and returns false when something
// was.
func parseFields(p *parser, v *gjson.Result, fields []anyField, t any, whole bool, finish func(given func(name string) *gjson.Result)) bool {
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
	if finish != nil && !(whole && p.failures() > before) {
		finish(func(name string) *gjson.Result {
			if i := find(fields, name); i >= 0 {
				return given[i]
			}
			return absent
		})
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

// objectType describes a table.
func objectType(name, doc string, fields []anyField) *Type {
	obj := &Object{Name: name, Doc: doc}
	for i := range fields {
		if !fields[i].soon {
			obj.Fields = append(obj.Fields, fields[i].info)
		}
	}
	return &Type{Kind: ObjectType, Object: obj}
}
