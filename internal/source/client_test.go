package source_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/ipaddr"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

func cidrs(t testing.TB, texts ...string) *source.CIDRs {
	t.Helper()
	c := new(source.CIDRs)
	for _, s := range texts {
		p, err := source.ParseCIDR(s)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(p)
	}
	return c
}

func TestClientIP(t *testing.T) {
	proxies := cidrs(t, "10.0.0.0/8", "2001:db8:1::/48")
	for name, c := range map[string]struct {
		client source.Client
		source string // attribute source.address; "-" for a host without it
		xff    string
		header string // cf-connecting-ip
		want   string // "" for none
	}{
		"peer":                            {source: "203.0.113.7:4711", xff: "203.0.113.7", want: "203.0.113.7"},
		"peer and what it sent":           {source: "203.0.113.7:4711", xff: "1.1.1.1, 203.0.113.7", want: "203.0.113.7"},
		"peer without a header":           {source: "203.0.113.7:4711", want: "203.0.113.7"},
		"IPv6 peer":                       {source: "[2001:DB8::7]:4711", want: "2001:db8::7"},
		"mapped peer":                     {source: "[::ffff:203.0.113.7]:4711", want: "203.0.113.7"},
		"peer with a zone":                {source: "[fe80::1%eth0]:4711", want: "fe80::1"},
		"the caller's own word":           {source: "1.1.1.1:0", xff: "1.1.1.1"},
		"the caller's own word, with hop": {client: source.Client{TrustedHops: 1}, source: "1.1.1.1:0", xff: "2.2.2.2, 1.1.1.1"},
		"unix socket":                     {source: "/run/envoy.sock", xff: "1.1.1.1"},
		"garbage attribute":               {source: strings.Repeat("9", 500), xff: "1.1.1.1"},
		"no attribute":                    {source: "-", xff: "1.1.1.1, 203.0.113.7", want: "203.0.113.7"},
		"no attribute, last entry bad":    {source: "-", xff: "203.0.113.7, nonsense"},
		"no attribute, no header":         {source: "-"},

		"one hop":               {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "1.1.1.1, 2.2.2.2, 10.0.0.1", want: "2.2.2.2"},
		"two hops":              {client: source.Client{TrustedHops: 2}, source: "10.0.0.1:1", xff: "1.1.1.1, 2.2.2.2, 10.0.0.1", want: "1.1.1.1"},
		"fewer entries":         {client: source.Client{TrustedHops: 5}, source: "10.0.0.1:1", xff: "1.1.1.1, 2.2.2.2, 10.0.0.1", want: "1.1.1.1"},
		"hop, nothing sent":     {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "10.0.0.1", want: "10.0.0.1"},
		"hop, no header":        {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", want: "10.0.0.1"},
		"hop, peer not added":   {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "1.1.1.1, 2.2.2.2", want: "2.2.2.2"},
		"hop with port":         {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "2.2.2.2:99, 10.0.0.1", want: "2.2.2.2"},
		"hop with brackets":     {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "[2001:db8::9]:99,10.0.0.1", want: "2001:db8::9"},
		"hop, mapped":           {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "::ffff:2.2.2.2 , 10.0.0.1", want: "2.2.2.2"},
		"hop, garbage":          {client: source.Client{TrustedHops: 1}, source: "10.0.0.1:1", xff: "1.1.1.1, unknown, 10.0.0.1", want: "10.0.0.1"},
		"hop of this machine":   {client: source.Client{TrustedHops: 1}, source: "127.0.0.1:1", xff: "1.1.1.1, 2.2.2.2, 10.0.0.9", want: "2.2.2.2"},
		"only this machine":     {client: source.Client{TrustedHops: 1}, source: "[::1]:1", xff: "10.0.0.9", want: "::1"},
		"two hops, one garbage": {client: source.Client{TrustedHops: 2}, source: "10.0.0.1:1", xff: "junk, 2.2.2.2, 10.0.0.1", want: "2.2.2.2"},

		"trusted":            {client: source.Client{Trusted: proxies}, source: "10.0.0.1:1", xff: "1.1.1.1, 2.2.2.2, 10.9.9.9, 10.0.0.1", want: "2.2.2.2"},
		"trusted IPv6":       {client: source.Client{Trusted: proxies}, source: "[2001:db8:1::5]:1", xff: "2.2.2.2, 2001:db8:1::5", want: "2.2.2.2"},
		"peer not trusted":   {client: source.Client{Trusted: proxies}, source: "9.9.9.9:1", xff: "1.1.1.1, 9.9.9.9", want: "9.9.9.9"},
		"all trusted":        {client: source.Client{Trusted: proxies}, source: "10.0.0.1:1", xff: "10.0.0.3, 10.0.0.2, 10.0.0.1", want: "10.0.0.3"},
		"trusted, garbage":   {client: source.Client{Trusted: proxies}, source: "10.0.0.1:1", xff: "1.1.1.1, junk, 10.0.0.2, 10.0.0.1", want: "10.0.0.2"},
		"trusted, no header": {client: source.Client{Trusted: proxies}, source: "10.0.0.1:1", want: "10.0.0.1"},

		"header":             {client: source.Client{Header: "cf-connecting-ip", From: proxies}, source: "10.0.0.1:1", header: "8.8.8.8", want: "8.8.8.8"},
		"header, IPv6":       {client: source.Client{Header: "cf-connecting-ip", From: proxies}, source: "10.0.0.1:1", header: "2001:DB8::8", want: "2001:db8::8"},
		"header of a caller": {client: source.Client{Header: "cf-connecting-ip", From: proxies}, source: "9.9.9.9:1", header: "8.8.8.8", want: "9.9.9.9"},
		"header, garbage":    {client: source.Client{Header: "cf-connecting-ip", From: proxies}, source: "10.0.0.1:1", header: "8.8.8.8, 1.1.1.1", want: "10.0.0.1"},
		"header, none":       {client: source.Client{Header: "cf-connecting-ip", From: proxies}, source: "10.0.0.1:1", want: "10.0.0.1"},

		"envoy":              {client: source.Client{Envoy: true}, source: "1.1.1.1:0", xff: "1.1.1.1", want: "1.1.1.1"},
		"envoy, other":       {client: source.Client{Envoy: true}, source: "203.0.113.7:4711", xff: "1.1.1.1, 203.0.113.7", want: "203.0.113.7"},
		"envoy, unix socket": {client: source.Client{Envoy: true}, source: "/run/envoy.sock"},
		"envoy, none":        {client: source.Client{Envoy: true}, source: "-", xff: "1.1.1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			r := sourcetest.New("example.com/").From(c.source)
			if c.source == "-" {
				delete(r.Attributes, "source.address")
			}
			if c.xff != "" {
				r.Headers["x-forwarded-for"] = c.xff
			}
			if c.header != "" {
				r.Headers["cf-connecting-ip"] = c.header
			}
			v := r.View(&source.Options{Client: c.client})
			if v.ClientUnknown() {
				t.Error("unknown before it was asked for")
			}
			got, ok := v.ClientIP()
			if ok != (c.want != "") || ok && got.String() != c.want {
				t.Errorf("client is %v, %v, want %q", got, ok, c.want)
			}
			if v.ClientUnknown() != (c.want == "") {
				t.Errorf("unknown is %v", v.ClientUnknown())
			}
			if again, _ := v.ClientIP(); again != got {
				t.Errorf("then it is %v", again)
			}
			if r.Asked > 1 {
				t.Errorf("%d attributes read", r.Asked)
			}
		})
	}
}

