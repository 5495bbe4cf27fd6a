package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// What is wrong between the plugin and Redis is said in a clear line, seldom
// enough not to flood the log, and requests follow on_error.
func TestRedisThatCannotBeUsed(t *testing.T) {
	cases := []struct {
		name  string
		redis stack.RedisOptions
		away  bool // no Redis at all
		field string
		value any
		says  string // what one log line must contain
	}{
		{name: "wrong password", redis: stack.RedisOptions{Password: "right"}, field: "password", value: "wrong", says: "wrong user name or password"},
		{name: "no password", redis: stack.RedisOptions{Password: "right"}, says: "wants a password"},
		{name: "wrong cluster name", field: "cluster", value: "no_such_cluster", says: "no_such_cluster"},
		{name: "wrong database", field: "db", value: 99, says: "refused SELECT"},
		{name: "no Redis", away: true, says: "no connection to Redis"},
	}
	for i, c := range cases {
		// Each policy is met by some mistake, and the last one by both.
		for j, on := range onError {
			if i != len(cases)-1 && i%2 != j {
				continue
			}
			t.Run(c.name+"/"+on.policy, func(t *testing.T) {
				redis := stacktest.Redis(t, c.redis)
				if c.away {
					redis.Kill()
				}
				settings := m{"cluster": "redis_pipe", "timeout": "10s"}
				if c.field != "" {
					settings[c.field] = c.value
				}
				e := stacktest.Gateway{
					Plugin: policy(t, m{"redis": settings, "on_error": on.policy}, byKey("5/hour")),
					Redis:  redis.Addr, Upstream: stacktest.Upstream(t).Addr,
				}.Start(t)
				answers := times(100, 4, func(int) answer { return get(e.URL()+"/", "k") })
				mustBeAnswered(t, answers, soon, on.status)
				if on.policy == "deny" {
					unavailable(t, answers[0])
				}
				s := stats(t, e)
				if got := decisions(s, "key", on.outcome); got != 100 {
					t.Errorf("%v decisions counted as %s", got, on.outcome)
				}
				if got := s.Sum("sluice_redis_errors_total", nil); got == 0 {
					t.Error("no error was counted")
				}
				lines := pluginLog(t, e)
				said := 0
				for _, line := range lines {
					if strings.Contains(line, c.says) {
						said++
					}
				}
				if said == 0 || len(lines) > 10 {
					t.Errorf("%d log lines for 100 requests, %d of them say %q:\n%s", len(lines), said, c.says, strings.Join(lines, "\n"))
				}
			})
		}
	}
}

// Redis comes up after the gateway: the requests from then on are decided.
func TestRedisAbsentAtStart(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	redis.Kill()
	e := stacktest.Gateway{
		Plugin: policy(t, nil, byKey("3/hour")), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	unavailable(t, get(e.URL()+"/", "k"))
	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	backToRedis(t, e)
	for i := range 5 {
		get(e.URL()+"/", "k").must(t, []int{200, 200, 200, 429, 429}[i])
	}
}

// A user of an access list, with its password from the environment and a
// database of its own.
func TestRedisUserAndDatabase(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{ACL: []string{
		"user default on >other ~* +@all", "user limiter on >sesame ~rl:* -@all +@scripting +@string +@sortedset +@read +@write +@connection +time",
	}, Password: ""})
	e := stacktest.Gateway{
		Plugin: policy(t, m{"redis": m{
			"cluster": "redis_pipe", "timeout": "10s", "username": "limiter", "password_env": "SLUICE_E2E_PASSWORD", "db": 3,
		}}, byKey("3/hour")),
		Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
		Env:  []string{"SLUICE_E2E_PASSWORD=sesame"},
		Edit: func(c *envoyconfig.Config) { c.PassEnv("SLUICE_E2E_PASSWORD") },
	}.Start(t)
	for i := range 4 {
		get(e.URL()+"/", "k").must(t, []int{200, 200, 200, 429}[i])
	}
	c := redis.ClientAs("default", "other", 3)
	defer c.Close()
	keys, err := c.Keys(t.Context(), "*").Result()
	if err != nil || len(keys) != 1 || !strings.HasPrefix(keys[0], "rl:{key|") {
		t.Errorf("database 3 holds %q (%v)", keys, err)
	}
}

