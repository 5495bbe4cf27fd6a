package key_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/key"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

func parse(t testing.TB, parts ...string) *key.Key {
	t.Helper()
	var out []key.Part
	for _, p := range parts {
		part, err := key.ParsePart(p)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, part)
	}
	return key.New(out...)
}

func TestAppend(t *testing.T) {
	for _, c := range []struct {
		name    string
		parts   []string
		headers []string
		want    string
		missing bool
	}{
		{"one", []string{"header:a"}, []string{"a", "x"}, "x", false},
		{"two", []string{"header:a", "header:b"}, []string{"a", "x", "b", "y"}, "x|y", false},
		{"absent", []string{"header:a", "header:b"}, []string{"b", "y"}, "%-|y", true},
		{"empty is absent", []string{"header:a"}, []string{"a", ""}, "%-", true},
		{"escapes", []string{"header:a"}, []string{"a", "{}|:% \x00\x7f\xff~"}, "%7B%7D%7C%3A%25%20%00%7F%FF~", false},
		{"looks absent", []string{"header:a"}, []string{"a", "%-"}, "%25-", false},
		{"64 bytes", []string{"header:a"}, []string{"a", strings.Repeat("x", 64)}, strings.Repeat("x", 64), false},
		{"65 bytes", []string{"header:a"}, []string{"a", strings.Repeat("x", 65)}, "%~" + half(sum(strings.Repeat("x", 65))), false},
		{"IPv4", []string{"ip"}, nil, "192.0.2.1", false},
		{"first alternative", []string{"header:a or ip"}, []string{"a", "192.0.2.1"}, "192.0.2.1", false},
		{"second alternative", []string{"header:a or ip"}, nil, "%+b192.0.2.1", false},
		{"third alternative", []string{"header:a or header:b or const:c"}, nil, "%+cc", false},
		{"no alternative", []string{"header:a or header:b"}, nil, "%-", true},
		{"constant", []string{"const:a", "method"}, nil, "a|GET", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := sourcetest.New("h/", c.headers...).View(nil)
			got, missing := parse(t, c.parts...).Append([]byte("head:"), v)
			if string(got) != "head:"+c.want || missing != c.missing {
				t.Errorf("got %q, %v, want %q, %v", got, missing, c.want, c.missing)
			}
		})
	}
}

func TestIPv6IsEscaped(t *testing.T) {
	v := sourcetest.New("h/").From("[2001:db8::1]:1").View(nil)
	got, _ := parse(t, "ip", "ip/24").Append(nil, v)
	if want := "2001%3Adb8%3A%3A1|2001%3Adb8%3A%3A/64"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func sum(s string) []byte { h := sha256.Sum256([]byte(s)); return h[:] }

func half(b []byte) string { return strings.ToUpper(hex.EncodeToString(b[:16])) }

func TestNoKey(t *testing.T) {
	var k *key.Key
	got, missing := k.Append([]byte("x"), sourcetest.New("h/").View(nil))
	if string(got) != "x" || missing || k.Parts() != nil || k.String() != "" || k.Hashed(nil) != nil {
		t.Errorf("got %q, %v", got, missing)
	}
}

func TestHashed(t *testing.T) {
	secret := []byte("s3cret")
	for _, s := range [][]byte{secret, bytes.Repeat([]byte("k"), 100), nil} {
		h := key.NewHasher(s)
		k := parse(t, "header:a", "ip", "header:none or header:a").Hashed(h)
		for _, val := range []string{"x", strings.Repeat("long", 5000), "\x00{"} {
			v := sourcetest.New("h/", "a", val).View(nil)
			mac := func(text string) string {
				m := hmac.New(sha256.New, s)
				m.Write([]byte(text))
				return "%=" + half(m.Sum(nil))
			}
			got, _ := k.Append(nil, v)
			if want := mac(val) + "|" + mac("192.0.2.1") + "|%+b" + mac(val); string(got) != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
	}
}

func TestParsePart(t *testing.T) {
	p, err := key.ParsePart("header:X-Key or  ip")
	if err != nil || len(p) != 2 || p.String() != "header:x-key or ip" {
		t.Errorf("got %v, %v", p, err)
	}
	for text, want := range map[string]string{
		"":                               "unknown source",
		"ip or":                          "ip or ip/BITS",
		"ip or ip":                       "twice",
		"ip or nope":                     "unknown source",
		strings.Repeat("ip or ", 3000):   "at most 16",
		alternatives(17):                 "at most 16",
		"header:a or header:b or Header": "unknown source",
	} {
		if p, err := key.ParsePart(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, %v, want %q", text, p, err, want)
		}
	}
}

func alternatives(n int) string {
	var all []string
	for i := range n {
		all = append(all, "const:"+strings.Repeat("a", i+1))
	}
	return strings.Join(all, " or ")
}

// fataler is a test or a property.
type fataler interface {
	Fatalf(format string, args ...any)
}

// tuple is what two requests have to agree in to share a counter.
func tuple(values []string) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(hex.EncodeToString([]byte(v)))
		b.WriteByte(',')
	}
	return b.String()
}

