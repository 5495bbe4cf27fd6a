package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
	"sluice/internal/version"
)

// plain starts one gateway with one limit, 5 a minute, and the upstream.
func plain(t *testing.T, edit func(*envoyconfig.Config)) (*stack.Envoy, *stack.Upstream) {
	t.Helper()
	u := stacktest.Upstream(t)
	e := stacktest.Gateway{
		Plugin:   policy(t, nil, byKey("5/min")),
		Redis:    stacktest.Redis(t, stack.RedisOptions{}).Addr,
		Upstream: u.Addr, Edit: edit,
	}.Start(t)
	return e, u
}

// variable are the headers that differ from run to run, or are Envoy's own.
var variable = map[string]bool{"Date": true, "Server": true, "X-Envoy-Upstream-Service-Time": true, "Content-Length": true}

// golden is an answer as text with its times, which differ from run to run,
// replaced by what they say: T is a number of seconds up to a minute and a tick,
// and E is that many seconds after the request, which was sent no earlier than
// now; on a busy machine the window may be half over by then.
func golden(t *testing.T, a answer, now time.Time) string {
	t.Helper()
	about := func(n int64) bool { return n >= 30 && n <= 61 }
	passed := int64(time.Since(now).Seconds())
	number := regexp.MustCompile(`\d+`)
	var b strings.Builder
	fmt.Fprintln(&b, a.status)
	h := a.header.Clone()
	for name := range variable {
		h.Del(name)
	}
	for _, name := range []string{"Retry-After", "X-Ratelimit-Reset", "Ratelimit"} {
		h.Set(name, number.ReplaceAllStringFunc(h.Get(name), func(digits string) string {
			n, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			if about(n) {
				return "T"
			}
			// now's second has begun up to a second before now, and a tick of 60 ms may
			// end in the next one.
			if about(n-now.Unix()) || about(n-now.Unix()-passed-1) {
				return "E"
			}
			return digits
		}))
		if h.Get(name) == "" {
			h.Del(name)
		}
	}
	if err := h.Write(&b); err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(b.String(), "\r\n", "\n")
}

func TestAnswersInFull(t *testing.T) {
	e, upstream := plain(t, nil)
	bare := func() answer { return send(call{url: e.URL() + "/hello", header: map[string]string{key: "k"}}) }
	for i := range 5 {
		now := time.Now()
		a := bare().must(t, 200)
		want := fmt.Sprintf(`200
Content-Type: application/json
Ratelimit: "key";r=%[1]d;t=T
Ratelimit-Policy: "key";q=5;w=60
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: %[1]d
X-Ratelimit-Reset: E
`, 4-i)
		if diff := cmp.Diff(want, golden(t, a, now)); diff != "" {
			t.Errorf("request %d: %s", i, diff)
		}
	}
	for range 2 {
		now := time.Now()
		a := bare().must(t, 429)
		want := `429
Content-Type: application/json
Ratelimit: "key";r=0;t=T
Ratelimit-Policy: "key";q=5;w=60
Retry-After: T
X-Envoy-Ratelimited: true
X-Ratelimit-Limit: 5
X-Ratelimit-Remaining: 0
X-Ratelimit-Reset: E
`
		if diff := cmp.Diff(want, golden(t, a, now)); diff != "" {
			t.Error(diff)
		}
		seconds := a.header.Get("Retry-After")
		body := fmt.Sprintf(`{"error":{"code":"RATE_LIMITED","message":"Rate limit key exceeded. Retry in %[1]s s.","retry_after_seconds":%[1]s}}`, seconds)
		if diff := cmp.Diff(body, strings.TrimSpace(a.body)); diff != "" {
			t.Error(diff)
		}
	}
	if got := upstream.Total(); got != 5 {
		t.Errorf("%d requests reached the upstream", got)
	}
}

// The upstream gets the request as the caller sent it.
func TestUpstreamSeesTheRequest(t *testing.T) {
	e, _ := plain(t, nil)
	a := send(call{method: http.MethodPut, url: e.URL() + "/a/b?c=d", header: map[string]string{key: "k", "x-other": "v"}}).must(t, 200)
	var echo stack.Echo
	if err := json.Unmarshal([]byte(a.body), &echo); err != nil {
		t.Fatal(err)
	}
	if echo.Method != http.MethodPut || echo.Path != "/a/b?c=d" || echo.Header.Get("x-other") != "v" {
		t.Errorf("the upstream saw %+v", echo)
	}
	for name := range echo.Header {
		if strings.Contains(strings.ToLower(name), "ratelimit") || strings.Contains(strings.ToLower(name), "sluice") {
			t.Errorf("the upstream was sent %s", name)
		}
	}
}

// Debug headers are for those who know the secret.
func TestDebugHeadersNeedTheSecret(t *testing.T) {
	e, _ := plain(t, nil)
	names := []string{"x-sluice-limit", "x-sluice-mode", "x-sluice-redis-us", "x-sluice-at", "x-sluice-version"}
	for _, secret := range []string{"", "wrong"} {
		a := send(call{url: e.URL() + "/", header: map[string]string{key: "k", "x-debug": secret}}).must(t, 200)
		for _, name := range names {
			if got := a.header.Get(name); got != "" {
				t.Errorf("with secret %q: %s: %s", secret, name, got)
			}
		}
	}
	before := time.Now()
	a := get(e.URL()+"/", "k").must(t, 200)
	if got := a.header.Get("x-sluice-limit"); got != "key" {
		t.Errorf("x-sluice-limit: %q", got)
	}
	if got := a.header.Get("x-sluice-mode"); got != "redis" {
		t.Errorf("x-sluice-mode: %q", got)
	}
	if got := a.int(t, "x-sluice-redis-us"); got < 1 || got > hang.Microseconds() {
		t.Errorf("x-sluice-redis-us: %d", got)
	}
	if got := a.header.Get("x-sluice-version"); got != version.Version {
		t.Errorf("x-sluice-version: %q, expected %q", got, version.Version)
	}
	if at := time.UnixMicro(a.int(t, "x-sluice-at")); at.Before(before) || at.After(time.Now()) {
		t.Errorf("x-sluice-at: %v, and the request was sent at %v", at, before)
	}
}

