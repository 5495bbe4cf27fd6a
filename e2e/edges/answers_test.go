package edges

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Each path's limit rejects all and answers in its own way.
var answersDoor = newDoor("answers", policy(
	m{"reject": m{"status": 420, "headers": m{"x-from": "global"}}},
	rejecting("global", nil),
	rejecting("problem", m{"body": "problem", "status": 429}),
	rejecting("windows", m{"body": "problem", "status": 429}, m{"rate": []any{"1/hour", "100/day"}}),
	rejecting("text", m{"body": "text"}),
	rejecting("html", m{"body": "<h1>%LIMIT%</h1><p>%MESSAGE%</p><i>100 %% %CODE% %STATUS% %RETRY_AFTER%</i>"}),
	rejecting("own", m{"body": `{"code":"%CODE%","wait":%RETRY_AFTER%}`, "content_type": "application/vnd.shop+json", "headers": m{
		"access-control-allow-origin": "*", "location": "/slow-down",
	}}),
	rejecting("redirect", m{"status": 503, "headers": m{"x-reason": "limit"}}),
))

// rejecting is a limit for one path of which the second request of a key is
// rejected.
func rejecting(name string, reject m, more ...m) m {
	l := perKey(name, "1/hour", append(more, m{"match": m{"path": "/" + name}})...)
	if reject != nil {
		l["reject"] = reject
	}
	return l
}

// rejection asks twice.
func rejection(t *testing.T, name string, status int) answer {
	t.Helper()
	key := uniqueKey(t)
	answersDoor.get(t, "/"+name, key, 200)
	return answersDoor.get(t, "/"+name, key, status)
}

func TestProblemDetails(t *testing.T) {
	a := rejection(t, "problem", 429).limited(t)
	if got := a.header.Get("content-type"); got != "application/problem+json" {
		t.Errorf("content-type %s", got)
	}
	var p struct {
		Type     string
		Title    string
		Status   int
		Detail   string
		Violated []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%v\n%s", err, a.body)
	}
	// The names of draft-ietf-httpapi-ratelimit-headers, section 6.1.
	if p.Type != "https://iana.org/assignments/http-problem-types#quota-exceeded" || p.Status != 429 ||
		p.Title == "" || len(p.Violated) != 1 || p.Violated[0] != "problem" ||
		p.Detail != "Rate limit problem exceeded. Retry in "+a.header.Get("retry-after")+" s." {
		t.Errorf("%+v", p)
	}
}

// The policies that a problem names are those of the header, also where a limit
// has several windows.
func TestProblemNamesPolicies(t *testing.T) {
	a := rejection(t, "windows", 429).limited(t)
	var p struct {
		Violated []string `json:"violated-policies"`
	}
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Fatalf("%v\n%s", err, a.body)
	}
	if len(p.Violated) != 1 || p.Violated[0] != "windows-1h" {
		t.Errorf("violated-policies is %q of %s", p.Violated, a.header.Get("ratelimit-policy"))
	}
}

func TestBodies(t *testing.T) {
	for name, want := range map[string]struct {
		status      int
		contentType string
		body        string // with SECONDS for retry-after
		header      map[string]string
	}{
		"global": {420, "application/json",
			`{"error":{"code":"RATE_LIMITED","message":"Rate limit global exceeded. Retry in SECONDS s.","retry_after_seconds":SECONDS}}`, map[string]string{"x-from": "global"}},
		"text": {420, "text/plain; charset=utf-8", "Rate limit text exceeded. Retry in SECONDS s.", map[string]string{"x-from": "global"}},
		"html": {420, "text/html; charset=utf-8",
			"<h1>html</h1><p>Rate limit html exceeded. Retry in SECONDS s.</p><i>100 % RATE_LIMITED 420 SECONDS</i>", nil},
		"own": {420, "application/vnd.shop+json", `{"code":"RATE_LIMITED","wait":SECONDS}`,
			map[string]string{"access-control-allow-origin": "*", "location": "/slow-down", "x-from": ""}},
		"redirect": {503, "application/json",
			`{"error":{"code":"RATE_LIMITED","message":"Rate limit redirect exceeded. Retry in SECONDS s.","retry_after_seconds":SECONDS}}`, map[string]string{"x-reason": "limit", "x-from": ""}},
	} {
		a := rejection(t, name, want.status)
		seconds := a.header.Get("retry-after")
		if got, want := strings.TrimSpace(a.body), strings.ReplaceAll(want.body, "SECONDS", seconds); got != want {
			t.Errorf("%s: body %s, expected %s", name, got, want)
		}
		if got := a.header.Get("content-type"); got != want.contentType {
			t.Errorf("%s: content-type %s, expected %s", name, got, want.contentType)
		}
		for h, v := range want.header {
			if got := a.header.Get(h); got != v {
				t.Errorf("%s: %s: %s, expected %s", name, h, got, v)
			}
		}
		if a.header.Get("x-envoy-ratelimited") != "true" || a.header.Get("content-length") != fmt.Sprint(len(a.body)) {
			t.Errorf("%s: %v", name, a.header)
		}
	}
}

var ownDoor = newDoor("own-limits", policy(nil, perKey("ours", "3/hour")))

// An upstream with limits of its own: the lists have both, and the rest is of
// the scarcer one.
func TestUpstreamWithOwnLimits(t *testing.T) {
	for _, c := range []struct {
		own, limit, remaining string
	}{
		{"6", "3", "2"}, {"0", "7", "0"}, {"1", "7", "1"}, {"many", "3", "2"}, {"-1", "7", "-1"},
	} {
		a := ownDoor.send(t, call{key: uniqueKey(t), do: "limits:" + c.own}).must(t, 200)
		for name, want := range map[string]string{"x-ratelimit-limit": c.limit, "x-ratelimit-remaining": c.remaining} {
			if got := a.header.Values(name); len(got) != 1 || got[0] != want {
				t.Errorf("own %s: %s %q, expected %s", c.own, name, got, want)
			}
		}
		if got := a.header.Values("x-ratelimit-reset"); len(got) != 1 || (got[0] == "9") != (c.limit == "7") {
			t.Errorf("own %s: x-ratelimit-reset %q", c.own, got)
		}
		for _, name := range []string{"ratelimit", "ratelimit-policy"} {
			got := strings.Join(a.header.Values(name), ", ")
			if !strings.HasPrefix(got, `"own";`) || !strings.Contains(got, `, "ours";`) {
				t.Errorf("own %s: %s %q", c.own, name, got)
			}
		}
	}
}
