package main

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/redisproto"
)

const orderLimits = `limits:
- {name: per-ip, key: ip, rate: 100/s}
- {name: per-user, match: {path: /api/*}, key: header:x-user-id, rate: 2/min}
- {name: plan, match: {jwt:plan: gold}, key: jwt:sub, rate: 9/min}
`

func TestExplain(t *testing.T) {
	file := write(t, "limits.yaml", orderLimits)
	for _, args := range [][]string{
		{"explain", file, "-X", "POST", "/api/order", "-H", "x-user-id: u1", "--ip", "1.2.3.4"},
		{"explain", file, "curl", "-sS", "-XPOST", "https://shop.example/api/order?x=1", "-H", "x-user-id: u1", "-H", "Accept:", "--ip=1.2.3.4", "--compressed", "-o", "/dev/null"},
		{"explain", file, "shop.example/api/order", "-d", "a=1", "-d", "b=2", "-H", "X-User-Id: u1", "--ip", "1.2.3.4", "-u", "me:pw", "-b", "a=1", "-A", "curl"},
	} {
		out, err := sluice(t, args...)
		if err != nil {
			t.Errorf("%v: %v", args, err)
			continue
		}
		for _, says := range []string{"POST ", "+ per-ip: applies", "key rl:{per-ip|1.2.3.4}:log1", "+ per-user: applies", "key rl:{per-user|u1}:log1", "- plan: not for this request: jwt:plan: gold", "KEYS[2] rl:{per-user|u1}:log1", "EVALSHA ", "limit=2 window_ms=60000"} {
			if !strings.Contains(out, says) {
				t.Errorf("%v: no %q in\n%s", args, says, out)
			}
		}
	}
	out, err := sluice(t, "explain", file, "/x", "--jwt-payload", `{"plan": "gold", "sub": "u7"}`, "--json")
	var x explain.Explanation
	if jsonErr := json.Unmarshal([]byte(out), &x); err != nil || jsonErr != nil || len(x.Limits) != 3 || !x.Limits[2].Applies || x.Calls[0].Keys[1] != "rl:{plan|u7}:log1" {
		t.Errorf("%v %v\n%s", err, jsonErr, out)
	}
	payload := write(t, "payload.json", `prov={"plan": "gold", "sub": "u8"}`)
	if out, err := sluice(t, "explain", file, "/x", "--jwt-payload", payload); err != nil || !strings.Contains(out, "rl:{plan|u8}:log1") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "explain", write(t, "all.yaml", "limits: [{name: a, key: [route, metadata:my.filter.tenant, filter_state:t, attr:connection.mtls], rate: 5/s}]"), "/x",
		"--route", "r", "--metadata", "my.filter.tenant=acme", "--filter-state", "t=x", "--attr", "connection.mtls=true"); err != nil || !strings.Contains(out, "rl:{a|r|acme|x|true}:log1") {
		t.Errorf("%v\n%s", err, out)
	}
}

