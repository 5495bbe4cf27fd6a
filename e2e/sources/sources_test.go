// Package sources shows on a real Envoy that each source of a configuration
// reads what it says: the counters that requests leave in Redis are named by
// what was read.
package sources

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

type m = map[string]any

// hang is how long an answer may take before the test calls it hanging.
const hang = 10 * time.Second

// secret signs the test's tokens.
var secret = []byte("0123456789abcdef0123456789abcdef")

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// token makes a JSON Web Token with these claims.
func token(t *testing.T, claims m) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	head := b64([]byte(`{"alg":"HS256","typ":"JWT","kid":"k"}`)) + "." + b64(body)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(head))
	return head + "." + b64(mac.Sum(nil))
}

// gateway is a gateway whose limits are each keyed by one source, and the Redis
// that they count in.
type gateway struct {
	url   string
	redis *redis.Client
}

// start starts a gateway with one limit a source, named s0, s1, …
func start(t *testing.T, fields m, edit func(*envoyconfig.Config), sources ...string) *gateway {
	t.Helper()
	server := stacktest.Redis(t, stack.RedisOptions{})
	var limits []m
	for i, s := range sources {
		limits = append(limits, m{"name": fmt.Sprintf("s%d", i), "key": s, "rate": "1000/hour", "match": m{"path": []string{"/*", "/users/{id}/x"}}})
	}
	config := m{"redis": m{"timeout": "10s"}, "on_error": "deny", "limits": limits}
	for k, v := range fields {
		config[k] = v
	}
	text, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	e := stacktest.Gateway{Plugin: string(text), Redis: server.Addr, Upstream: stacktest.Upstream(t).Addr, Edit: edit}.Start(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { client.Close() })
	return &gateway{url: "http://" + e.Listener(envoyconfig.Gateway), redis: client}
}

// ask sends a request and returns the values in the names of the counters that
// it left, by the limit's number.
func (g *gateway) ask(t *testing.T, path string, headers ...string) map[int]string {
	t.Helper()
	if err := g.redis.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.url+path, strings.NewReader("hello"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Add(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: hang}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("answered %d", resp.StatusCode)
	}
	keys, err := g.redis.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	values := map[int]string{}
	for _, k := range keys {
		inner, _, ok := strings.Cut(strings.TrimPrefix(k, "rl:{"), "}")
		name, value, bar := strings.Cut(inner, "|")
		var i int
		if _, err := fmt.Sscanf(name, "s%d", &i); err != nil || !ok || !bar {
			t.Fatalf("a counter named %q", k)
		}
		values[i] = value
	}
	return values
}

// check compares the values of one request.
func check(t *testing.T, sources []string, got map[int]string, want map[string]string) {
	t.Helper()
	if len(want) != len(sources) {
		t.Errorf("%d sources, %d expected values", len(sources), len(want))
	}
	for i, s := range sources {
		if got[i] != want[s] {
			t.Errorf("%s is %q, want %q", s, got[i], want[s])
		}
	}
}

const filterTypes = "type.googleapis.com/envoy.extensions.filters.http."

// withFilters puts Envoy's own filters in front of the plugin.
func withFilters(c *envoyconfig.Config) {
	jwks := `{"keys":[{"kty":"oct","alg":"HS256","kid":"k","k":"` + b64(secret) + `"}]}`
	provider := func(key, header string) m {
		return m{
			"local_jwks": m{"inline_string": jwks}, "payload_in_metadata": key,
			"from_headers": []any{m{"name": header, "value_prefix": "Bearer "}},
		}
	}
	c.InsertFilter(envoyconfig.Plugin, "jwt_authn", m{
		"@type":     filterTypes + "jwt_authn.v3.JwtAuthentication",
		"providers": m{"main": provider("main", "authorization"), "other": provider("https://issuer.example/x", "x-other-token")},
		"rules": []any{m{"match": m{"prefix": "/"}, "requires": m{"requires_any": m{"requirements": []any{
			m{"requires_all": m{"requirements": []any{m{"provider_name": "main"}, m{"provider_name": "other"}}}},
			m{"provider_name": "main"}, m{"allow_missing": m{}},
		}}}}},
	})
	c.InsertFilter(envoyconfig.Plugin, "set_metadata", m{
		"@type": filterTypes + "set_metadata.v3.Config",
		"metadata": []any{m{"metadata_namespace": "my.filter", "value": m{
			"tenant": "acme", "eight": "12345678", "number": 42, "big": 1234567890123, "half": 0.5, "yes": true, "list": []any{"a", 1, true}, "deep": m{"er": "x"},
		}}},
	})
	c.InsertFilter(envoyconfig.Plugin, "set_filter_state", m{
		"@type": filterTypes + "set_filter_state.v3.Config",
		"on_request_headers": []any{m{
			"object_key": "my.tenant", "factory_key": "envoy.string",
			"format_string": m{"text_format_source": m{"inline_string": "%REQ(x-tenant)%"}, "omit_empty_values": true}, "skip_if_empty": true,
		}},
	})
	c.Manager(envoyconfig.Gateway, "route_config", m{"virtual_hosts": []any{m{
		"name": "all", "domains": []any{"*"}, "routes": []any{
			m{"name": "users", "match": m{"prefix": "/users"}, "route": m{"cluster": envoyconfig.Upstream}},
			m{"match": m{"prefix": "/"}, "route": m{"cluster": envoyconfig.Upstream}},
		},
	}}})
}

