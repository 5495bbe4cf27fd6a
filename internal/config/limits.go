package config

import (
	"slices"
	"strconv"

	"sluice/internal/jsontext"
	"sluice/internal/limit"
	"sluice/internal/match"
)

// maxLimits bounds how many limits a configuration has.
const maxLimits = 20_000

// limitList is the list of limits.
//
//go:noinline
func limitList() kind[[]*Limit] {
	return newKind(func(p *parser, v *jsontext.Value, to *[]*Limit) bool {
		if v.Kind != jsontext.List {
			return p.want(v, "a list of limits")
		}
		before := p.failures()
		names := map[string]string{} // name of a counter to the path of the limit that has it
		i := 0
		c := v.Items()
		for c.Next() {
			if i == maxLimits {
				p.fail(v, "a configuration has at most "+strconv.Itoa(maxLimits)+" limits")
				break
			}
			p.item(i)
			p.scope = bindScope{}
			d := new(draft)
			if limitTable.read(p, &c.Item, d) {
				l := d.Limit
				l.Index = i
				p.unique(&c.Item, names, &l)
				*to = append(*to, &l)
			}
			p.out()
			i++
		}
		p.scope = bindScope{}
		return p.failures() == before
	}).as(Type{Kind: ListType, Items: &Type{Kind: ObjectType, Object: limitTable.typ().Object}})
}

// unique checks that no other limit has this one's names.
func (p *parser) unique(v *jsontext.Value, names map[string]string, l *Limit) {
	here := p.at()
	refused := ""
	claim := func(name string) {
		other, taken := names[name]
		if taken && other != here {
			if refused != name {
				p.failField(v.Get("name"), "name", quote(name)+" is already taken by "+other, "")
			}
			refused = name
			return
		}
		names[name] = here
	}
	claim(l.Name)
	l.eachRate(func(r *Rate) { claim(r.counter) })
}

// finishLimit puts a limit together out of its fields.
func finishLimit(p *parser, v *jsontext.Value, given givenFields, d *draft) {
	d.OnError = p.policy.OnError
	if d.onError != nil {
		d.OnError = *d.onError
	}
	d.Reject = p.policy.Reject
	if d.reject != nil {
		d.Reject = *d.reject
	}
	if len(d.Except) > 0 {
		d.exceptIndex = match.NewIndex(d.Except)
	}
	a := findAlgorithm(p, given, d)
	if a == nil {
		return
	}
	d.Algorithm = a
	checkOptions(p, given, a)
	if d.Scope == ScopeGateway {
		checkGatewayScope(p, given)
	}
	d.checkHot(p, given)
	if !d.baseRates(p, v, given) {
		return
	}
	d.Rates = d.rates.list
	d.base = Variant{Rates: d.Rates, Shadow: d.Shadow}
	if f := d.rates.from; f != nil {
		f.finish(p, given("rate"), d)
		d.RateFrom = f
	}
	d.finishOverrides(p, given("overrides"))
}

// checkGatewayScope reports fields that are about Redis.
func checkGatewayScope(p *parser, given givenFields) {
	for _, name := range []string{"storage", "hash_tag", "on_error", "hot"} {
		if v := given(name); v.Exists() {
			p.failField(v, name, "has no meaning with scope: gateway, which asks no Redis", "")
		}
	}
}

// baseRates completes the rates of a limit, or its max.
func (d *draft) baseRates(p *parser, v *jsontext.Value, given givenFields) bool {
	at, name := given("rate"), "rate"
	if takes(d.Algorithm, optionMax) {
		at, name = given("max"), "max"
		if given("rate").Exists() {
			return p.failField(given("rate"), "rate", d.Algorithm.Name+" takes max instead", "")
		}
		d.rates = rates{list: []Rate{{Text: "max " + at.Raw, Params: limit.Params{WindowMS: 1}, unit: noUnit}}}
	}
	if !at.Exists() {
		return p.failField(v, name, "is required", "")
	}
	if len(d.rates.list) == 0 {
		return false // reported where it was read
	}
	p.in(name)
	defer p.out()
	return d.complete(p, at, d.rates.list, &d.options)
}

// complete fills in all of rates but their number and window. at is their place.
func (d *draft) complete(p *parser, at *jsontext.Value, list []Rate, options *givenOptions) bool {
	before := p.failures()
	var places []jsontext.Value
	if at.Kind == jsontext.List {
		c := at.Items()
		for c.Next() {
			places = append(places, c.Item)
		}
	}
	for i := range list {
		r := &list[i]
		fail := func(message string) {
			if len(places) == len(list) {
				p.item(i)
				defer p.out()
				p.fail(&places[i], message)
				return
			}
			p.fail(at, message)
		}
		if msg := r.fit(d.Algorithm); msg != "" {
			fail(msg)
			continue
		}
		options.apply(d.Algorithm, &r.Params)
		r.Name = d.Name
		if len(list) > 1 {
			r.Name += "-" + windowText(r)
		}
		d.naming(p).place(r)
		r.ID = p.rates
		p.rates++
		for j := range list[:i] {
			if list[j].Params.WindowMS == r.Params.WindowMS {
				fail("there already is a rate with this window")
			}
		}
		if err := d.Algorithm.Check(&r.Params); err != nil {
			fail(err.Error())
			continue
		}
		if msg := r.heat(&d.Limit); msg != "" {
			fail(msg)
		}
	}
	return p.failures() == before
}

