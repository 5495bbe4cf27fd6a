package source_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

func le(n int64) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// full is a request that has something for every source.
func full() *sourcetest.Request {
	r := sourcetest.New("API.Example.com:8443/api/v1;x/orders/7/?q=a+b%20c&empty=&q=second&%6Bey=%C3%A4&flag&=x",
		"x-user-id", "u1", "x-list", "a,b", "x-empty", "",
		"cookie", `sid=abc; theme = dark ;junk; empty=; sid=second; a="q"; path=/=x`)
	r.Headers[":method"] = "post"
	r.Attributes["xds.route_name"] = []byte("orders")
	r.Attributes["filter_state.my.tenant"] = []byte("acme")
	r.Attributes["filter_state.tenant"] = []byte("acme")
	r.Attributes["connection.uri_san_peer_certificate"] = []byte("spiffe://a/b")
	r.Attributes["connection.mtls"] = []byte{1}
	r.Attributes["request.size"] = le(1234)
	r.Attributes["source.port"] = le(-1)
	r.Attributes["connection.id"] = []byte{1, 2}
	r.Attributes["xds.cluster_name"] = []byte{}
	return r.WithMetadata(map[string]map[string]any{
		"envoy.filters.http.jwt_authn": {
			"payload": map[string]any{
				"sub": "user-1", "n": 5.0, "big": 12345678901.0, "f": 1.5, "yes": true, "no": false, "none": nil, "empty": "",
				"list": []any{"a", 2.0, true, nil, map[string]any{"x": 1.0}, "b"}, "emptylist": []any{},
				"org": map[string]any{"tier": "gold", "x.y": "inner"}, "dotted.name": "literal", "dotted": map[string]any{"name": "nested"},
				"https://acme.example/tenant": "url-claim",
			},
			"other":                       map[string]any{"sub": "user-0", "only": "o"},
			"https://issuer.example/path": map[string]any{"iss": "yes"},
			"note":                        "not a payload",
		},
		"my.filter":        {"tenant": "t1", "deep": map[string]any{"er": 8.0}},
		"my.filter.nested": {"tenant": "t2"},
	})
}

func TestSources(t *testing.T) {
	for text, want := range map[string]string{
		"ip": "192.0.2.1", "ip/24": "192.0.2.0/24", "ip/8": "192.0.0.0/8", "ip/32,128": "192.0.2.1/32",
		"header:x-user-id": "u1", "header:X-User-Id": "u1", "header:x-list": "a,b", "header:x-empty": "", "header:none": "",
		"cookie:sid": "abc", "cookie:theme": "dark", "cookie:junk": "", "cookie:empty": "", "cookie:a": `"q"`, "cookie:path": "/=x", "cookie:none": "",
		"query:q": "a b c", "query:empty": "", "query:key": "ä", "query:flag": "", "query:none": "", "query:%6Bey": "",
		"path": "/api/v1/orders/7", "path:1": "api", "path:2": "v1", "path:4": "7", "path:5": "",
		"method": "POST", "host": "api.example.com", "route": "orders", "const:x": "x", "const:a:b c": "a:b c",
		"filter_state:tenant": "acme", "filter_state:none": "", "filter_state:my.tenant": "acme",
		"attr:connection.uri_san_peer_certificate": "spiffe://a/b", "attr:connection.mtls": "true", "attr:request.size": "1234",
		"attr:source.port": "-1", "attr:connection.id": "", "attr:xds.cluster_name": "", "attr:none": "",
		"jwt:sub": "user-0", "jwt:payload/sub": "user-1", "jwt:other/sub": "user-0", "jwt:only": "o", "jwt:payload/only": "",
		"jwt:n": "5", "jwt:big": "12345678901", "jwt:f": "1.5", "jwt:yes": "true", "jwt:no": "false", "jwt:none": "", "jwt:empty": "",
		"jwt:list": "a,2,true,b", "jwt:emptylist": "", "jwt:org": "", "jwt:org.tier": "gold", "jwt:org.x.y": "inner", "jwt:org.none": "",
		"jwt:dotted.name": "literal", "jwt:https://acme.example/tenant": "url-claim", "jwt:payload/https://acme.example/tenant": "url-claim",
		"jwt:https://issuer.example/path/iss": "yes", "jwt:note": "", "jwt:note/x": "", "jwt:nothing/sub": "",
		"metadata:my.filter.tenant": "t1", "metadata:my.filter.deep.er": "8", "metadata:my.filter.nested.tenant": "t2", "metadata:my.filter.none": "", "metadata:no.such": "",
	} {
		t.Run(text, func(t *testing.T) {
			s, err := source.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			v := full().View(&source.Options{IgnoreTrailingSlash: true})
			got, ok := s.Value(v)
			if got != want || ok != (want != "") {
				t.Errorf("value is %q, %v, want %q", got, ok, want)
			}
			if again, err := source.Parse(s.String()); err != nil || again != s {
				t.Errorf("%s reads back as %v, %v", s, again, err)
			}
			if a, is := s.(source.Appender); is {
				out, ok := a.AppendValue([]byte("x"), v)
				if string(out) != "x"+want || ok != (want != "") {
					t.Errorf("appended %q, %v", out, ok)
				}
			}
			// Whatever is read is announced.
			r := full()
			announced := 0
			if a, is := s.(source.Attributed); is {
				announced = len(a.Attributes(new(source.Options)))
			}
			s.Value(r.View(nil))
			if r.Asked > announced {
				t.Errorf("%d attributes read, %d announced", r.Asked, announced)
			}
		})
	}
}