// HEAD is limited as GET is; its refusal has the headers and no body.
func TestHead(t *testing.T) {
	e, _ := plain(t, nil)
	head := func() answer {
		return send(call{method: http.MethodHead, url: e.URL() + "/", header: map[string]string{key: "k"}})
	}
	for range 5 {
		head().must(t, 200)
	}
	a := head().must(t, 429)
	if a.body != "" || a.header.Get("retry-after") == "" || a.header.Get("ratelimit") == "" {
		t.Errorf("body %q, headers %v", a.body, a.header)
	}
	get(e.URL()+"/", "k").must(t, 429)
}

// A gRPC call is refused the way its client understands: HTTP 200, no body, and
// the status in headers.
func TestGRPC(t *testing.T) {
	e, _ := plain(t, func(c *envoyconfig.Config) {
		c.Cluster(envoyconfig.Upstream, "typed_extension_protocol_options", envoyconfig.M{
			"envoy.extensions.upstreams.http.v3.HttpProtocolOptions": envoyconfig.M{
				"@type":                          "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
				"use_downstream_protocol_config": envoyconfig.M{"http2_protocol_options": envoyconfig.M{}},
			},
		})
	})
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	h2 := &http.Client{Timeout: hang, Transport: &http.Transport{Protocols: protocols}}
	callGRPC := func() answer {
		req, err := http.NewRequest(http.MethodPost, e.URL()+"/shop.Orders/Create", strings.NewReader("\x00\x00\x00\x00\x00"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("content-type", "application/grpc")
		req.Header.Set("te", "trailers")
		req.Header.Set(key, "k")
		resp, err := h2.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if resp.ProtoMajor != 2 {
			t.Fatalf("answered in %s", resp.Proto)
		}
		return answer{status: resp.StatusCode, header: resp.Header, body: string(body)}
	}
	for range 5 {
		if a := callGRPC().must(t, 200); a.header.Get("grpc-status") != "" {
			t.Fatalf("an admitted call was answered %v", a.header)
		}
	}
	a := callGRPC().must(t, 200)
	if a.body != "" {
		t.Errorf("body %q", a.body)
	}
	if got := a.header.Get("content-type"); got != "application/grpc" {
		t.Errorf("content-type %q", got)
	}
	if got := a.header.Get("grpc-status"); got != "8" {
		t.Errorf("grpc-status %q", got)
	}
	if got := a.header.Get("grpc-message"); !strings.Contains(got, "Rate limit key exceeded") {
		t.Errorf("grpc-message %q", got)
	}
	ms, err := strconv.Atoi(a.header.Get("grpc-retry-pushback-ms"))
	if err != nil || ms < 50_000 || ms > 60_100 {
		t.Errorf("grpc-retry-pushback-ms %q", a.header.Get("grpc-retry-pushback-ms"))
	}
}

// A rejected request is charged at none of the limits that it met.
func TestSeveralLimitsAreAllOrNothing(t *testing.T) {
	e := stacktest.Gateway{
		Plugin: policy(t, nil,
			m{"name": "all", "rate": "8/hour"},
			byKey("3/hour"),
			m{"name": "write", "match": m{"method": "POST"}, "rate": "0/hour"},
		),
		Redis:    stacktest.Redis(t, stack.RedisOptions{}).Addr,
		Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	// Rejected by the second limit and the third: the first must not notice.
	for i := range 6 {
		get(e.URL()+"/", "a").must(t, []int{200, 200, 200, 429, 429, 429}[i])
	}
	for range 4 {
		a := send(call{method: http.MethodPost, url: e.URL() + "/", header: map[string]string{key: "b", "x-debug": debugSecret}}).must(t, 429)
		if got := a.header.Get("x-sluice-limit"); got != "write" {
			t.Errorf("rejected by %q", got)
		}
	}
	// 5 of 8 are left, for other keys.
	for i, k := range []string{"b", "b", "b", "c", "c", "c", "d"} {
		a := get(e.URL()+"/", k).must(t, []int{200, 200, 200, 200, 200, 429, 429}[i])
		if want := `"all";q=8;w=3600, "key";q=3;w=3600`; a.header.Get("ratelimit-policy") != want {
			t.Errorf("ratelimit-policy %q", a.header.Get("ratelimit-policy"))
		}
		if a.status == 429 && !strings.Contains(a.body, "Rate limit all exceeded") {
			t.Errorf("body %q", a.body)
		}
	}
}

// Addresses are those that callers connect from, whatever they claim.
func TestClientAddress(t *testing.T) {
	e := stacktest.Gateway{
		Plugin:   policy(t, nil, m{"name": "per-ip", "key": "ip", "rate": "2/hour"}),
		Redis:    stacktest.Redis(t, stack.RedisOptions{}).Addr,
		Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	for i, want := range []int{200, 200, 429, 429} {
		send(call{url: e.URL() + "/", header: map[string]string{"x-forwarded-for": fmt.Sprintf("10.0.0.%d", i)}}).must(t, want)
	}
	from := clientAt(t, "127.0.0.77")
	for _, want := range []int{200, 200, 429} {
		resp, err := from.Get(e.URL() + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("answered %d, expected %d", resp.StatusCode, want)
		}
	}
}
