package docs

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// These show what docs/security.md says and no other test does.

// pluginJSON is a YAML configuration as the plugin takes it.
func pluginJSON(t *testing.T, yaml string) string {
	t.Helper()
	c, problem := yamlconfig.Convert([]byte(yaml))
	if problem != nil {
		t.Fatal(problem)
	}
	return string(c.JSON)
}

var patient = &http.Client{Timeout: slowest}

// status sends a request with these headers, name and value in turn.
func status(t *testing.T, url string, headers ...string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := patient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// everything is all that a Redis holds: names, and values as DUMP gives them.
func everything(t *testing.T, b *bed) string {
	t.Helper()
	keys, err := b.rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, k := range keys {
		all.WriteString(k + "\n" + b.rdb.Dump(t.Context(), k).Val() + "\n")
	}
	return all.String()
}

// all of a gateway's logs and metrics.
func told(t *testing.T, e *stack.Envoy) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(e.Process().Log), "*.log"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	var all strings.Builder
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	metrics, err := e.Admin.Get(t.Context(), "/stats/prometheus")
	if err != nil {
		t.Fatal(err)
	}
	return all.String() + string(metrics)
}

// With hash_keys a caller's value is in no name and no value in Redis, in no log
// and in no metric; limits hold all the same.
func TestHashedValuesAreNowhere(t *testing.T) {
	b := newBed(t)
	for _, hashed := range []bool{true, false} {
		t.Run(fmt.Sprint(hashed), func(t *testing.T) {
			b.clean(t)
			hashing := ""
			if hashed {
				hashing = "hash_keys: true\nhash_secret_env: SLUICE_DOCS_SECRET\n"
			}
			e := stacktest.Gateway{
				Plugin: pluginJSON(t, hashing+"redis: {timeout: 10s}\nlimits: [{name: user, key: header:x-user-id, rate: 2/hour, storage: zset}]"),
				Redis:  b.server.Addr, Env: []string{"SLUICE_DOCS_SECRET=the-pepper-of-this-test"},
				Edit: func(c *envoyconfig.Config) { c.PassEnv("SLUICE_DOCS_SECRET") },
			}.Start(t)
			const person = "alice.personal.example"
			for i, want := range []int{200, 200, 429, 429} {
				if got := status(t, e.URL()+"/", "x-user-id", person); got != want {
					t.Errorf("request %d: %d, not %d", i, got, want)
				}
			}
			stored := everything(t, b)
			if !strings.Contains(stored, "rl:{user|") {
				t.Fatalf("the limit has no counter: %q", stored)
			}
			// Without hashing it must be found, or this test sees nothing.
			if got := strings.Contains(stored, person); got == hashed {
				t.Errorf("Redis holds the value: %v", got)
			}
			if all := told(t, e); strings.Contains(all, person) || strings.Contains(all, "the-pepper") {
				t.Error("logs or metrics have a caller's value, or the secret")
			}
		})
	}
}

// Hashes without a secret could be guessed: such a configuration doesn't run.
func TestHashingNeedsItsSecret(t *testing.T) {
	b := newBed(t)
	_, err := stacktest.Gateway{
		Plugin: pluginJSON(t, "hash_keys: true\nhash_secret_env: SLUICE_DOCS_UNSET\nlimits: [{name: user, key: ip, rate: 2/hour}]"), Redis: b.server.Addr,
	}.TryStart(t)
	if err == nil || !strings.Contains(err.Error(), "SLUICE_DOCS_UNSET is empty") {
		t.Errorf("started, or doesn't say why not: %v", err)
	}
}

// A password that is refused is in no log, no metric and no header.
func TestPasswordsAreNotTold(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{Password: "right"})
	e := stacktest.Gateway{
		Plugin: pluginJSON(t, "redis: {timeout: 10s, password_env: SLUICE_DOCS_PASSWORD}\non_error: deny\nlimits: [{name: all, rate: 5/hour}]"),
		Redis:  server.Addr, Env: []string{"SLUICE_DOCS_PASSWORD=wrong-and-secret"},
		Edit: func(c *envoyconfig.Config) { c.PassEnv("SLUICE_DOCS_PASSWORD") },
	}.Start(t)
	for range 20 {
		if got := status(t, e.URL()+"/"); got != http.StatusServiceUnavailable {
			t.Errorf("answered %d", got)
		}
	}
	all := told(t, e)
	if !strings.Contains(all, "wrong user name or password") {
		t.Errorf("the log doesn't say what is wrong:\n%s", all)
	}
	dump, err := e.Admin.ConfigDump(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(all, "wrong-and-secret") || strings.Contains(string(dump), "wrong-and-secret") {
		t.Error("the password is in a log, a metric or the dumped configuration")
	}
}

