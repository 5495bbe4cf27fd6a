package source_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/source"
)

// spellings are all ways to write one path that a server could take for it.
var spellings = map[string][]string{
	"/api/order/create": {
		"/api/order/create",
		"//api/order/create",
		"/api//order///create",
		"/./api/order/create",
		"/api/./order/./create",
		"/api/x/../order/create",
		"/../api/order/create",
		"/../../api/order/create",
		"/api/order/create?x=1",
		"/api/order/create?",
		"/api/order/create?/../../other",
		"/api/order/create#frag",
		"/api/order/create#frag?x",
		"/api/order/create;v=1",
		"/api;a=b/order;c/create;d=e;f",
		"/api/order/create;v=1?x=2",
		"/api/order/;x/create",
		"/api/order/create/",
		"/api/order/create//",
		"/api/order/create/.",
		"/api/order/create/x/..",
		"/api/order/create/;x",
		"/%61pi/order/create",
		"/api/%6Frder/creat%65",
		"/api/%6frder/create",
		"/api%2Forder%2fcreate",
		"/api/%2E/order/create",
		"/api/x/%2e%2E/order/create",
		"/api/x/.%2e/order/create",
		"/api/x/..;v=1/order/create",
		"/api/x/%2e%2e;/order/create",
		"/api%2f..%2fapi/order/create",
		"/api\\order\\create",
		"/api/x\\..\\order/create",
		"/api%5Corder%5ccreate",
		"/api/order%3Bv=1/create",
		"/api/order/create%3b",
		"api/order/create",
		"http://example.com/api/order/create",
		"https://example.com:443//api/order/create?x",
	},
	"/":    {"/", "//", "/.", "/..", "/a/..", "/;x", "/?x", "/%2e", "/%2F", "http://example.com", "http://example.com?x", "\\"},
	"/%41": {"/%2541", "/%25%34%31", "//%2541/"},
	"/%":   {"/%", "/%25", "/%25/"},
	"/%zz": {"/%zz", "/%25zz", "/%25%7a%7a"},
	"/a b": {"/a%20b", "/a b", "/a%20b/"},
	"/ä":   {"/%c3%a4", "/%C3%A4", "/ä"},
	"/a?b": {"/a%3Fb", "/a%3fb?c"},
	"/a#b": {"/a%23b", "/a%23b#c"},
	"/...": {"/...", "/%2e..", "/.%2e."},
	"/.a":  {"/.a", "/./.a", "/%2ea"},
	"/a.":  {"/a.", "/a%2E", "/a./"},
	"*":    {"*"},
	"":     {""},
}

func TestSpellingsAreOnePath(t *testing.T) {
	o := &source.Options{IgnoreTrailingSlash: true}
	for want, all := range spellings {
		for _, raw := range all {
			path, _ := source.SplitPath(raw)
			if got := source.NormalizePath(path, o); got != want {
				t.Errorf("%q is %q, want %q", raw, got, want)
			}
		}
	}
}

func TestOtherPathsStayOthers(t *testing.T) {
	o := &source.Options{IgnoreTrailingSlash: true}
	seen := map[string]string{}
	for _, raw := range []string{"/a", "/A", "/a/b", "/a.b", "/a%20", "/a+", "/a,b", "/a:b", "/a=b", "/a%00", "/a~", "/..a", "/a..", "/%2541"} {
		path, _ := source.SplitPath(raw)
		got := source.NormalizePath(path, o)
		if other, ok := seen[got]; ok {
			t.Errorf("%q and %q are both %q", raw, other, got)
		}
		seen[got] = raw
	}
}

func TestPathOptions(t *testing.T) {
	for _, c := range []struct {
		raw, want string
		o         source.Options
	}{
		{"/a/", "/a/", source.Options{}},
		{"/a//", "/a/", source.Options{}},
		{"/a/b/..", "/a/", source.Options{}},
		{"/a/.", "/a/", source.Options{}},
		{"/a/", "/a", source.Options{IgnoreTrailingSlash: true}},
		{"/", "/", source.Options{IgnoreTrailingSlash: true}},
		{"/Api/ORDER", "/Api/ORDER", source.Options{}},
		{"/Api/ORDER", "/api/order", source.Options{IgnoreCase: true}},
		{"/%41", "/a", source.Options{IgnoreCase: true}},
		{"/%C3%84", "/ä", source.Options{IgnoreCase: true}},
		{"/Ä", "/ä", source.Options{IgnoreCase: true}},
	} {
		if got := source.NormalizePath(c.raw, &c.o); got != c.want {
			t.Errorf("%q with %+v is %q, want %q", c.raw, c.o, got, c.want)
		}
	}
}

