// Package platforms runs what `sluice manifest envoy` makes, as it is: only
// ports, paths and the upstream are the test's own.
package platforms

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/manifest"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// limits admits n requests an hour for each value of x-key; nobody else may
// decide when Redis doesn't.
func limits(n int, more string) string {
	return fmt.Sprintf("redis: {timeout: 10s%s}\non_error: deny\nlimits:\n- {name: key, key: header:x-key, rate: %d/hour}\n", more, n)
}

// generate makes the deployment's files, by name.
func generate(t *testing.T, config string, o manifest.Options) map[string][]byte {
	t.Helper()
	o.Target, o.Module, o.Listen = manifest.Envoy, stacktest.Module(t), stack.Addr(1)
	if o.Upstream == "" {
		o.Upstream = stack.Addr(1)
	}
	files, err := manifest.Make([]byte(config), o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range files {
		out[f.Name] = f.Text
	}
	return out
}

// parse reads a generated configuration, on ports that are free.
func parse(t *testing.T, text []byte) *envoyconfig.Config {
	t.Helper()
	c, err := envoyconfig.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	c.AdminPort(0)
	c.Listen(envoyconfig.Gateway, 0)
	return c
}

func start(t *testing.T, c *envoyconfig.Config, env ...string) *stack.Envoy {
	t.Helper()
	e, err := stacktest.Envoy(t, stack.EnvoyOptions{Config: c, Workers: 2, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// run starts the generated configuration in front of an upstream.
func run(t *testing.T, config string, o manifest.Options, env ...string) *stack.Envoy {
	t.Helper()
	if o.Upstream == "" {
		o.Upstream = stacktest.Upstream(t).Addr
	}
	return start(t, parse(t, generate(t, config, o)["envoy.yaml"]), env...)
}

var client = &http.Client{Timeout: 20 * time.Second}

// send sends a request and returns its status and headers.
func send(t *testing.T, e *stack.Envoy, method, path string, body io.Reader, headers ...string) (int, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, e.URL()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header
}

// exactly sends n+2 requests of one key, and expects n to pass.
func exactly(t *testing.T, e *stack.Envoy, key string, n int) {
	t.Helper()
	for i := range n + 2 {
		want := http.StatusOK
		if i >= n {
			want = http.StatusTooManyRequests
		}
		if got, h := send(t, e, http.MethodGet, "/", nil, "x-key", key); got != want {
			t.Fatalf("request %d of key %s: %d, expected %d\n%v", i+1, key, got, want, h)
		}
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// The password comes from the environment, decisions are in the access log, and
// metrics have labels.
func TestEnvoy(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "s3cret"})
	e := run(t, limits(5, ", password_env: REDIS_PASSWORD"), manifest.Options{Redis: []string{redis.Addr}}, "REDIS_PASSWORD=s3cret")
	exactly(t, e, "k", 5)
	log := filepath.Join(filepath.Dir(e.Process().Log), "envoy-access.log")
	eventually(t, "the access log tells both decisions", func() bool {
		text, _ := os.ReadFile(log)
		return strings.Contains(string(text), "decision=admitted limit=key") && strings.Contains(string(text), "decision=rejected limit=key")
	})
	stats, err := e.Admin.SettledStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for outcome, want := range map[string]float64{"admitted": 5, "rejected": 2} {
		if got := stats.Sum("sluice_decisions_total", map[string]string{"limit": "key", "outcome": outcome}); got != want {
			t.Errorf("%v %s, expected %v", got, outcome, want)
		}
	}
}

// With --watch a change of the limits is a file that is moved into place: it
// takes effect without a restart, and no count is lost.
func TestEnvoyWatchesTheLimits(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	dir := t.TempDir()
	o := manifest.Options{Redis: []string{redis.Addr}, Watch: filepath.Join(dir, "limits.yaml"), Upstream: stacktest.Upstream(t).Addr}
	put := func(text []byte) {
		if err := os.WriteFile(o.Watch+".new", text, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(o.Watch+".new", o.Watch); err != nil {
			t.Fatal(err)
		}
	}
	files := generate(t, limits(5, ""), o)
	put(files["limits.yaml"])
	e := start(t, parse(t, files["envoy.yaml"]))
	exactly(t, e, "k", 5)
	put(generate(t, limits(8, ""), o)["limits.yaml"])
	eventually(t, "the changed limit holds", func() bool {
		got, _ := send(t, e, http.MethodGet, "/", nil, "x-key", "k")
		return got == http.StatusOK
	})
	exactly(t, e, "k", 2) // the sixth has just passed
}

func TestEnvoyOverTLS(t *testing.T) {
	certs := stacktest.NewCertificates(t, "redis.example")
	_, addr := stacktest.TLSRedis(t, stack.RedisOptions{}, certs, true)
	right := manifest.TLS{CA: certs.CA, Name: "redis.example", Cert: certs.ClientCert, Key: certs.ClientKey}
	exactly(t, run(t, limits(5, ""), manifest.Options{Redis: []string{addr}, TLS: &right}), "tls", 5)

	stranger := stacktest.NewCertificates(t, "redis.example")
	for name, edit := range map[string]func(*manifest.TLS){
		"another authority": func(tls *manifest.TLS) { tls.CA = stranger.CA },
		"another name":      func(tls *manifest.TLS) { tls.Name = "elsewhere.example" },
	} {
		wrong := right
		edit(&wrong)
		e := run(t, limits(5, ""), manifest.Options{Redis: []string{addr}, TLS: &wrong})
		if got, _ := send(t, e, http.MethodGet, "/", nil, "x-key", "tls"); got != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// A Redis Cluster with a password: Envoy's Redis proxy logs in, and counters on
// all nodes are exact.
func TestEnvoyWithARedisCluster(t *testing.T) {
	cluster, err := stack.StartRedisCluster(stack.RedisOptions{
		Binary: stacktest.RedisBinary(t), Dir: t.ArtifactDir(), Password: "s3cret", Args: []string{"--masterauth", "s3cret"},
	}, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Stop)
	var nodes []string
	for _, n := range cluster.Nodes[:2] {
		nodes = append(nodes, n.Addr)
	}
	e := run(t, limits(5, ", password_env: REDIS_PASSWORD"), manifest.Options{Redis: nodes, RedisCluster: true}, "REDIS_PASSWORD=s3cret")
	for key := range 8 {
		exactly(t, e, fmt.Sprint("key-", key), 5)
	}
	for _, n := range cluster.Nodes {
		c := n.Client()
		size, err := c.DBSize(t.Context()).Result()
		c.Close()
		if err != nil || size == 0 {
			t.Errorf("node %s holds %d counters (%v)", n.Addr, size, err)
		}
	}
}

// every uses each kind of host call: properties, bodies both ways, headers that
// are taken away, and counters that workers share.
const every = `
redis: {timeout: 10s}
on_error: deny
limits:
- {name: upload, match: {path: /upload}, cost: body_bytes, rate: 10/hour}
- {name: protocol, match: {path: /property}, key: "attr:request.protocol", missing: deny, rate: 2/hour}
- {name: tokens, match: {path: /tokens}, cost: 0, rate: 10/hour, settle: {cost: "response_json:usage.total_tokens"}}
- {name: slow-lane, match: {path: /tag}, rate: 1/hour, tag: {header: x-lane, value: slow}}
- {name: alone, match: {path: /local}, rate: 2/hour, on_error: local}
`

// With what the manifest allows, all of it works, and Envoy has refused nothing.
func TestLeastPrivilege(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	upstream := stacktest.Upstream(t)
	e := run(t, every, manifest.Options{Redis: []string{redis.Addr}, Upstream: upstream.Addr})
	// Of unknown length, so that bytes count as they pass.
	for i, want := range []int{200, 429} {
		if got, _ := send(t, e, http.MethodPost, "/upload", io.MultiReader(bytes.NewReader(make([]byte, 12)))); got != want {
			t.Errorf("upload %d: %d", i+1, got)
		}
	}
	upstream.SetAnswer(stack.Answer{Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"usage":{"total_tokens":12}}`})
	if got, _ := send(t, e, http.MethodGet, "/tokens", nil); got != 200 {
		t.Errorf("the first call for tokens: %d", got)
	}
	eventually(t, "the answer's tokens count", func() bool {
		got, _ := send(t, e, http.MethodGet, "/tokens", nil)
		return got == 429
	})
	upstream.SetAnswer(stack.Answer{})
	for path, want := range map[string][]int{"/property": {200, 200, 429}, "/tag": {200, 200}} {
		for i, status := range want {
			if got, h := send(t, e, http.MethodGet, path, nil, "x-lane", "forged"); got != status {
				t.Errorf("%s, request %d: %d, expected %d\n%v", path, i+1, got, status, h)
			}
		}
	}
	// Redis dies: the stream to it breaks, and counters that workers share count.
	redis.Kill()
	var passed int
	for range 5 {
		if got, _ := send(t, e, http.MethodGet, "/local", nil); got == 200 {
			passed++
		}
	}
	if passed != 2 {
		t.Errorf("%d passed without Redis, expected 2", passed)
	}
	if text, err := os.ReadFile(e.Process().Log); err != nil || strings.Contains(strings.ToLower(string(text)), "restricted") {
		t.Errorf("Envoy refused the plugin something (%v):\n%s", err, stack.Tail(e.Process().Log, 20))
	}
}

// Envoy holds the plugin to the list: without proxy_get_property no attribute
// can be read.
func TestPrivilegeIsEnforced(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	text := generate(t, every, manifest.Options{Redis: []string{redis.Addr}, Upstream: stacktest.Upstream(t).Addr})["envoy.yaml"]
	less := bytes.Replace(text, []byte("proxy_get_property: {}"), nil, 1)
	if len(less) == len(text) {
		t.Fatal("the manifest doesn't allow proxy_get_property")
	}
	e := start(t, parse(t, less))
	if got, _ := send(t, e, http.MethodGet, "/property", nil); got != http.StatusBadRequest {
		t.Errorf("an attribute was read all the same: %d", got)
	}
}