func TestIPv6Network(t *testing.T) {
	for text, want := range map[string]string{"ip/24": "2001:db8:1:2::/64", "ip/24,48": "2001:db8:1::/48", "ip": "2001:db8:1:2::3"} {
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		v := sourcetest.New("h/").From("[2001:db8:1:2::3]:9").View(nil)
		if got, _ := s.Value(v); got != want {
			t.Errorf("%s is %q, want %q", text, got, want)
		}
	}
}

func TestBadSources(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "unknown source",
		"heder:x":                  "unknown source",
		"Header:x":                 "unknown source",
		"header":                   "header:NAME",
		"header:":                  "header needs NAME",
		"header/x":                 "header:NAME",
		"header:a b":               "not a header name",
		"header::path":             "use path",
		"header::authority":        "use host",
		"header:Host":              "use host",
		"ip:24":                    "ip or ip/BITS",
		"ip/":                      "ip needs BITS",
		"ip/0":                     "from 1 to 32",
		"ip/33":                    "from 1 to 32",
		"ip/+8":                    "from 1 to 32",
		"ip/24,129":                "from 1 to 128",
		"ip/24,":                   "from 1 to 128",
		"path:0":                   "counted from 1",
		"path:x":                   "counted from 1",
		"path:65":                  "counted from 1",
		"cookie:a=b":               "not a cookie's name",
		"path_param:a/b":           "not a parameter's name",
		"metadata:tenant":          "a namespace, a dot and a key",
		"metadata:.x":              "a namespace, a dot and a key",
		"attr:":                    "attr needs NAME",
		"attr:a..b":                "not an attribute's name",
		"attr:request.headers.x":   "use header:NAME",
		"attr:metadata":            "use metadata:NS.KEY",
		"method:GET":               "method",
		"const:":                   "const needs TEXT",
		"jwt:":                     "jwt needs CLAIM",
		"jwt:" + long("a.", 20):    "at most 12 dots",
		"const:" + long("a", 1000): "at most 512 bytes",
	} {
		s, err := source.Parse(text)
		if err == nil {
			t.Errorf("%q is %v", text, s)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q in it", text, err, want)
		}
	}
	var unknown *source.UnknownError
	if _, err := source.Parse("heder:x"); !errors.As(err, &unknown) || unknown.Name != "heder" || unknown.Text != "heder:x" {
		t.Errorf("got %#v", unknown)
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

func TestPathParam(t *testing.T) {
	s, err := source.Parse("path_param:id")
	if err != nil {
		t.Fatal(err)
	}
	var templates []*source.Template
	for _, text := range []string{"/users/{id}", "/orgs/{org}/users/{id}/*", "/plain"} {
		tmpl, err := source.ParseTemplate(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		templates = append(templates, tmpl)
	}
	bound, err := s.(source.Binder).Bind(templates)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"/users/7": "7", "/orgs/a/users/8": "8", "/orgs/a/users/9/x/y": "9", "/plain": "", "/users": "", "/users/7/x": "",
	} {
		got, ok := bound.Value(sourcetest.New("h" + path).View(nil))
		if got != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", path, got, ok, want)
		}
	}
	if got, ok := s.Value(sourcetest.New("h/users/7").View(nil)); ok {
		t.Errorf("unbound it is %q", got)
	}
	if _, err := s.(source.Binder).Bind(templates[2:]); err == nil {
		t.Error("bound to a template without it")
	}
}