// respell writes a segment another way.
func respell(t *rapid.T, seg string) string {
	var b strings.Builder
	for i := range len(seg) {
		switch c := seg[i]; {
		case rapid.IntRange(0, 3).Draw(t, "escape") == 0:
			f := "%%%02x"
			if rapid.Bool().Draw(t, "upper") {
				f = "%%%02X"
			}
			fmt.Fprintf(&b, f, c)
		default:
			b.WriteByte(c)
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "params") == 0 {
		b.WriteString(rapid.SampledFrom([]string{";", ";a=b", "%3Bx", ";..", ";a;b"}).Draw(t, "param"))
	}
	return b.String()
}

func TestAnySpellingIsTheSamePath(t *testing.T) {
	o := &source.Options{IgnoreTrailingSlash: true}
	rapid.Check(t, func(t *rapid.T) {
		segs := rapid.SliceOfN(rapid.StringMatching(`[a-zA-Z0-9_~!-]{1,6}`), 1, 5).Draw(t, "path")
		want := "/" + strings.Join(segs, "/")
		var b strings.Builder
		for _, s := range segs {
			b.WriteString(rapid.SampledFrom([]string{"/", "//", "/./", "/x/../", "\\", "%2f", "/%2e/", "/y;z/..;/", "/;/"}).Draw(t, "slash"))
			b.WriteString(respell(t, s))
		}
		b.WriteString(rapid.SampledFrom([]string{"", "/", "/.", "?q=/../", "#f", "/x/..", ";p"}).Draw(t, "end"))
		path, _ := source.SplitPath(b.String())
		if got := source.NormalizePath(path, o); got != want {
			t.Fatalf("%q is %q, want %q", b.String(), got, want)
		}
	})
}

func FuzzNormalizePath(f *testing.F) {
	for _, all := range spellings {
		for _, raw := range all {
			f.Add(raw, true, false)
		}
	}
	f.Add("/a/%", false, true)
	f.Add("/\x00\xff%ff", true, true)
	f.Fuzz(func(t *testing.T, raw string, trailing, ignoreCase bool) {
		path, _ := source.SplitPath(raw)
		got := source.NormalizePath(path, &source.Options{IgnoreTrailingSlash: trailing, IgnoreCase: ignoreCase})
		if path == "" || path == "*" {
			if got != path {
				t.Fatalf("%q became %q", path, got)
			}
			return
		}
		if got == "" || got[0] != '/' {
			t.Fatalf("%q became %q, which has no leading slash", raw, got)
		}
		if strings.ContainsAny(got, ";\\") || strings.Contains(got, "//") {
			t.Fatalf("%q became %q", raw, got)
		}
		for _, s := range strings.Split(got, "/") {
			if s == "." || s == ".." {
				t.Fatalf("%q became %q", raw, got)
			}
		}
		if trailing && len(got) > 1 && strings.HasSuffix(got, "/") {
			t.Fatalf("%q became %q", raw, got)
		}
		// What has no escapes left is its own spelling.
		if !strings.Contains(got, "%") {
			o := &source.Options{IgnoreTrailingSlash: trailing, IgnoreCase: ignoreCase}
			if again := source.NormalizePath(got, o); again != got {
				t.Fatalf("%q became %q, and that %q", raw, got, again)
			}
		}
	})
}

func TestNormalizeHost(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com":          "example.com",
		"EXAMPLE.com":          "example.com",
		"example.com:8080":     "example.com",
		"example.com.":         "example.com",
		"example.com..:80":     "example.com",
		"user@example.com":     "example.com",
		"a:b@Example.com.:443": "example.com",
		"[2001:DB8::1]:443":    "[2001:db8::1]",
		"[::1]":                "[::1]",
		"192.0.2.1:80":         "192.0.2.1",
		"":                     "",
		":80":                  "",
		".":                    "",
	} {
		if got := source.NormalizeHost(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}

func TestSegment(t *testing.T) {
	for _, c := range []struct {
		path string
		n    int
		want string
	}{
		{"/a/b/c", 1, "a"}, {"/a/b/c", 2, "b"}, {"/a/b/c", 3, "c"}, {"/a/b/c", 4, ""},
		{"/", 1, ""}, {"/a/", 2, ""}, {"", 1, ""}, {"*", 1, ""},
	} {
		got, ok := source.Segment(c.path, c.n)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("segment %d of %q is %q, %v", c.n, c.path, got, ok)
		}
	}
}