// wrong is a configuration with several mistakes, and wrongPaths are the paths
// under which they must all be reported; on_error must be suggested for on_eror.
var (
	wrong      = `{"redis":{"cluster":""},"limits":[{"name":"Bad Name","key":"ip","rate":"5/min"},{"name":"b","key":"nothing","rate":"many","colour":"red"}],"on_eror":"allow"}`
	wrongPaths = []string{"redis.cluster", "limits[0].name", "limits[1].key", "limits[1].rate", "limits[1].colour", "on_eror"}
)

// unreported says which of the mistakes a log doesn't name.
func unreported(log string) error {
	for _, path := range append([]string{"on_error"}, wrongPaths...) {
		if !strings.Contains(log, path) {
			return fmt.Errorf("the log doesn't name %s:\n%s", path, log)
		}
	}
	return nil
}

// An Envoy with a static configuration that is wrong doesn't start, and its log
// has every mistake.
func TestWrongConfigurationAtStart(t *testing.T) {
	_, err := stacktest.Gateway{Plugin: wrong, Redis: "127.0.0.1:1"}.TryStart(t)
	var ended *stack.EndedError
	if !errors.As(err, &ended) {
		t.Fatalf("Envoy runs, or fails otherwise: %v", err)
	}
	if err := unreported(ended.Tail); err != nil {
		t.Error(err)
	}
}

// A wrong configuration that comes at run time is refused; the running one
// goes on, with its counts, until a right one comes.
func TestWrongConfigurationAtRunTime(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	file := filepath.Join(t.ArtifactDir(), "listeners.yaml")
	g := stacktest.Gateway{
		Plugin: policy(t, nil, byKey("6/hour")), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr,
	}
	port, err := stack.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	config := g.Config(t)
	config.Listen(envoyconfig.Gateway, port)
	publish(t, file, config)
	dynamic := g.Config(t)
	dynamic.ListenersFrom(file)
	e, err := stacktest.Envoy(t, stack.EnvoyOptions{Config: dynamic, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	url := "http://" + stack.Addr(port)
	for range 2 {
		get(url+"/", "k").must(t, 200)
	}

	config.Configure(wrong)
	publish(t, file, config)
	eventually(t, 20*time.Second, func() error {
		log, err := os.ReadFile(e.Process().Log)
		if err == nil {
			err = unreported(string(log))
		}
		return err
	})
	for range 2 {
		get(url+"/", "k").must(t, 200)
	}
	if got := stats(t, e).Sum("sluice_config_errors_total", nil); got == 0 {
		t.Error("sluice_config_errors_total is 0")
	}

	config.Configure(policy(t, nil, byKey("5/hour")))
	publish(t, file, config)
	eventually(t, 20*time.Second, func() error {
		a := send(call{url: url + "/", header: map[string]string{key: fmt.Sprint("probe", time.Now().UnixNano())}})
		if a.err == nil && a.header.Get("x-ratelimit-limit") != "5" {
			a.err = fmt.Errorf("x-ratelimit-limit is %s", a.header.Get("x-ratelimit-limit"))
		}
		client.CloseIdleConnections() // open connections keep the listener they came by
		return a.err
	})
	get(url+"/", "k").must(t, 200)
	get(url+"/", "k").must(t, 429)
}

// publish hands a configuration's gateway to an Envoy that watches file: it
// only sees a file that is moved there.
func publish(t *testing.T, file string, c *envoyconfig.Config) {
	t.Helper()
	text, err := c.Discovery(envoyconfig.Gateway)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file+".new", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}
