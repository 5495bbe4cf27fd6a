package explain_test

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/explain"
	"sluice/internal/source"
	"sluice/redisproto"
)

// run sends a command of the engine's, with the script itself.
func run(t *testing.T, do func(context.Context, ...any) *redis.Cmd, command []byte, script string) {
	t.Helper()
	d := redisproto.NewDecoder(redisproto.Limits{})
	d.Feed(command)
	v, _, err := d.Next()
	if err != nil {
		t.Fatal(err)
	}
	args := []any{"EVAL", script}
	for _, e := range v.Elems[2:] {
		args = append(args, string(e.Str))
	}
	if err := do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

// Every source finds what a typed request says.
func TestSourcesOfTypedRequests(t *testing.T) {
	r := request(t, "post", "https://user:pw@Shop.Example:8443/a/b?q=x&r=y#frag",
		header("X-One", "1"), header("x-one", "2"), header("cookie", "a=1"), header("cookie", "b=2"), header("User-Agent", "curl/8"), from("203.0.113.7"))
	r.SetRoute("checkout")
	r.SetFilterState("tenant", "acme")
	for name, value := range map[string]string{"connection.mtls": "true", "request.size": "77", "connection.requested_server_name": "shop.example"} {
		if err := r.SetAttribute(name, value); err != nil {
			t.Error(err)
		}
	}
	if err := r.SetMetadata("my.filter.count", explain.ParseValue("5")); err != nil {
		t.Error(err)
	}
	if err := r.SetJWT("prov", map[string]any{"sub": "u1", "deep": map[string]any{"er": true}}); err != nil {
		t.Error(err)
	}
	var v source.View
	v.Reset(r, nil)
	for text, want := range map[string]string{
		"method": "POST", "host": "shop.example", "path": "/a/b", "path:2": "b", "query:r": "y", "header:x-one": "1,2", "cookie:b": "2",
		"ip": "203.0.113.7", "ip/24": "203.0.113.0/24", "route": "checkout", "filter_state:tenant": "acme", "attr:connection.mtls": "true",
		"attr:request.size": "77", "attr:connection.requested_server_name": "shop.example", "metadata:my.filter.count": "5",
		"jwt:sub": "u1", "jwt:prov/deep.er": "true", "attr:request.useragent": "curl/8", "attr:request.url_path": "/a/b", "attr:request.query": "q=x&r=y",
		"attr:request.scheme": "https", "attr:request.method": "post", "header:x-forwarded-for": "203.0.113.7",
	} {
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		if got, ok := s.Value(&v); !ok || got != want {
			t.Errorf("%s is %q (%v), want %q", text, got, ok, want)
		}
	}
}

func TestWrongRequests(t *testing.T) {
	for _, url := range []string{"", "hello", "https://", "://x"} {
		if _, err := explain.NewRequest("GET", url); err == nil {
			t.Errorf("%q is a request", url)
		}
	}
	if _, err := explain.NewRequest("GE T", "/"); err == nil {
		t.Error("a method with a space")
	}
	r := request(t, "GET", "/")
	for name, err := range map[string]error{
		"header's name":  r.AddHeader("a b", "x"),
		"line's end":     r.AddHeader("a", "x\r\ny: z"),
		"attribute":      r.SetAttribute("connection.mtls", "maybe"),
		"attribute name": r.SetAttribute("metadata.x", "1"),
		"metadata":       r.SetMetadata("nodot", "1"),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A key's values tell what its requests are like.
func TestSet(t *testing.T) {
	for text, value := range map[string]string{
		"header:x-user-id": "u1", "cookie:session": "s", "method": "PUT", "host": "a.example", "path": "/x/y", "route": "r1",
		"filter_state:tenant": "acme", "attr:connection.mtls": "true", "metadata:a.b.c": "x", "jwt:sub": "u1", "jwt:p/sub": "u1", "ip": "10.0.0.1",
	} {
		r := request(t, "GET", "/")
		s, err := source.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Set(s, value) {
			t.Errorf("%s can't be set", text)
			continue
		}
		var v source.View
		v.Reset(r, nil)
		if got, ok := s.Value(&v); text != "jwt:p/sub" && (!ok || got != value) {
			t.Errorf("%s is %q (%v)", text, got, ok)
		}
	}
	r := request(t, "GET", "/")
	s, _ := source.Parse("path:1")
	if r.Set(s, "x") {
		t.Error("a segment tells the path")
	}
}
