package edges

import (
	"net/http"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

var (
	methodsDoor   = newDoor("methods", policy(nil, perKey("all", "2/hour")))
	preflightDoor = newDoor("preflight", policy(m{"preflight": "limit"}, perKey("all", "2/hour")))
	corsDoor      = newDoor("cors", policy(nil, perKey("all", "2/hour")), routes(m{
		"match": m{"prefix": "/"}, "route": m{"cluster": envoyconfig.Upstream},
		"typed_per_filter_config": m{"cors": m{
			"@type":                     "type.googleapis.com/envoy.extensions.filters.http.cors.v3.CorsPolicy",
			"allow_origin_string_match": []any{m{"exact": "https://shop.example"}},
			"allow_methods":             "PUT", "expose_headers": "retry-after, ratelimit",
		}},
	}), func(c *envoyconfig.Config) {
		c.InsertFilter(envoyconfig.Plugin, "cors", m{"@type": "type.googleapis.com/envoy.extensions.filters.http.cors.v3.Cors"})
	})
)

// preflight is what a browser asks before a request of another site's page.
func preflight(key string) call {
	return call{method: http.MethodOptions, key: key, header: map[string]string{
		"origin": "https://shop.example", "access-control-request-method": "PUT",
	}}
}

// HEAD counts as GET does; its answers have the headers and no body, over each
// protocol, and the connection stays usable.
func TestHead(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		for i, status := range []int{200, 200, 429, 429} {
			a := methodsDoor.send(t, call{method: http.MethodHead, key: key, client: client}).must(t, status).limited(t)
			if a.body != "" {
				t.Errorf("request %d: body %q", i, a.body)
			}
			if status == 429 && a.header.Get("content-type") != "application/json" {
				t.Errorf("content-type %q", a.header.Get("content-type"))
			}
		}
		get := methodsDoor.send(t, call{key: key, client: client}).must(t, 429)
		if get.body == "" {
			t.Error("GET has no body either")
		}
	}
}

// OPTIONS is a method like others, unless it is a preflight.
func TestOptions(t *testing.T) {
	key := uniqueKey(t)
	for _, status := range []int{200, 200, 429} {
		methodsDoor.send(t, call{method: http.MethodOptions, key: key}).must(t, status).limited(t)
	}
	// Half of a preflight is none: one header alone is no way around a limit.
	for _, name := range []string{"origin", "access-control-request-method"} {
		methodsDoor.send(t, call{method: http.MethodOptions, key: key, header: map[string]string{name: "PUT"}}).must(t, 429)
	}
	c := preflight(key)
	c.method = http.MethodPost
	methodsDoor.send(t, c).must(t, 429)
}

func TestPreflight(t *testing.T) {
	key := uniqueKey(t)
	for range 4 {
		methodsDoor.send(t, preflight(key)).must(t, 200).unlimited(t)
	}
	methodsDoor.get(t, "/", key, 200)
	methodsDoor.get(t, "/", key, 200)
	methodsDoor.get(t, "/", key, 429)
	methodsDoor.send(t, preflight(key)).must(t, 200)

	key = uniqueKey(t)
	for _, status := range []int{200, 200, 429} {
		preflightDoor.send(t, preflight(key)).must(t, status).limited(t)
	}
}

// With Envoy's CORS filter in front, it answers preflights itself, and a page of
// the allowed site may read a rejection.
func TestCORSFilter(t *testing.T) {
	key := uniqueKey(t)
	for range 3 {
		a := corsDoor.send(t, preflight(key)).must(t, 200).unlimited(t)
		if got := a.header.Get("access-control-allow-methods"); got != "PUT" {
			t.Fatalf("Envoy didn't answer the preflight: %v", a.header)
		}
	}
	for _, status := range []int{200, 200, 429} {
		a := corsDoor.send(t, call{key: key, header: map[string]string{"origin": "https://shop.example"}}).must(t, status).limited(t)
		if got := a.header.Get("access-control-allow-origin"); got != "https://shop.example" {
			t.Errorf("status %d: access-control-allow-origin %q", status, got)
		}
	}
}