func TestHostileForwardedFor(t *testing.T) {
	for name, xff := range map[string]string{
		"64 kB of one entry": strings.Repeat("1", 64<<10),
		"thousands":          strings.Repeat("10.0.0.2,", 7000) + "10.0.0.1",
		"commas":             strings.Repeat(",", 64<<10),
		"spaces":             strings.Repeat(" ", 64<<10) + ",10.0.0.1",
		"bytes":              "\x00\xff\x80, \xc0\xaf, %s, 10.0.0.1",
		"colons":             strings.Repeat(":", 64<<10) + ", 10.0.0.1",
	} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []source.Client{{TrustedHops: source.MaxTrustedHops}, {Trusted: cidrs(t, "10.0.0.0/8")}} {
				r := sourcetest.New("example.com/", "x-forwarded-for", xff).From("10.0.0.1:1")
				v := r.View(&source.Options{Client: c})
				got, ok := v.ClientIP()
				if !ok || got.Is4In6() {
					t.Errorf("client is %v, %v", got, ok)
				}
			}
		})
	}
}

func FuzzClientIP(f *testing.F) {
	f.Add("203.0.113.7:1", "1.1.1.1, 2.2.2.2", 1, false)
	f.Add("1.1.1.1:0", "[::1]:80,::ffff:1.2.3.4", 3, true)
	f.Add("", "fe80::1%eth0", 0, false)
	f.Add("[::1]:1", ",,,", 2, true)
	f.Fuzz(func(t *testing.T, addr, xff string, hops int, trusted bool) {
		c := source.Client{TrustedHops: hops & 63}
		if trusted {
			c = source.Client{Trusted: cidrs(t, "0.0.0.0/1", "::/0")}
		}
		v := sourcetest.New("example.com/", "x-forwarded-for", xff).From(addr).View(&source.Options{Client: c})
		a, ok := v.ClientIP()
		if ok != a.IsValid() {
			t.Fatalf("client is %v, %v", a, ok)
		}
		if a.Is4In6() {
			t.Fatalf("%v is not canonical", a)
		}
		if ok {
			if b, _, ok := ipaddr.Parse(a.String()); !ok || b != a {
				t.Fatalf("%v reads back as %v, %v", a, b, ok)
			}
		}
		// Whom the caller claims to be never decides whether he is known.
		w := sourcetest.New("example.com/").From(addr).View(&source.Options{Client: c})
		if _, known := w.ClientIP(); known != ok && addr != "" {
			t.Fatalf("known %v with the header, %v without", ok, known)
		}
	})
}