func TestTemplates(t *testing.T) {
	for _, c := range []struct {
		text     string
		yes, no  []string
		o        source.Options
		segments int
	}{
		{"/a/b", []string{"/a/b"}, []string{"/a", "/a/b/c", "/", "/A/b"}, source.Options{}, 2},
		{"/a/*", []string{"/a", "/a/b", "/a/b/c", "/a/"}, []string{"/", "/ab", "/b/a"}, source.Options{}, 1},
		{"/*", []string{"/", "/a", "/a/b"}, []string{"", "*"}, source.Options{}, 0},
		{"/", []string{"/"}, []string{"/a", ""}, source.Options{IgnoreTrailingSlash: true}, 1},
		{"/u/{id}/o", []string{"/u/1/o", "/u/{id}/o"}, []string{"/u//o", "/u/o", "/u/1/2/o", "/u/1"}, source.Options{}, 3},
		{"/u/{id}/*", []string{"/u/1", "/u/1/2/3"}, []string{"/u", "/u/"}, source.Options{}, 2},
		{"/a//b/./c/../d%20e", []string{"/a/b/d e"}, []string{"/a/b/c/d e"}, source.Options{}, 3},
		{"/A/{Id}", []string{"/a/x"}, []string{"/A/x"}, source.Options{IgnoreCase: true}, 2},
		{"/a/", []string{"/a"}, []string{"/a/b"}, source.Options{IgnoreTrailingSlash: true}, 1},
		{"/a/", []string{"/a/"}, []string{"/a"}, source.Options{}, 2},
	} {
		tmpl, err := source.ParseTemplate(c.text, &c.o)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if tmpl.Segments() != c.segments || tmpl.String() != c.text {
			t.Errorf("%s has %d segments and reads %s", c.text, tmpl.Segments(), tmpl)
		}
		for _, p := range c.yes {
			if !tmpl.Matches(p) {
				t.Errorf("%s doesn't match %s", c.text, p)
			}
		}
		for _, p := range c.no {
			if tmpl.Matches(p) {
				t.Errorf("%s matches %s", c.text, p)
			}
		}
	}
	for _, text := range []string{"", "a", "a/b", "/a?b", "/a#b", "/a*b", "/*/b", "/a/{", "/a/{}", "/a/{b}c", "/a/{b c}", "/{a}/{a}", "/a/{b}/../c", "/a\x00b", "/" + long("a/", 70)} {
		if tmpl, err := source.ParseTemplate(text, nil); err == nil {
			t.Errorf("%q is a template of %d segments", text, tmpl.Segments())
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, k := range source.Kinds() {
		f.Add(k.Example)
	}
	f.Add("header::path")
	f.Add("ip/24,64")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := source.Parse(text)
		if err != nil {
			return
		}
		again, err := source.Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is %q, which reads back as %v, %v", text, s, again, err)
		}
		v := full().View(nil)
		if val, ok := s.Value(v); ok != (val != "") {
			t.Fatalf("%q gives %q, %v", text, val, ok)
		}
	})
}

func FuzzHeaders(f *testing.F) {
	f.Add("a=b; c", "a=b&c=%zz", "a")
	f.Add(";;;=;", "&&&=%", "")
	f.Fuzz(func(t *testing.T, cookies, query, name string) {
		if v, ok := source.Cookie(cookies, name); ok != (v != "") {
			t.Fatalf("cookie %q, %v", v, ok)
		}
		if v, ok := source.Query(query, name); ok != (v != "") {
			t.Fatalf("query %q, %v", v, ok)
		}
	})
}

func FuzzMetadata(f *testing.F) {
	f.Add(full().Attributes["metadata"])
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	names := []string{"jwt:sub", "jwt:a/b.c.d", "jwt:list", "metadata:my.filter.deep.er"}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := full()
		r.Attributes["metadata"] = raw
		v := r.View(nil)
		for _, n := range names {
			s, err := source.Parse(n)
			if err != nil {
				t.Fatal(err)
			}
			if val, ok := s.Value(v); ok != (val != "") {
				t.Fatalf("%s gives %q, %v", n, val, ok)
			}
		}
	})
}

func TestCommonRequestAllocatesNothing(t *testing.T) {
	r := sourcetest.New("api.example.com/api/v1/orders/7?page=2", "x-user-id", "u1", "cookie", "a=b; sid=x",
		"x-forwarded-for", "198.51.100.7, 192.0.2.1")
	o := &source.Options{IgnoreTrailingSlash: true, Client: source.Client{TrustedHops: 1}}
	var all []source.Source
	for _, text := range []string{"header:x-user-id", "cookie:sid", "query:page", "path", "path:3", "method", "host", "const:x", "ip", "ip/24"} {
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	// The test's own Attribute allocates; what it gave is kept.
	addr := r.Attributes["source.address"]
	req := &constRequest{r.Headers, addr}
	var v source.View
	var buf []byte
	n := testing.AllocsPerRun(100, func() {
		v.Reset(req, o)
		buf = buf[:0]
		for _, s := range all {
			if a, ok := s.(source.Appender); ok {
				buf, _ = a.AppendValue(buf, &v)
			} else {
				val, _ := s.Value(&v)
				buf = append(buf, val...)
			}
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := "u1x2/api/v1/orders/7ordersGETapi.example.comx198.51.100.7198.51.100.0/24"; string(buf) != want {
		t.Errorf("read %q, want %q", buf, want)
	}
}

type constRequest struct {
	headers map[string]string
	addr    []byte
}

func (r *constRequest) Header(name string) (string, bool) { v, ok := r.headers[name]; return v, ok }
func (r *constRequest) Attribute(string) ([]byte, bool)   { return r.addr, true }