func appendKey(t fataler, k *key.Key, values []string) string {
	r := sourcetest.New("h/")
	for i, v := range values {
		r.Headers[string(rune('a'+i))] = v
	}
	out, _ := k.Append(nil, r.View(nil))
	for _, c := range out {
		if c <= ' ' || c >= 0x7f || c == '{' || c == '}' || c == ':' {
			t.Fatalf("%q in key %q", c, out)
		}
	}
	return string(out)
}

func FuzzDifferentValuesNeverShareAKey(f *testing.F) {
	f.Add("a", "b", "a|b", "")
	f.Add("%-", "", "", "%-")
	f.Add("%7C", "|", "|", "%7C")
	f.Add(strings.Repeat("x", 65), "a", "%~"+half(sum(strings.Repeat("x", 65))), "a")
	f.Add("a", "", "", "a")
	k := parse(f, "header:a", "header:b")
	alt := parse(f, "header:a or header:b")
	h := k.Hashed(key.NewHasher([]byte("k")))
	f.Fuzz(func(t *testing.T, a1, b1, a2, b2 string) {
		one, two := []string{a1, b1}, []string{a2, b2}
		same := tuple(one) == tuple(two)
		if got := appendKey(t, k, one) == appendKey(t, k, two); got != same {
			t.Fatalf("%q and %q share a key: %v", one, two, got)
		}
		if got := appendKey(t, h, one) == appendKey(t, h, two); got != same {
			t.Fatalf("%q and %q share a hashed key: %v", one, two, got)
		}
		// With alternatives, which of them gave the value counts too.
		first := func(v []string) string {
			if v[0] != "" {
				return "a" + v[0]
			}
			return "b" + v[1]
		}
		if got := appendKey(t, alt, one) == appendKey(t, alt, two); got != (first(one) == first(two)) {
			t.Fatalf("%q and %q share a key of alternatives: %v", one, two, got)
		}
	})
}

func TestDifferentTuplesDifferentKeys(t *testing.T) {
	piece := rapid.SampledFrom([]string{"", "%", "%-", "|", "%7C", "a", "%25", "{", "%~", "%+b", "%=", "\xff", strings.Repeat("l", 64), ":"})
	value := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 3).Draw(t, "pieces"), "")
	})
	k := parse(t, "header:a", "header:b", "header:c")
	seen := map[string]string{}
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(value, 3, 3).Draw(t, "values")
		out := appendKey(t, k, v)
		if other, ok := seen[out]; ok && other != tuple(v) {
			t.Fatalf("%q and %s share %q", v, other, out)
		}
		seen[out] = tuple(v)
	})
}

func TestAppendAllocatesNothing(t *testing.T) {
	k := parse(t, "header:a or ip", "path", "ip/24", "header:long")
	hashed := k.Hashed(key.NewHasher([]byte("k")))
	r := sourcetest.New("h/a/b", "long", strings.Repeat("x", 2000))
	v := r.View(&source.Options{})
	v.ClientIP() // the test's own attribute map allocates
	buf := make([]byte, 0, 1024)
	for _, k := range []*key.Key{k, hashed} {
		if n := testing.AllocsPerRun(100, func() { buf, _ = k.Append(buf[:0], v) }); n != 0 {
			t.Errorf("%v allocations for %s", n, k)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	for name, parts := range map[string][]string{
		"ip": {"ip"}, "header": {"header:a"}, "three": {"header:a", "ip", "path"}, "long": {"header:long"},
	} {
		b.Run(name, func(b *testing.B) {
			k := parse(b, parts...)
			v := sourcetest.New("h/api/order/create", "a", "user-12345", "long", strings.Repeat("x", 2000)).View(nil)
			buf := make([]byte, 0, 256)
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = k.Append(buf[:0], v)
			}
		})
	}
}