// finishOverrides completes the rates of overrides.
func (d *draft) finishOverrides(p *parser, at *jsontext.Value) {
	if len(d.Overrides) == 0 {
		return
	}
	when := make([]*match.Matcher, len(d.Overrides))
	i := 0
	p.in("overrides")
	defer p.out()
	c := at.Items()
	for i < len(d.Overrides) && c.Next() {
		o := &d.Overrides[i]
		when[i] = o.When
		p.item(i)
		d.finishOverride(p, &c.Item, o)
		p.out()
		i++
	}
	d.overrideIndex = match.NewIndex(when)
}

func (d *draft) finishOverride(p *parser, item *jsontext.Value, o *Override) {
	o.Shadow = d.Shadow
	if o.shadow != nil {
		o.Shadow = *o.shadow
	}
	if o.burst != nil && !takes(d.Algorithm, optionBurst) {
		p.failField(item.Get("burst"), "burst", d.Algorithm.Name+" doesn't take this field", "")
		return
	}
	if o.rates != nil && takes(d.Algorithm, optionMax) {
		p.failField(item.Get("rate"), "rate", d.Algorithm.Name+" takes no rate", "")
		return
	}
	if o.rates == nil && o.burst == nil {
		o.Rates = d.Rates
		return
	}
	o.Rates = o.rates
	if o.rates == nil {
		o.Rates = append([]Rate(nil), d.Rates...)
	}
	options := d.options
	if o.burst != nil {
		options[optionBurst] = optionValue{given: true, n: *o.burst}
	}
	at, name := item.Get("rate"), "rate"
	if !at.Exists() {
		at, name = item.Get("burst"), "burst"
	}
	p.in(name)
	defer p.out()
	d.complete(p, at, o.Rates, &options)
}

// eachRate calls f for every rate that doesn't depend on a request.
func (l *Limit) eachRate(f func(r *Rate)) {
	for i := range l.Rates {
		f(&l.Rates[i])
	}
	for i := range l.Overrides {
		o := &l.Overrides[i]
		if len(o.Rates) > 0 && &o.Rates[0] == &l.Rates[0] {
			continue
		}
		for j := range o.Rates {
			f(&o.Rates[j])
		}
	}
}

// algorithmName is the name of an algorithm. It is looked up later, with the storage.
func algorithmName() kind[string] {
	k := text(nil)
	if described {
		k.typ = &Type{Enum: names(func(a *limit.Algorithm) string { return a.Name })}
	}
	return k
}

// storageName is the name of a storage.
func storageName() kind[string] {
	k := text(nil)
	if described {
		k.typ = &Type{Enum: names(func(a *limit.Algorithm) string { return a.Storage })}
	}
	return k
}

// names lists what all algorithms have for a name, but "", each once.
//
//go:noinline
func names(name func(a *limit.Algorithm) string) []string {
	var all []string
	for _, a := range limit.Algorithms() {
		if n := name(a); n != "" && !slices.Contains(all, n) {
			all = append(all, n)
		}
	}
	return all
}

// findAlgorithm looks up what algorithm and storage name.
func findAlgorithm(p *parser, given givenFields, d *draft) *limit.Algorithm {
	var storages []string
	var first *limit.Algorithm
	for _, a := range limit.Algorithms() {
		if a.Name != d.algorithm {
			continue
		}
		// The first storage that is registered is the default one.
		if first == nil {
			first = a
		}
		if a.Storage != "" {
			storages = append(storages, a.Storage)
		}
		if a.Storage == d.storage && d.storage != "" {
			return a
		}
	}
	switch {
	case first == nil:
		names := names(func(a *limit.Algorithm) string { return a.Name })
		p.failField(given("algorithm"), "algorithm", "expected "+listed(names)+", not "+quote(d.algorithm), nearest(d.algorithm, names))
	case d.storage == "":
		return first
	case len(storages) == 0:
		p.failField(given("storage"), "storage", d.algorithm+" has no choice of storage", "")
	default:
		p.failField(given("storage"), "storage", "expected "+listed(storages)+", not "+quote(d.storage), nearest(d.storage, storages))
	}
	return nil
}
