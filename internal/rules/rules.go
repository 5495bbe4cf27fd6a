// Package rules takes apart what Higress gives a plugin: its WasmPlugin's
// defaultConfig with a list _rules_, each an item of matchRules with what it is for:
// some routes, domains or services. Which item a request gets follows Higress's own
// plugins.
package rules

import (
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/jsontext"
)

// The fields that are Higress's.
const (
	fieldRules       = "_rules_"
	fieldPluginID    = "_plugin_id_"
	fieldRoute       = "_match_route_"
	fieldRoutePrefix = "_match_route_prefix_"
	fieldDomain      = "_match_domain_"
	fieldService     = "_match_service_"
	fieldConsumer    = "_match_consumer_"
	fieldRedis       = "redis"
	fieldLimits      = "limits"
)

// Max bounds the rules of one configuration.
const Max = 256

// Set is a configuration taken apart.
type Set struct {
	// Default is the configuration of requests that no rule is for, JSON; nil for
	// none: no limit applies to them.
	Default []byte
	Rules   []Rule
}

// Rule is the configuration of some requests.
type Rule struct {
	// Path is where it stands in the whole, for errors.
	Path string
	// Config is JSON.
	Config []byte

	routes, prefixes, services, consumers []string
	domains                               []domain
}

// Split takes a configuration apart. A rule without a redis of its own has the
// default one's; a default that says nothing but redis is none itself.
func Split(text []byte) (*Set, config.Errors) {
	if errs := config.CheckJSON(text); len(errs) > 0 {
		return nil, errs
	}
	whole := jsontext.Parse(string(text))
	if whole.Kind != jsontext.Object {
		return &Set{Default: text}, nil
	}
	list := whole.Get(fieldRules)
	s := new(Set)
	if !list.Exists() {
		s.Default = object(&whole, "")
		return s, nil
	}
	if list.Kind != jsontext.List {
		return nil, config.Errors{{Path: fieldRules, Message: "expected a list"}}
	}
	redis := ""
	others := 0
	fields := whole.Items()
	for fields.Next() {
		switch name := fields.Key.Text(); {
		case name == fieldRedis:
			redis = fields.Item.Raw
		case !theirs(name):
			others++
		}
	}
	if others > 0 {
		s.Default = object(&whole, "")
	}
	var errs config.Errors
	items := list.Items()
	for items.Next() {
		path := fieldRules + "[" + strconv.Itoa(len(s.Rules)) + "]"
		if len(s.Rules) == Max {
			errs = append(errs, config.Error{Path: path, Message: "more than " + strconv.Itoa(Max) + " rules"})
			break
		}
		r := Rule{Path: path}
		if msg := r.read(&items.Item, redis); msg != "" {
			errs = append(errs, config.Error{Path: path, Message: msg})
		}
		s.Rules = append(s.Rules, r)
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return s, nil
}

// theirs reports whether a field is Higress's.
func theirs(name string) bool {
	switch name {
	case fieldRules, fieldPluginID, fieldRoute, fieldRoutePrefix, fieldDomain, fieldService, fieldConsumer:
		return true
	}
	return false
}

// object writes an object again without Higress's fields, and with a redis, raw
// JSON, where it is given and the object has none.
func object(v *jsontext.Value, redis string) []byte {
	out := []byte{'{'}
	add := func(name, value string) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	if redis != "" && !v.Get(fieldRedis).Exists() {
		add(`"redis"`, redis)
	}
	fields := v.Items()
	for fields.Next() {
		if !theirs(fields.Key.Text()) {
			add(fields.Key.Raw, fields.Item.Raw)
		}
	}
	return append(out, '}')
}

// read takes one item apart, and says what is wrong with it.
func (r *Rule) read(v *jsontext.Value, redis string) string {
	if v.Kind != jsontext.Object {
		return "expected an object"
	}
	r.routes = texts(v, fieldRoute)
	r.prefixes = texts(v, fieldRoutePrefix)
	r.services = texts(v, fieldService)
	r.consumers = texts(v, fieldConsumer)
	for _, d := range texts(v, fieldDomain) {
		r.domains = append(r.domains, newDomain(d))
	}
	if len(r.routes)+len(r.prefixes)+len(r.services)+len(r.domains) == 0 {
		return "expected at least one of " + strings.Join([]string{fieldRoute, fieldDomain, fieldService, fieldRoutePrefix}, ", ")
	}
	r.Config = object(v, redis)
	return ""
}

// texts are a list's texts, or a single one; empty ones are left out.
func texts(v *jsontext.Value, field string) []string {
	at := v.Get(field)
	if s := at.Text(); s != "" {
		return []string{s}
	}
	if at.Kind != jsontext.List {
		return nil
	}
	var list []string
	items := at.Items()
	for items.Next() {
		if s := items.Item.Text(); s != "" {
			list = append(list, s)
		}
	}
	return list
}
