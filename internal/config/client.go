package config

import (
	"strings"

	"sluice/internal/jsontext"
	"sluice/internal/source"
)

var clientTable = &table[source.Client]{
	name: "client_ip",
	doc:  "One way at most; without any, the client is the peer of the connection. Envoy has to be told `use_remote_address: true`: else all of X-Forwarded-For is the caller's own word, and the address counts as missing. What Envoy itself appends there for the peer isn't counted; so `skip_xff_append` can't be used together with peers on the same machine.",
	fields: []field[source.Client]{
		row("trusted_hops", integer(0, source.MaxTrustedHops), "0", "How many proxies in front of this one are believed: the client is this many entries left of the peer in X-Forwarded-For.",
			func(t *source.Client, v int64) { t.TrustedHops = int(v) }),
		row("trusted", ranges(), "", "Addresses of proxies: the client is the first address that isn't one of them, from the peer leftwards in X-Forwarded-For.",
			func(t *source.Client, v *source.CIDRs) { t.Trusted = v }),
		row("header", headerName(), "", "Header with the client's address, believed when the peer is in `from`.",
			func(t *source.Client, v string) { t.Header = v }),
		row("from", ranges(), "", "Addresses of the peers whose `header` is believed.",
			func(t *source.Client, v *source.CIDRs) { t.From = v }),
		row("envoy", boolean(), "false", "The address that Envoy itself decided on: original-IP detection, sidecars.",
			func(t *source.Client, v bool) { t.Envoy = v }),
	},
	finish: func(p *parser, v *jsontext.Value, given func(string) *jsontext.Value, t *source.Client) {
		first := ""
		for _, name := range []string{"trusted_hops", "trusted", "header", "envoy"} {
			if !given(name).Exists() {
				continue
			}
			if first != "" {
				p.failField(given(name), name, "can't be given together with "+first, "")
			}
			first = name
		}
		switch h, f := given("header").Exists(), given("from").Exists(); {
		case h && !f:
			p.failField(v, "from", "is required with header: anyone else could write it too", "")
		case f && !h:
			p.failField(given("from"), "from", "needs header", "")
		}
	},
}

// headerName is a header's name; it is read in lower case.
//
//go:noinline
func headerName() kind[string] {
	t := Type{Name: "header name", Pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"}
	return mapped(text(t, func(s string) string {
		if !source.Token(s) {
			return quote(s) + " is not a header name"
		}
		return ""
	}), func(_ *parser, _ *jsontext.Value, s string) (string, bool) { return strings.ToLower(s), true })
}

// ranges is a list of address ranges.
//
//go:noinline
func ranges() kind[*source.CIDRs] {
	one := text(Type{Name: "address range", Doc: "`10.0.0.0/8`, `2001:db8::/32` or one address."}, func(s string) string {
		if _, err := source.ParseCIDR(s); err != nil {
			return err.Error()
		}
		return ""
	})
	return mapped(oneOrList(one), func(_ *parser, _ *jsontext.Value, texts []string) (*source.CIDRs, bool) {
		c := new(source.CIDRs)
		for _, t := range texts {
			if r, err := source.ParseCIDR(t); err == nil {
				c.Add(r)
			}
		}
		return c, true
	})
}