func TestSources(t *testing.T) {
	sources := []string{
		"ip", "ip/16", "header:x-user", "header:x-twice", "cookie:sid", "query:q", "path", "path:2", "path_param:id", "method", "host", "route", "const:c",
		"jwt:sub", "jwt:plan.tier", "jwt:level", "jwt:roles", "jwt:admin", "jwt:https://issuer.example/x/sub", "jwt:main/sub",
		"metadata:my.filter.tenant", "metadata:my.filter.eight", "metadata:my.filter.number", "metadata:my.filter.big", "metadata:my.filter.half",
		"metadata:my.filter.yes", "metadata:my.filter.list", "metadata:my.filter.deep.er", "metadata:my.filter.deep",
		"filter_state:my.tenant", "attr:request.protocol", "attr:connection.mtls", "attr:request.size", "attr:xds.cluster_name", "attr:connection.uri_san_peer_certificate",
	}
	g := start(t, nil, withFilters, sources...)
	main := token(t, m{"sub": "u1", "plan": m{"tier": "gold"}, "level": 7, "roles": []string{"a", "b"}, "admin": true})
	other := token(t, m{"sub": "u2"})
	full := []string{
		"host", "Shop.Example.com:80", "x-user", "me", "x-twice", "1", "x-twice", "2", "cookie", "a=b; sid=s1", "x-tenant", "acme inc",
		"authorization", "Bearer " + main, "x-other-token", "Bearer " + other,
	}
	check(t, sources, g.ask(t, "/users//7/./x?q=a+b%21", full...), map[string]string{
		"ip": "127.0.0.1", "ip/16": "127.0.0.0/16", "header:x-user": "me", "header:x-twice": "1,2", "cookie:sid": "s1", "query:q": "a%20b!",
		"path": "/users/7/x", "path:2": "7", "path_param:id": "7", "method": "POST", "host": "shop.example.com", "route": "users", "const:c": "c",
		"jwt:sub": "u2", "jwt:plan.tier": "gold", "jwt:level": "7", "jwt:roles": "a,b", "jwt:admin": "true", "jwt:https://issuer.example/x/sub": "u2", "jwt:main/sub": "u1",
		"metadata:my.filter.tenant": "acme", "metadata:my.filter.eight": "12345678", "metadata:my.filter.number": "42", "metadata:my.filter.big": "1234567890123",
		"metadata:my.filter.half": "0.5", "metadata:my.filter.yes": "true", "metadata:my.filter.list": "a,1,true", "metadata:my.filter.deep.er": "x", "metadata:my.filter.deep": "%-",
		"filter_state:my.tenant": "acme%20inc", "attr:request.protocol": "HTTP/1.1", "attr:connection.mtls": "false", "attr:request.size": "5",
		"attr:xds.cluster_name": "upstream", "attr:connection.uri_san_peer_certificate": "%-",
	})
	// What isn't there is missing; nobody's word replaces a verified token.
	got := g.ask(t, "/", "host", "h", "x-jwt-payload", main)
	for i, s := range sources {
		switch kind, _, _ := strings.Cut(s, ":"); {
		case kind == "jwt" || kind == "cookie" || kind == "query" || kind == "header" || kind == "route" || kind == "filter_state" || s == "path:2" || s == "path_param:id":
			if got[i] != "%-" {
				t.Errorf("%s is %q without it", s, got[i])
			}
		}
	}
}

// The client's address as each client_ip finds it, whatever the caller claims.
func TestClientAddress(t *testing.T) {
	remote := func(on bool, hops int) func(*envoyconfig.Config) {
		return func(c *envoyconfig.Config) {
			c.Manager(envoyconfig.Gateway, "use_remote_address", on)
			c.Manager(envoyconfig.Gateway, "xff_num_trusted_hops", hops)
		}
	}
	const claim = "203.0.113.9, 198.51.100.7"
	// Envoy appends this machine's own address for a peer on it; what is left of
	// that is what the peer sent.
	for name, c := range map[string]struct {
		edit   func(*envoyconfig.Config)
		client m
		want   map[string]string // by what the caller sends as X-Forwarded-For
	}{
		"peer": {remote(true, 0), m{}, map[string]string{"": "127.0.0.1", claim: "127.0.0.1"}},
		"one hop": {remote(true, 0), m{"trusted_hops": 1}, map[string]string{
			"": "127.0.0.1", claim: "198.51.100.7", "203.0.113.9, 127.0.0.1": "127.0.0.1", "nonsense": "127.0.0.1",
		}},
		"trusted": {remote(true, 0), m{"trusted": []string{"127.0.0.0/8", "198.51.100.0/24"}}, map[string]string{
			claim: "203.0.113.9", "1.2.3.4, 203.0.113.9, 198.51.100.7": "203.0.113.9",
		}},
		// Without the remote address nobody knows the peer once the caller sends
		// an address; Envoy takes it for the client's.
		"not remote": {remote(false, 0), m{"trusted_hops": 1}, map[string]string{
			"": "127.0.0.1", claim: "%-", "198.51.100.7": "%-", "nonsense": "127.0.0.1",
		}},
		"envoy's, not remote": {remote(false, 0), m{"envoy": true}, map[string]string{claim: "198.51.100.7"}},
		"envoy's own hops":    {remote(true, 1), m{"envoy": true}, map[string]string{claim: "198.51.100.7"}},
		"hops of both":        {remote(true, 1), m{"trusted_hops": 1}, map[string]string{claim: "%-"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, m{"client_ip": c.client}, c.edit, "ip")
			for xff, want := range c.want {
				var headers []string
				if xff != "" {
					headers = append(headers, "x-forwarded-for", xff)
				}
				if got := g.ask(t, "/", headers...); got[0] != want {
					t.Errorf("with %q the client is %q, want %q", xff, got[0], want)
				}
			}
		})
	}
}