// Callers that each have another key cost Redis a bounded key each, which goes by
// itself, and the gateway no metric.
func TestAFloodOfKeys(t *testing.T) {
	b := newBed(t)
	e := stacktest.Gateway{
		Plugin: pluginJSON(t, "redis: {timeout: 10s}\nruntime_overrides: false\nlimits: [{name: user, key: header:x-user-id, rate: 1000000/min}]"),
		Redis:  b.server.Addr,
	}.Start(t)
	status(t, e.URL()+"/", "x-user-id", "first")
	series := func() int {
		text, err := e.Admin.Get(t.Context(), "/stats/prometheus?filter=sluice")
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
	before := series()
	const callers = 500
	for i := range callers {
		// Short, long and strange: longer than 64 bytes they are hashed.
		value := fmt.Sprintf("caller-%d%s", i, strings.Repeat("{x}:|", i%40*30))
		if got := status(t, e.URL()+"/", "x-user-id", value); got != 200 {
			t.Fatalf("caller %d is answered %d", i, got)
		}
	}
	if after := series(); after != before || before == 0 {
		t.Errorf("%d series became %d", before, after)
	}
	keys, err := b.rdb.Keys(t.Context(), "rl:{user|*").Result()
	if err != nil || len(keys) != callers+1 {
		t.Fatalf("%d keys (%v)", len(keys), err)
	}
	for _, k := range keys {
		ttl, err := b.rdb.PTTL(t.Context(), k).Result()
		if err != nil || ttl <= 0 || ttl > 2*time.Minute {
			t.Errorf("%s lives for %v (%v)", k, ttl, err)
		}
		if n := b.rdb.MemoryUsage(t.Context(), k).Val(); n <= 0 || n > 512 {
			t.Errorf("%s takes %d bytes after one request", k, n)
		}
		if len(k) > 256 || strings.Count(k, "{") != 1 || strings.Count(k, "}") != 1 {
			t.Errorf("a caller chose braces or length of %q", k)
		}
	}
}

// Leaving out the header that a limit counts by is no way around: all who do so
// share one counter.
func TestMissingKeysShareACounter(t *testing.T) {
	b := newBed(t)
	e := stacktest.Gateway{
		Plugin: pluginJSON(t, "redis: {timeout: 10s}\nlimits: [{name: user, key: header:x-user-id, rate: 2/hour}]"), Redis: b.server.Addr,
	}.Start(t)
	for i, headers := range [][]string{{}, {"x-user-id", ""}, {}, {"X-Other", "a"}, {"x-user-id", "somebody"}} {
		want := []int{200, 200, 429, 429, 200}[i]
		if got := status(t, e.URL()+"/", headers...); got != want {
			t.Errorf("request %d: %d, not %d", i, got, want)
		}
	}
}

// What runs out of the box listens to its admin port on this machine only.
func TestAdminListensLocally(t *testing.T) {
	root := stacktest.Root(t)
	files, err := filepath.Glob(filepath.Join(root, "testdata", "manifest", "*", "envoy.yaml"))
	if err != nil || len(files) < 2 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, f := range append(files, filepath.Join(root, "envoy.yaml")) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		_, admin, found := strings.Cut(string(text), "\nadmin:\n")
		line, _, _ := strings.Cut(admin, "\n")
		if !found || !strings.Contains(line, "address: 127.0.0.1,") {
			t.Errorf("%s: admin is %q", f, line)
		}
	}
}

// A configuration without overrides at run time doesn't follow who may write them.
func TestOverridesCanBeRefused(t *testing.T) {
	b := newBed(t)
	ctx := context.Background()
	until := time.Now().Add(time.Hour).UnixMilli()
	for _, c := range []struct {
		config string
		want   int
	}{{"false", 200}, {"true", 429}} {
		b.clean(t)
		if err := b.rdb.HSet(ctx, "rl:{sluice}:set1", "user", fmt.Sprint(until, " block")).Err(); err != nil {
			t.Fatal(err)
		}
		e := stacktest.Gateway{
			Plugin: pluginJSON(t, "redis: {timeout: 10s}\nruntime_overrides: "+c.config+"\nlimits: [{name: user, key: header:x-user-id, rate: 100000/hour}]"), Redis: b.server.Addr,
		}.Start(t)
		end := time.Now().Add(4 * time.Second) // twice what a gateway takes to follow
		if c.want == 429 {
			end = time.Now().Add(slowest)
		}
		got := 0
		for time.Now().Before(end) {
			if got = status(t, e.URL()+"/", "x-user-id", "u"); got == 429 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		if got != c.want {
			t.Errorf("runtime_overrides: %s: answered %d, not %d", c.config, got, c.want)
		}
	}
}
