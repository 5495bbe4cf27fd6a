package config

import (
	"strings"

	"sluice/internal/ipaddr"
	"sluice/internal/jsontext"
	"sluice/internal/source"
)

var defaultClient source.Client

var clientTable = newTable("client_ip",
	"One way at most; without any, the client is the peer of the connection. Envoy has to be told `use_remote_address: true`: else all of X-Forwarded-For is the caller's own word, and the address counts as missing. What Envoy itself appends there for the peer isn't counted; so `skip_xff_append` can't be used together with peers on the same machine.", &defaultClient, []*field{
		row("trusted_hops", &defaultClient.TrustedHops, narrow[int](integer(0, source.MaxTrustedHops)), "0", "How many proxies in front of this one are believed: the client is this many entries left of the peer in X-Forwarded-For."),
		row("trusted", &defaultClient.Trusted, ranges(), "", "Addresses of proxies: the client is the first address that isn't one of them, from the peer leftwards in X-Forwarded-For."),
		row("header", &defaultClient.Header, headerName(), "", "Header with the client's address, believed when the peer is in `from`."),
		row("from", &defaultClient.From, ranges(), "", "Addresses of the peers whose `header` is believed."),
		row("envoy", &defaultClient.Envoy, boolean(), "false", "The address that Envoy itself decided on: original-IP detection, sidecars."),
	}, finishClient)

func finishClient(p *parser, v *jsontext.Value, given givenFields, _ *source.Client) {
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
}

// headerName is a header's name; it is read in lower case.
//
//go:noinline
func headerName() kind[string] {
	return worded("a header name", func(p *parser, v *jsontext.Value, s string, to *string) bool {
		if !source.Token(s) {
			return p.fail(v, quote(s)+" is not a header name")
		}
		*to = strings.ToLower(s)
		return true
	}).as(Type{Name: "header name", Pattern: "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$"})
}

// ranges is a list of address ranges.
//
//go:noinline
func ranges() kind[*source.CIDRs] {
	list := oneOrList(worded("an address range", func(p *parser, v *jsontext.Value, s string, to *ipaddr.Prefix) bool {
		r, err := source.ParseCIDR(s)
		if err != nil {
			return p.fail(v, err.Error())
		}
		*to = r
		return true
	}).as(Type{Name: "address range", Doc: "`10.0.0.0/8`, `2001:db8::/32` or one address."}))
	return kind[*source.CIDRs]{newKind(func(p *parser, v *jsontext.Value, to **source.CIDRs) bool {
		var all []ipaddr.Prefix
		if !list.read(p, v, &all) {
			return false
		}
		*to = new(source.CIDRs)
		for _, r := range all {
			(*to).Add(r)
		}
		return true
	}).like(list.reader)}
}