func TestParseCIDR(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", "192.0.2.1": "192.0.2.1/32", "2001:db8::/32": "2001:db8::/32",
		"2001:DB8::1": "2001:db8::1/128", "::ffff:10.0.0.0/104": "10.0.0.0/8", "::ffff:1.2.3.4": "1.2.3.4/32",
		"0.0.0.0/0": "0.0.0.0/0", "::/0": "::/0",
	} {
		got, err := source.ParseCIDR(text)
		if err != nil || got.String() != want {
			t.Errorf("%q is %v, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", "10.0.0.1/8", "10.0.0.0/33", "10.0.0", "a", "fe80::1%eth0", "::ffff:0:0/90", "10.0.0.0/-1", "1.2.3.4:80", "/8"} {
		if got, err := source.ParseCIDR(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func FuzzCIDRs(f *testing.F) {
	f.Add("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3")
	f.Add("::/0", "2001:db8::/32", "1.2.3.4")
	f.Fuzz(func(t *testing.T, a, b, addr string) {
		p, err1 := source.ParseCIDR(a)
		q, err2 := source.ParseCIDR(b)
		x, ok := source.ParseAddr(addr)
		if err1 != nil || err2 != nil || !ok {
			return
		}
		var c source.CIDRs
		c.Add(p)
		c.Add(q)
		if got, want := c.Contains(x), p.Contains(x) || q.Contains(x); got != want {
			t.Fatalf("%v in {%v, %v}: %v, want %v", x, p, q, got, want)
		}
	})
}

func TestCIDRsAgreeWithTryingAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr := func() ipaddr.Addr {
			// Few bits vary, so that prefixes meet.
			b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 0x80, 0xff}), 16, 16).Draw(t, "bytes")
			if rapid.Bool().Draw(t, "v4") {
				return ipaddr.From4([4]byte(b[:4]))
			}
			return ipaddr.From16([16]byte(b)).Unmap()
		}
		var all []ipaddr.Prefix
		var c source.CIDRs
		for range rapid.IntRange(0, 30).Draw(t, "ranges") {
			a := addr()
			p := ipaddr.PrefixFrom(a, rapid.IntRange(0, a.BitLen()).Draw(t, "bits")).Masked()
			all = append(all, p)
			c.Add(p)
		}
		for range 20 {
			a := addr()
			want := false
			for _, p := range all {
				want = want || p.Contains(a)
			}
			if got := c.Contains(a); got != want {
				t.Fatalf("%v in %v: %v, want %v", a, all, got, want)
			}
		}
		if c.Len() != len(all) {
			t.Fatalf("%d ranges, want %d", c.Len(), len(all))
		}
	})
}
