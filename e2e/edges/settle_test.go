package edges

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"sluice/internal/stack/envoyconfig"
)

// settled are limits that are settled after the answer, one for each path.
var settled = func() []m {
	on := func(path, rate string, fields, settle m) m {
		return perKey(path, rate, m{"match": m{"path": "/" + path}}, fields, m{"settle": settle})
	}
	return []m{
		on("login", "5/hour", m{"cost": 0}, m{"charge_on": m{"status": []any{401, 403}}}),
		on("reserved-login", "5/hour", nil, m{"charge_on": m{"status": 401}}),
		on("refund", "10/hour", nil, m{"refund_on": m{"status": []any{"5xx"}, "no_answer": true}}),
		on("refund-status", "10/hour", nil, m{"refund_on": m{"status": "5xx"}}),
		on("charge-no-answer", "10/hour", nil, m{"charge_on": m{"no_answer": true}}),
		on("header", "100/hour", m{"cost": 10}, m{"cost": "response_header:x-tokens"}),
		on("header-after", "100/hour", m{"cost": 0}, m{"cost": "response_header:x-tokens"}),
		on("trailer", "100/hour", nil, m{"cost": "response_trailer:x-tokens"}),
		on("json", "100/hour", nil, m{"cost": "response_json:usage.total_tokens"}),
		on("bytes", "100000/hour", m{"cost": 0}, m{"cost": "response_bytes"}),
		on("metadata", "100/hour", nil, m{"cost": "metadata:shop.billing.units"}),
		on("both", "100/hour", m{"cost": 10}, m{"cost": "response_header:x-tokens", "refund_on": m{"status": "5xx"}}),
		perKey("upload", "100000/hour", m{"match": m{"path": "/upload"}, "cost": "body_bytes"}),
	}
}()

var (
	settleDoor = newDoor("settle", policy(nil, settled...), routes(
		m{"match": m{"prefix": "/", "headers": []any{m{"name": "x-route", "string_match": m{"exact": "none"}}}}, "direct_response": m{"status": 404}},
		m{"match": m{"prefix": "/", "headers": []any{m{"name": "x-route", "string_match": m{"exact": "short"}}}},
			"route": m{"cluster": envoyconfig.Upstream, "timeout": "0.1s"}},
		toUpstream("/", m{"retry_policy": m{"retry_on": "retriable-status-codes", "retriable_status_codes": []any{503}, "num_retries": 1,
			"retriable_request_headers": []any{m{"name": "x-retry", "present_match": true}}}}),
	), manager("http_protocol_options", m{"enable_trailers": true}), func(c *envoyconfig.Config) {
		c.InsertFilter("envoy.filters.http.router", "bill", m{
			"@type": "type.googleapis.com/envoy.extensions.filters.http.lua.v3.Lua",
			"default_source_code": m{"inline_string": `
function envoy_on_response(handle)
  local units = handle:headers():get("x-bill")
  if units then
    handle:streamInfo():dynamicMetadata():set("shop", "billing", {units = tonumber(units)})
  end
end`},
		})
	})
	settleProbe = look("settle-probe", settled...)
)

// left checks what a key has left at a path, and that it stays so.
func left(t *testing.T, path, key string, want int) {
	t.Helper()
	probe := call{path: path, key: key}
	settleProbe.remains(t, probe, want)
	time.Sleep(15 * time.Millisecond)
	settleProbe.remains(t, probe, want)
}

// Login protection: only failures count. Thirty good ones at once pass a limit
// of five, and the sixth bad one is refused.
func TestOnlyFailedLoginsCount(t *testing.T) {
	key := uniqueKey(t)
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(func() {
			req, err := call{path: "/login", key: key}.request("http://" + settleDoor.addr)
			if err != nil {
				t.Error(err)
				return
			}
			if a := roundTrip(h1, req); a.err != nil || a.status != 200 {
				t.Errorf("a good login was answered %d (%v)", a.status, a.err)
			}
		})
	}
	wg.Wait()
	left(t, "/login", key, 5)
	for i, status := range []int{401, 403, 401, 403, 401, 429, 429} {
		settleDoor.send(t, call{path: "/login", key: key, do: fmt.Sprint("status:", []int{401, 403, 401, 403, 401, 401, 401}[i])}).must(t, status)
		left(t, "/login", key, max(4-i, 0))
	}
	settleDoor.send(t, call{path: "/login", key: key}).must(t, 429) // a good one now, too
	if got := shared.upstream.count(key); got != 35 {
		t.Errorf("%d logins reached the upstream", got)
	}
}

