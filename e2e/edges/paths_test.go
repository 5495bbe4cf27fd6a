package edges

import (
	"strings"
	"testing"
)

var (
	orderLimit = perKey("order", "1/hour", m{"match": m{"path": "/api/order"}})
	asSent     = newDoor("paths-as-sent", policy(nil, orderLimit), manager("normalize_path", false), manager("merge_slashes", false))
	normalized = newDoor("paths-normalized", policy(nil, orderLimit), manager("normalize_path", true), manager("merge_slashes", true),
		manager("path_with_escaped_slashes_action", "UNESCAPE_AND_FORWARD"))
	anyCase = newDoor("paths-any-case", policy(m{"paths": m{"ignore_case": true, "ignore_trailing_slash": true}}, orderLimit), manager("normalize_path", true))
	strict  = newDoor("paths-strict", policy(m{"paths": m{"ignore_trailing_slash": false}}, orderLimit), manager("normalize_path", false))
)

// spellings of /api/order. Envoy refuses those with a fragment or a zero byte by
// itself, depending on its settings, which is no way around the limit either.
var spellings = []string{
	"/api/order", "/api/order?", "/api/order?x=/../y", "/api/order/", "/api/order//", "//api/order", "/api//order",
	"///api///order", "/./api/./order", "/api/./././order", "/api/x/../order", "/x/y/../../api/order", "/../api/order",
	"/../../../api/order", "/api/order/.", "/api/order/x/..", "/%61pi/order", "/api/%6frder", "/api/%6Frder", "/%61%70%69/%6f%72%64%65%72",
	"/api%2forder", "/api%2Forder", "%2fapi/order", "/%2e/api/order", "/api/x/%2e%2e/order", "/api/x/%2E%2E/order", "/api/x/.%2e/order",
	"/api/x%2f..%2forder", "/api/x%2f%2e%2e%2forder", "/api;v=1/order", "/api/order;", "/api/order;v=1", "/api/order;jsessionid=1/", "/api;a=1;b=2/order;c",
	"/api/order%3bv=1", "/api/x;/../order", "/api/..;/api/order", `/api\order`, `/api/x\..\order`, "/api%5corder", "/api/order#part", "/api/order?#part",
}

// notSpellings are other paths, which the limit has nothing to do with.
var notSpellings = []string{"/api", "/api/", "/api/orders", "/api/order/x", "/apiorder", "/api/%2561/order", "/api/order/..", "/x/api/order", "/?/api/order",
	"/api/order%3Fx", "/api/order%23x"}

// spelled sends a request target as it stands, over both protocols.
func (d *door) spelled(t *testing.T, target, key string) (one, two string) {
	t.Helper()
	one = "closed"
	if a, ok := d.rawMaybe(t, "GET "+target+" HTTP/1.1\r\nhost: shop.example\r\nx-key: "+key+"\r\n\r\n"); ok {
		one = a
	}
	f := d.frames(t)
	f.open(t, 1, true, ":method", "GET", ":scheme", "http", ":authority", "shop.example", ":path", target, "x-key", key)
	return one, f.answerOrReset(t, 1)
}

// No spelling of a path is a way around its limit, whether Envoy normalises
// paths or not.
func TestSpellingsOfAPath(t *testing.T) {
	for _, d := range []*door{asSent, normalized, anyCase} {
		t.Run(d.name, func(t *testing.T) {
			key := uniqueKey(t)
			d.get(t, "/api/order", key, 200)
			targets := spellings
			if d == anyCase {
				targets = append([]string{"/API/ORDER", "/Api/%4FrDeR;X=1", "/api/X/../oRder/"}, targets...)
			}
			reached := shared.upstream.count(key)
			refusedByEnvoy := 0
			for _, target := range targets {
				one, two := d.spelled(t, target, key)
				for proto, got := range map[string]string{"HTTP/1.1": one, "HTTP/2": two} {
					switch got {
					case "429":
					case "400", "404", "closed", "reset", "307":
						refusedByEnvoy++
					default:
						t.Errorf("%s %s: %s", proto, target, got)
					}
				}
			}
			if got := shared.upstream.count(key); got != reached {
				t.Errorf("%d requests reached the upstream", got-reached)
			}
			if refusedByEnvoy > 12 {
				t.Errorf("Envoy itself refused %d spellings: they show nothing", refusedByEnvoy)
			}
			for _, target := range notSpellings {
				if one, _ := d.spelled(t, target, key); one != "200" {
					t.Errorf("%s: %s, expected 200", target, one)
				}
			}
			// A proxy's form of the request.
			if got, _ := d.rawMaybe(t, "GET http://shop.example/api/x/../order HTTP/1.1\r\nhost: shop.example\r\nx-key: "+key+"\r\n\r\n"); got != "429" {
				t.Errorf("absolute form: %s", got)
			}
		})
	}
}

// Case and, if wanted, a trailing slash tell paths apart.
func TestStrictPaths(t *testing.T) {
	key := uniqueKey(t)
	strict.get(t, "/api/order", key, 200)
	for target, want := range map[string]string{
		"/api/order": "429", "/api/x/../order": "429", "/api/order/": "200", "/API/order": "200", "/api/Order": "200",
	} {
		if one, two := strict.spelled(t, target, key); one != want || two != want {
			t.Errorf("%s: %s, over HTTP/2 %s, expected %s", target, one, two, want)
		}
	}
}

// What Envoy rewrites for the upstream doesn't change which limit applies.
func TestHostSpellings(t *testing.T) {
	key := uniqueKey(t)
	for i, host := range []string{"shop.example", "SHOP.example", "shop.example:80", "shop.example.", "Shop.Example.:8080"} {
		want := "429"
		if i == 0 {
			want = "200"
		}
		if got, _ := hostsDoor.rawMaybe(t, "GET / HTTP/1.1\r\nhost: "+host+"\r\nx-key: "+key+"\r\n\r\n"); got != want {
			t.Errorf("%s: %s, expected %s", host, got, want)
		}
	}
	for _, host := range []string{"other.example", strings.Repeat("a.", 100) + "example"} {
		if got, _ := hostsDoor.rawMaybe(t, "GET / HTTP/1.1\r\nhost: "+host+"\r\nx-key: "+key+"\r\n\r\n"); got != "200" {
			t.Errorf("%s: %s", host, got)
		}
	}
}

var hostsDoor = newDoor("host-names", policy(nil, perKey("shop", "1/hour", m{"match": m{"host": "shop.example"}})))
