package match_test

import (
	"errors"
	"strings"
	"testing"

	"sluice/internal/match"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

func condition(t testing.TB, src string, o *source.Options, texts ...string) match.Condition {
	t.Helper()
	s, err := source.Parse(src)
	if err != nil {
		t.Fatal(err)
	}
	c, err := match.Parse(s, texts, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestConditions(t *testing.T) {
	req := func() *sourcetest.Request {
		return sourcetest.New("API.example.com:80/api/users/7", "x-plan", "gold", "x-empty", "", "cookie", "a=b")
	}
	for _, c := range []struct {
		src   string
		texts string // joined by commas
		want  bool
	}{
		{"method", "GET", true}, {"method", "get", true}, {"method", "POST", false}, {"method", "POST,GET", true},
		{"method", "~^G", true}, {"method", "present", true}, {"method", "absent", false},
		{"path", "/api/users/7", true}, {"path", "/api/users", false}, {"path", "/api/*", true}, {"path", "/*", true},
		{"path", "/api/users/{id}", true}, {"path", "/api/{x}/{id}", true}, {"path", "/api/{x}", false}, {"path", "/a/*", false},
		{"path", "~users/[0-9]+$", true}, {"path", "~^/users", false}, {"path", "/no,/api/users/7", true}, {"path", "/%61pi//users/./7", true},
		{"path", "present", true}, {"path", "absent", false},
		{"host", "api.example.com", true}, {"host", "API.Example.com.", true}, {"host", "example.com", false},
		{"host", "*.example.com", true}, {"host", "*.com", true}, {"host", "*.api.example.com", false}, {"host", "*.ample.com", false},
		{"host", "~^API\\.", true}, {"host", "other.com,*.example.com", true}, {"host", "absent", false},
		{"ip", "192.0.2.0/24", true}, {"ip", "192.0.2.1", true}, {"ip", "192.0.3.0/24", false}, {"ip", "::/0", false}, {"ip", "10.0.0.0/8,192.0.2.1", true},
		{"ip", "0.0.0.0/0", true}, {"ip", "present", true}, {"ip", "absent", false}, {"ip", "~^192", true}, {"ip", "~^10", false},
		{"header:x-plan", "gold", true}, {"header:x-plan", "Gold", false}, {"header:x-plan", "gol", false}, {"header:x-plan", "free,gold", true},
		{"header:x-plan", "~gol", true}, {"header:x-plan", "~(?i)GOLD", true}, {"header:x-plan", "~^old", false}, {"header:x-plan", "present", true}, {"header:x-plan", "absent", false},
		{"header:x-none", "absent", true}, {"header:x-none", "present", false}, {"header:x-none", "absent,x", true}, {"header:x-none", "~.*", false},
		{"header:x-empty", "absent", true}, {"header:x-empty", "present", false},
		{"cookie:a", "b", true}, {"query:q", "absent", true}, {"path:2", "users", true}, {"const:x", "x", true}, {"const:x", "y", false},
		{"header:x-plan", "1,2,3,4,5,6,7,8,9,gold", true}, {"header:x-plan", "1,2,3,4,5,6,7,8,9,10", false},
	} {
		got := condition(t, c.src, &source.Options{}, strings.Split(c.texts, ",")...)
		if holds := got.Holds(req().View(nil)); holds != c.want {
			t.Errorf("%s holds: %v, want %v", got, holds, c.want)
		}
	}
	// Without an address, only absent holds.
	for text, want := range map[string]bool{"0.0.0.0/0": false, "present": false, "absent": true, "~.": false} {
		if got := condition(t, "ip", nil, text).Holds(req().From("1.1.1.1:0").View(nil)); got != want {
			t.Errorf("ip: %s holds without an address: %v", text, got)
		}
	}
}

func TestPathsThatIgnoreCase(t *testing.T) {
	o := &source.Options{IgnoreCase: true}
	for text, want := range map[string]bool{"/API/Users": true, "/api/*": true, "~^/API/USERS$": true, "~B": false} {
		if got := condition(t, "path", o, text).Holds(sourcetest.New("h/Api/uSers").View(o)); got != want {
			t.Errorf("%s holds: %v", text, got)
		}
	}
}

func TestBadConditions(t *testing.T) {
	for _, c := range []struct {
		src, texts, want string
		index            int
	}{
		{"header:a", "", "can't be empty", 0},
		{"header:a", "ok,~(", "bad regular expression", 1},
		{"header:a", "~" + strings.Repeat("a", 2000), "at most 1024 bytes", 0},
		{"header:a", "~(a{1000}){1000}", "bad regular expression", 0},
		{"header:a", "~" + strings.Repeat("a{999}", 5), "repeats too much", 0},
		{"path", "api", "begins with /", 0},
		{"path", "/a,/b?c", "no query", 1},
		{"path", "/a*", "* stands only at the end", 0},
		{"host", "a:80", "without its port", 0},
		{"host", "a.*.com", "a host is a name", 0},
		{"host", "*.", "a host is a name", 0},
		{"host", "http://a", "a host is a name", 0},
		{"host", ".", "not a host", 0},
		{"ip", "10.0.0.1/8", "did you mean 10.0.0.0/8?", 0},
		{"ip", "1.2.3.4,x", "neither an address", 1},
		{"method", "G T", "not a method", 0},
	} {
		s, err := source.Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		_, err = match.Parse(s, strings.Split(c.texts, ","), nil)
		var te *match.TextError
		if !errors.As(err, &te) || te.Index != c.index || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %.40s: %v, want %q at %d", c.src, c.texts, err, c.want, c.index)
		}
	}
}

func TestMatcher(t *testing.T) {
	m := match.New(condition(t, "path", nil, "/api/*"), condition(t, "header:x", nil, "1", "2"))
	v := sourcetest.New("h/api/a", "x", "2").View(nil)
	if !m.Matches(v) || m.Failing(v) != nil {
		t.Error("doesn't match")
	}
	v = sourcetest.New("h/api/a", "x", "3").View(nil)
	if m.Matches(v) || m.Failing(v).String() != "header:x: [1, 2]" {
		t.Errorf("fails by %v", m.Failing(v))
	}
	if m.String() != "path: /api/*, header:x: [1, 2]" {
		t.Errorf("reads %s", m)
	}
	if len(m.Templates()) != 1 {
		t.Errorf("templates are %v", m.Templates())
	}
	var none *match.Matcher
	if !none.Matches(v) || none.String() != "" || none.Templates() != nil || !match.New().Matches(v) {
		t.Error("no conditions don't match")
	}
}
