package ipaddr_test

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/ipaddr"
)

// like checks that a text means the same here and in net/netip.
func like(t interface {
	Helper()
	Errorf(string, ...any)
}, s string) {
	t.Helper()
	a, zoned, ok := ipaddr.Parse(s)
	b, err := netip.ParseAddr(s)
	if ok != (err == nil) {
		t.Errorf("%q: %v, want %v", s, ok, err)
		return
	}
	if ok {
		if zoned != (b.Zone() != "") {
			t.Errorf("%q: zone %v", s, zoned)
		}
		same(t, a, b.WithZone(""))
	}
	p, ok := ipaddr.ParsePrefix(s)
	q, err := netip.ParsePrefix(s)
	if ok != (err == nil) || ok && (p.String() != q.String() || p.Masked().String() != q.Masked().String() || p.Bits() != q.Bits() || (p == p.Masked()) != (q == q.Masked())) {
		t.Errorf("%q: network %v, %v, want %v, %v", s, p, ok, q, err)
	}
	a, port, ok := ipaddr.ParseAddrPort(s)
	ap, err := netip.ParseAddrPort(s)
	if ok != (err == nil) || ok && port != ap.Port() {
		t.Errorf("%q: port %d, %v, want %v, %v", s, port, ok, ap, err)
	} else if ok {
		same(t, a, ap.Addr().WithZone(""))
	}
}

// same checks everything that can be asked of an address.
func same(t interface {
	Helper()
	Errorf(string, ...any)
}, a ipaddr.Addr, b netip.Addr) {
	t.Helper()
	if a.String() != b.String() || a.Unmap().String() != b.Unmap().String() {
		t.Errorf("%v (%v unmapped), want %v (%v)", a, a.Unmap(), b, b.Unmap())
	}
	if a.Is4() != b.Is4() || a.Is4In6() != b.Is4In6() || a.BitLen() != b.BitLen() || a.IsValid() != b.IsValid() || a.IsLoopback() != b.IsLoopback() {
		t.Errorf("%v is another kind of address", b)
	}
	for n := -1; n <= 129; n++ {
		p, ok := a.Prefix(n)
		q, err := b.Prefix(n)
		if ok != (err == nil) || ok && p.String() != q.String() {
			t.Errorf("%v/%d is %v, %v, want %v, %v", b, n, p, ok, q, err)
		}
	}
}

var samples = []string{
	"", "1.2.3.4", "1.2.3", "1.2.3.4.5", "01.2.3.4", "1.2.3.256", "1..2.3", "1.2.3.4 ", "0.0.0.0", "255.255.255.255", "127.0.0.1", "127.255.0.9",
	"::", "::1", "1::", ":1", "1:", ":::", "1:::2", "1::2::3", "2001:db8::", "2001:db8::1", "2001:db8:0:0:1:0:0:1", "1:0:0:0:2:0:0:0", "1:2:3:4:5:6:7:8",
	"1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "1:2:3:4::5:6:7:8", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "12345::", "0001::", "00001::", "g::", "FE80::A",
	"::ffff:1.2.3.4", "::1.2.3.4", "1:2:3:4:5:6:1.2.3.4", "1:2:3:4:5:6:7:1.2.3.4", "1:2:3:4:5:1.2.3.4", "::ffff:127.0.0.1", "::ffff:1.2.3", "1.2.3.4::", "::1.2.3.4:5",
	"fe80::1%eth0", "fe80::1%", "1.2.3.4%eth0", "%eth0", "::ffff:1.2.3.4%x", "fe80::1%a%b",
	"1.2.3.4/8", "10.0.0.0/8", "10.0.0.0/08", "10.0.0.0/0", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "::/0", "::/128", "::/129", "::/0128", "2001:db8::/32", "::ffff:1.2.3.0/120", "fe80::1%a/64", "/8",
	"1.2.3.4:80", "1.2.3.4:0", "1.2.3.4:65535", "1.2.3.4:65536", "1.2.3.4:", ":80", "[::1]:80", "::1:80", "[1.2.3.4]:80", "[::1]", "[::1:80", "[fe80::1%e]:80", "[]:80", "1.2.3.4:0080", "1.2.3.4:+80", "[[::1]]:80",
}

func TestTextsLikeNetip(t *testing.T) {
	for _, s := range samples {
		like(t, s)
	}
}

func TestAddressesLikeNetip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Groups of zeros are what texts of addresses differ by.
		var b [16]byte
		for i := range 8 {
			g := rapid.OneOf(rapid.Just(uint16(0)), rapid.Uint16(), rapid.Just(uint16(0xffff))).Draw(t, "group")
			b[2*i], b[2*i+1] = byte(g>>8), byte(g)
		}
		a, want := ipaddr.From16(b), netip.AddrFrom16(b)
		four, want4 := ipaddr.From4([4]byte(b[12:])), netip.AddrFrom4([4]byte(b[12:]))
		same(t, a, want)
		same(t, four, want4)
		like(t, want.String())
		like(t, strings.ToUpper(want.StringExpanded()))
		like(t, want4.String())
		n := rapid.IntRange(0, 128).Draw(t, "bits")
		other := b
		if n < 128 {
			other[n/8] ^= 0x80 >> (n % 8)
		}
		for _, m := range []int{n, min(n+1, 128)} {
			if got, want := ipaddr.PrefixFrom(a, m).Contains(ipaddr.From16(other)), netip.PrefixFrom(want, m).Contains(netip.AddrFrom16(other)); got != want {
				t.Errorf("%v/%d contains %x: %v", a, m, other, got)
			}
		}
		if ipaddr.PrefixFrom(a, 0).Contains(four) || ipaddr.PrefixFrom(four, 0).Contains(a) || !ipaddr.PrefixFrom(four, 32).Contains(four) {
			t.Error("families mix")
		}
	})
}

func FuzzLikeNetip(f *testing.F) {
	for _, s := range samples {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { like(t, s) })
}
