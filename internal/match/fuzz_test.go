package match_test

import (
	"strings"
	"testing"

	"sluice/internal/match"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

// Whatever a caller sends and a configuration asks for, nothing panics, and an
// index finds what its matchers say.
func FuzzMatch(f *testing.F) {
	f.Add("path", "/a/*", "/a/b?c=d", "example.com", "v", "a=b; c")
	f.Add("host", "*.example.com", "/", "a.Example.com:80", "", ";;;")
	f.Add("ip", "10.0.0.0/8", "//..%2f;x", "", "10.0.0.1", "")
	f.Add("header:x", "~^a+$", "/%zz", "..", strings.Repeat("a", 100), "\xff")
	f.Add("cookie:c", "absent", "*", ":", "\x00", "c")
	f.Add("query:q", "v", "/?q=v&q", "[::1", "%", "=")
	f.Fuzz(func(t *testing.T, src, text, path, host, value, cookies string) {
		s, err := source.Parse(src)
		if err != nil {
			return
		}
		o := &source.Options{IgnoreCase: len(value)%2 == 0, IgnoreTrailingSlash: len(path)%2 == 0}
		c, err := match.Parse(s, []string{text}, o)
		if err != nil {
			return
		}
		absent, err := match.Parse(s, []string{"absent"}, o)
		if err != nil {
			t.Fatal(err)
		}
		present, err := match.Parse(s, []string{"present"}, o)
		if err != nil {
			t.Fatal(err)
		}
		r := sourcetest.New("h/", "x", value, "cookie", cookies, "x-forwarded-for", value)
		r.Headers[":path"], r.Headers[":authority"] = path, host
		v := r.View(o)
		if absent.Holds(v) == present.Holds(v) {
			t.Fatalf("%s is both or neither there", s)
		}
		// Six copies, so that the index has something to divide.
		m := match.New(c)
		x := match.NewIndex([]*match.Matcher{m, match.New(absent), m, match.New(present), m, m, m, m})
		n := 1 // absent or present
		if m.Matches(v) {
			n += 6
		}
		if got := x.Append(nil, r.View(o)); len(got) != n {
			t.Fatalf("%s found %v, want %d", c, got, n)
		}
	})
}