// With a cost, the charge is reserved at first: as many at once as there is room.
func TestReservedLogins(t *testing.T) {
	key := uniqueKey(t)
	for range 8 {
		a := settleDoor.send(t, call{path: "/reserved-login", key: key, do: "status:204"}).must(t, 204)
		if got := a.remaining(t); got != 4 {
			t.Errorf("%d remain while it is reserved", got)
		}
		left(t, "/reserved-login", key, 5)
	}
	for i := range 5 {
		settleDoor.send(t, call{path: "/reserved-login", key: key, do: "status:401"}).must(t, 401)
		left(t, "/reserved-login", key, 4-i)
	}
	settleDoor.send(t, call{path: "/reserved-login", key: key, do: "status:401"}).must(t, 429)
}

// Where the true cost is found, and what is charged when it is odd or absent.
func TestCostFromTheAnswer(t *testing.T) {
	usage := func(n string) string {
		return `{"id":"x","usage":{"prompt_tokens":5,"total_tokens":` + n + `},"more":[1,2,3]}`
	}
	long := `{"text":"` + strings.Repeat("word ", 40_000) + `","usage":{"total_tokens":7}}`
	for _, c := range []struct {
		path, do string
		charged  int
	}{
		{"/header", "header:x-tokens=4", 4},
		{"/header", "header:x-tokens=25", 25},
		{"/header", "header:x-tokens=10", 10},
		{"/header", "header:x-tokens=0", 0},
		{"/header", "header:x-tokens=250", 100}, // all there is: remaining isn't below 0
		{"/header", "header:x-tokens=-3", 10},
		{"/header", "header:x-tokens=1e2", 10},
		{"/header", "header:x-tokens=99999999999999999999", 10},
		{"/header", "header:other=4", 10},
		{"/header-after", "header:x-tokens=4", 4},
		{"/header-after", "header:x-tokens=0", 0},
		{"/trailer", "trailer:x-tokens=9", 9},
		{"/trailer", "trailer:other=9", 1},
		{"/json", "json:" + usage("12"), 12},
		{"/json", "json:" + usage("1"), 1},
		{"/json", "json:" + usage("0"), 0},
		{"/json", "json:" + usage("-1"), 1},
		{"/json", "json:" + usage("null"), 1},
		{"/json", `json:{"usage":{"total`, 1},
		{"/json", "json:not json", 1},
		{"/json", "status:200", 1},
		{"/json", "long", 7},
		{"/json", "events:" + strings.Join([]string{`{"n":1}`, usage("3"), usage("17"), "[DONE]"}, "|"), 17},
		{"/json", "events:" + strings.Join([]string{usage("3"), `{"n":1}`}, "|"), 3},
		{"/json", "events:[DONE]", 1},
		{"/bytes", "bytes:12345", 12345},
		{"/bytes", "status:204", 0},
		{"/metadata", "header:x-bill=6", 6},
		{"/metadata", "header:other=6", 1},
		{"/both", "header:x-tokens=4", 4},
		{"/both", "status:503", 0},
	} {
		for _, client := range []*http.Client{h1, h2} {
			do := c.do
			if do == "long" {
				do = "" // sent in the body, since a header has less room
			}
			key := uniqueKey(t)
			r := call{path: c.path, key: key, do: do, client: client}
			if c.do == "long" {
				r.method, r.do, r.body = http.MethodPost, "say", strings.NewReader(long)
			}
			a := settleDoor.send(t, r)
			if a.err != nil || a.status == 429 {
				t.Fatalf("%s %.60s: %d %v", c.path, c.do, a.status, a.err)
			}
			full := 100
			if c.path == "/bytes" {
				full = 100_000
			}
			probe := call{path: c.path, key: key}
			eventually(t, func() error {
				if got := full - settleProbe.send(t, probe).remaining(t); got != c.charged {
					return fmt.Errorf("%s %.60s: %d were charged, expected %d", c.path, c.do, got, c.charged)
				}
				return nil
			})
		}
	}
}