// count makes the calls of n requests to orderLimits.
func count(t *testing.T, rdb *redis.Client, n int, headers ...string) {
	t.Helper()
	policy, problems := yamlconfig.Parse([]byte(orderLimits))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	e := engine.New(policy)
	r, err := explain.NewRequest("GET", "/api/order")
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if err := r.AddHeader(headers[i], headers[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	for range n {
		var d engine.Decision
		var v source.View
		v.Reset(r, &policy.Source)
		d.Start(e, &v)
		dec := redisproto.NewDecoder(redisproto.Limits{})
		dec.Feed(d.AppendCommand(nil, []byte("id"), 0))
		c, _, err := dec.Next()
		if err != nil {
			t.Fatal(err)
		}
		args := []any{"EVAL", e.Script().Source}
		for _, w := range c.Elems[2:] {
			args = append(args, string(w.Str))
		}
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// Who is limited now: explain for the request, inspect for the key.
func TestWhoIsLimitedNow(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{Args: []string{"--maxmemory", "100mb"}})
	rdb := server.Client()
	defer rdb.Close()
	file := write(t, "limits.yaml", orderLimits)
	count(t, rdb, 3, "x-user-id", "u1")
	count(t, rdb, 1, "x-user-id", "u2")
	out, err := sluice(t, "explain", file, "/api/order", "-H", "x-user-id: u1", "--redis", server.Addr)
	if err != nil || !strings.Contains(out, "rejected by per-user; Retry-After: ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "explain", file, "/api/order", "-H", "x-user-id: u2", "--redis", server.Addr); err != nil || !strings.HasSuffix(out, "  admitted\n") {
		t.Errorf("%v\n%s", err, out)
	}
	out, err = sluice(t, "inspect", "--config", file, "--redis", server.Addr, "--share", "1")
	lines := strings.Split(out, "\n")
	if err != nil || !strings.Contains(out, "per-user  2/min  2     1") {
		t.Errorf("%v\n%s", err, out)
	}
	first := ""
	for i, l := range lines {
		if strings.HasPrefix(l, "COUNTER") {
			first = lines[i+1]
		}
	}
	if !strings.Contains(first, "per-user") || !strings.Contains(first, "u1") || !strings.Contains(first, "rejected for ") {
		t.Errorf("the first is %q in\n%s", first, out)
	}
	if out, err := sluice(t, "inspect", "per-user", "u1", "--config", file, "--redis", server.Addr, "--json"); err != nil || !strings.Contains(out, `"rejected": true`) {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "inspect", "per-user", "nobody", "--config", file, "--redis", server.Addr); err != nil || !strings.Contains(out, "nothing is counted for nobody") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "inspect", "rl:{per-user|*", "--redis", server.Addr, "--share", "1"); err != nil || !strings.Contains(out, "2 of ?") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "doctor", "--redis", server.Addr, "--config", file, "--share", "1"); err != nil && exitCode(err) != exitFound || !strings.Contains(out, "all as sluice leaves them") {
		t.Errorf("%v\n%s", err, out)
	}
	rdb.Persist(t.Context(), "rl:{per-user|u1}:log1")
	out, err = sluice(t, "doctor", "--redis", server.Addr, "--share", "1")
	if exitCode(err) != exitFound || !strings.Contains(out, "fail  no-ttl: rl:*: 1 keys never expire") || !strings.Contains(out, "→ ") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := sluice(t, "inspect", "--redis", server.Addr, "--share", "1"); err != nil || !strings.Contains(out, "fault: no_ttl: rl:{per-user|u1}:log1") {
		t.Errorf("%v\n%s", err, out)
	}
	var found []struct{ Severity, Check string }
	out, err = sluice(t, "doctor", "--redis", server.Addr, "--share", "1", "--json")
	if jsonErr := json.Unmarshal([]byte(out), &found); exitCode(err) != exitFound || jsonErr != nil || len(found) < 8 {
		t.Errorf("%v %v\n%s", err, jsonErr, out)
	}
}

// Every failure is one sentence that says what to do, and the documented exit
// code.
func TestLiveBadInput(t *testing.T) {
	locked := stacktest.Redis(t, stack.RedisOptions{Password: "secret"})
	file := write(t, "limits.yaml", orderLimits)
	two := write(t, "two.yaml", "kind: WasmPlugin\nmetadata: {name: sluice}\nspec: {defaultConfig: {limits: []}, matchRules: [{config: {limits: []}}]}")
	hashed := write(t, "hashed.yaml", "hash_keys: true\nhash_secret_env: SLUICE_TEST_UNSET\nlimits: [{name: a, key: ip, rate: 5/s}]")
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	for _, c := range []struct {
		code int
		says string
		args []string
	}{
		{exitUsage, "needs a configuration", []string{"explain"}},
		{exitUsage, "path or URL is missing", []string{"explain", file}},
		{exitUsage, "is another", []string{"explain", file, "/a", "/b"}},
		{exitUsage, "is no header", []string{"explain", file, "/a", "-H", "nocolon"}},
		{exitUsage, "--ip", []string{"explain", file, "/a", "--ip", "1.2.3"}},
		{exitUsage, "name=value", []string{"explain", file, "/a", "--metadata", "x"}},
		{exitUsage, "namespace", []string{"explain", file, "/a", "--metadata", "x=1"}},
		{exitUsage, "--jwt-payload", []string{"explain", file, "/a", "--jwt-payload", "nofile"}},
		{exitUsage, "JSON object", []string{"explain", file, "/a", "--jwt-payload", "{"}},
		{exitUsage, "no such file", []string{"explain", file, "/a", "-d", "@ghost"}},
		{exitRefused, "no file ghost", []string{"explain", "ghost", "/a"}},
		{exitRefused, "sluice check", []string{"explain", write(t, "wrong.yaml", wrongLimits), "/a"}},
		{exitRefused, "holds 2 configurations", []string{"explain", two, "/a"}},
		{exitFailed, "nothing listens at", []string{"explain", file, "/a", "--redis", "127.0.0.1:1"}},
		{exitFailed, "SLUICE_TEST_UNSET", []string{"explain", hashed, "/a", "--redis", locked.Addr}},
		{exitFailed, "wants a password", []string{"inspect", "--redis", locked.Addr}},
		{exitUsage, "is empty", []string{"inspect", "--redis", locked.Addr, "--password-env", "SLUICE_TEST_UNSET"}},
		{exitUsage, "host:port", []string{"inspect", "--redis", "nohost"}},
		{exitUsage, "has no limit ghost", []string{"inspect", "ghost", "--config", file}},
		{exitUsage, "give --config", []string{"inspect", "per-user", "u1"}},
		{exitUsage, "stands alone", []string{"inspect", "rl:*", "u1"}},
		{exitUsage, "--share", []string{"inspect", "--share", "0"}},
		{exitFailed, "nothing listens at", []string{"doctor", "--redis", "127.0.0.1:1"}},
		{exitFailed, "didn't answer within", []string{"doctor", "--redis", silent.Addr().String(), "--timeout", "200ms"}},
		{exitUsage, "admin interface is", []string{"doctor", "--envoy", "https://x"}},
		{exitUsage, "takes no arguments", []string{"doctor", "now"}},
		{exitRefused, "no file ghost", []string{"doctor", "--config", "ghost"}},
		{exitFound, "marked fail", []string{"doctor", "--envoy", "127.0.0.1:1"}},
	} {
		out, err := sluice(t, c.args...)
		if exitCode(err) != c.code || err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") || strings.Contains(out, "goroutine") {
			t.Errorf("sluice %v: %d %v\n%s", c.args, exitCode(err), err, out)
		}
	}
}
