package operate

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"sluice/internal/config"
	"sluice/internal/key"
	"sluice/internal/override"
)

// Missing is what stands for a part of a key that a request lacks.
const Missing = "(missing)"

// Target finds out what a limit's name and the parts of a caller's key mean. The
// parts are written as a request has them; where a part of the limit's key has
// several sources, behind the source that is meant (header:x-api-key=abc).
func (o *Operator) Target(name string, parts []string) (override.Target, error) {
	t := override.Target{Name: name, Keyed: len(parts) > 0}
	var given []key.Given
	var k *key.Key
	if o.Policy == nil {
		for _, p := range parts {
			given = append(given, key.Given{Value: p, Absent: p == Missing})
		}
	} else {
		if err := o.knows(name); err != nil {
			return t, err
		}
		l, _ := o.Policy.RunTime(0).Named(name)
		k = l.Key
		var err error
		if given, err = values(l, parts); err != nil {
			return t, err
		}
	}
	for i, g := range given {
		if g.Value == "" && !g.Absent {
			return t, fmt.Errorf("part %d of the key is empty, which is a missing one: write %s", i+1, Missing)
		}
	}
	t.Values = string(k.AppendGiven(nil, given))
	_, err := override.ParseField(t.Field())
	return t, err
}

// Raw is the target whose key's values are given as they stand in a counter's
// name.
func (o *Operator) Raw(name, raw string) (override.Target, error) {
	if o.Policy != nil {
		if err := o.knows(name); err != nil {
			return override.Target{}, err
		}
	}
	t := override.Target{Name: name, Keyed: true, Values: raw}
	_, err := override.ParseField(t.Field())
	return t, err
}

// values reads the parts of a limit's key.
func values(l *config.Limit, parts []string) ([]key.Given, error) {
	sources := l.Key.Parts()
	switch {
	case len(parts) == 0:
		return nil, nil
	case len(sources) == 0:
		return nil, fmt.Errorf("limit %s has no key: all requests share one counter, so name the limit alone", l.Name)
	case len(parts) != len(sources):
		return nil, fmt.Errorf("the key of limit %s has %d parts (%s), and %d are given", l.Name, len(sources), l.Key, len(parts))
	}
	given := make([]key.Given, len(parts))
	for i, text := range parts {
		g, err := value(sources[i], text)
		if err != nil {
			return nil, fmt.Errorf("key of limit %s: %w", l.Name, err)
		}
		given[i] = g
	}
	return given, nil
}

func value(p key.Part, text string) (key.Given, error) {
	if text == Missing {
		return key.Given{Absent: true}, nil
	}
	g := key.Given{Value: text}
	named := false
	for i, s := range p {
		if rest, ok := strings.CutPrefix(text, s.String()+"="); ok {
			g, named = key.Given{Alternative: i, Value: rest}, true
			break
		}
	}
	if len(p) > 1 && !named {
		var forms []string
		for _, s := range p {
			forms = append(forms, s.String()+"="+text)
		}
		return g, errors.New("say which source has the value: " + strings.Join(forms, " or "))
	}
	var err error
	g.Value, err = canonical(p[g.Alternative].String(), g.Value)
	return g, err
}

// canonical writes an address as gateways do; what isn't one stays.
func canonical(source, text string) (string, error) {
	bits, isNetwork := strings.CutPrefix(source, "ip/")
	if source != "ip" && !isNetwork {
		return text, nil
	}
	addr, err := netip.ParseAddr(text)
	if err != nil {
		prefix, err2 := netip.ParsePrefix(text)
		if err2 != nil || !isNetwork {
			return "", fmt.Errorf("%q is no address", text)
		}
		addr = prefix.Addr()
	}
	addr = addr.Unmap().WithZone("")
	if !isNetwork {
		return addr.String(), nil
	}
	four, six, both := strings.Cut(bits, ",")
	if !both {
		six = "64"
	}
	if addr.Is6() {
		four = six
	}
	n, err := strconv.Atoi(four)
	if err != nil {
		return "", err
	}
	p, err := addr.Prefix(n)
	return p.String(), err
}