// A compressed answer isn't looked into.
func TestCompressedAnswer(t *testing.T) {
	key := uniqueKey(t)
	settleDoor.send(t, call{path: "/json", key: key, do: `encoded:{"usage":{"total_tokens":50}}`}).must(t, 200)
	left(t, "/json", key, 99)
}

// A refund never gives more than there was, and a full limit opens again.
func TestRefundOpensTheLimit(t *testing.T) {
	key := uniqueKey(t)
	for range 10 {
		settleDoor.send(t, call{path: "/header", key: key, do: "header:x-tokens=10"}).must(t, 200)
	}
	settleDoor.send(t, call{path: "/header", key: key, do: "header:x-tokens=10"}).must(t, 429)
	key = uniqueKey(t)
	for range 25 {
		settleDoor.send(t, call{path: "/header", key: key, do: "header:x-tokens=0"}).must(t, 200)
	}
	left(t, "/header", key, 100)
}

// An upload counts its body: by its Content-Length before, or else as it passes.
func TestBodyBytes(t *testing.T) {
	for _, client := range []*http.Client{h1, h2} {
		key := uniqueKey(t)
		a := settleDoor.send(t, call{method: http.MethodPut, path: "/upload", key: key, client: client, body: strings.NewReader(strings.Repeat("x", 30_000))}).must(t, 200)
		if got := a.remaining(t); got != 70_000 {
			t.Errorf("%d remain after 30,000 bytes", got)
		}
		// Chunked: an io.Reader whose length net/http doesn't know.
		chunked := func(n int) answer {
			return settleDoor.send(t, call{method: http.MethodPut, path: "/upload", key: key, client: client, body: io.LimitReader(zeros{}, int64(n))})
		}
		chunked(50_000).must(t, 200)
		left(t, "/upload", key, 20_000)
		settleDoor.send(t, call{method: http.MethodPut, path: "/upload", key: key, client: client, body: strings.NewReader(strings.Repeat("x", 30_000))}).must(t, 429)
		left(t, "/upload", key, 20_000)
		chunked(60_000).must(t, 200) // its length isn't known before
		left(t, "/upload", key, 0)
		chunked(1).must(t, 429)
	}
}

// Each request is settled by exactly one call to Redis, and by none where there
// is nothing to correct.
func TestSettledOnce(t *testing.T) {
	scripts := func() (n int) {
		t.Helper()
		text, err := shared.client.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(text) {
			var calls int
			if _, err := fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &calls); err == nil {
				n += calls
			}
			if _, err := fmt.Sscanf(line, "cmdstat_eval:calls=%d,", &calls); err == nil {
				n += calls
			}
		}
		return n
	}
	settleDoor.send(t, call{path: "/refund", key: uniqueKey(t), do: "status:500"}) // the script is loaded
	for _, c := range []struct {
		path, do string
		calls    int
	}{
		{"/refund", "status:500", 2}, {"/refund", "status:200", 1}, {"/refund", "reset", 2}, {"/header", "header:x-tokens=4", 2},
		{"/header", "header:x-tokens=10", 1}, {"/json", `json:{"usage":{"total_tokens":3}}`, 2}, {"/login", "status:200", 1}, {"/login", "status:401", 2},
	} {
		time.Sleep(20 * time.Millisecond) // what is under way ends
		before := scripts()
		for range 5 {
			settleDoor.send(t, call{path: c.path, key: uniqueKey(t), do: c.do})
		}
		eventually(t, func() error {
			if got := scripts() - before; got != 5*c.calls {
				return fmt.Errorf("%s %s: %d calls for 5 requests, expected %d", c.path, c.do, got, 5*c.calls)
			}
			return nil
		})
		time.Sleep(20 * time.Millisecond)
		if got := scripts() - before; got != 5*c.calls {
			t.Errorf("%s %s: %d calls for 5 requests, expected %d", c.path, c.do, got, 5*c.calls)
		}
	}
}
