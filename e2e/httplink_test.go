package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// httpLink is redis with one connection a call; more replaces or adds fields.
func httpLink(more m) m {
	r := m{"link": "http", "timeout": "10s"}
	for k, v := range more {
		r[k] = v
	}
	return r
}

// withoutPipe is a gateway that has no listener inside Envoy.
func withoutPipe(t *testing.T, redis *stack.Redis, fields m, limits ...m) stacktest.Gateway {
	return stacktest.Gateway{
		Plugin: policy(t, fields, limits...), Redis: redis.Addr, Upstream: stacktest.Upstream(t).Addr, Workers: 2,
		Edit: func(c *envoyconfig.Config) { c.WithoutPipe() },
	}
}

// Two gateways without a pipe: exactly 100 of 105 pass, also after SCRIPT FLUSH.
func TestHTTPLinkExactly100Of105(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	g := withoutPipe(t, redis, m{"redis": httpLink(nil)}, byKey("100/hour"))
	gws := gateways(t, 2, g)
	for _, key := range []string{"one", "flushed"} {
		answers := times(105, 20, func(i int) answer { return get(gws[i%2].URL()+"/", key) })
		mustBeAnswered(t, answers, hang, 200, 429)
		if got := statuses(answers); got[200] != 100 || got[429] != 5 {
			t.Errorf("%s: answers by status: %v", key, got)
		}
		if mode := answers[0].header.Get("x-sluice-mode"); mode != "redis" {
			t.Errorf("decided in mode %q", mode)
		}
		c := redis.Client()
		if err := c.ScriptFlush(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		c.Close()
	}
	if got := stats(t, gws[0]).Sum("sluice_script_loads_total", nil); got == 0 {
		t.Error("no script was sent")
	}
}

// With a password and a database, each connection begins with AUTH and SELECT.
func TestHTTPLinkLogsIn(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "secret"})
	g := withoutPipe(t, redis, m{"redis": httpLink(m{"password_env": "REDIS_PASSWORD", "db": 3})}, byKey("2/hour"))
	g.Env = []string{"REDIS_PASSWORD=secret"}
	edit := g.Edit
	g.Edit = func(c *envoyconfig.Config) { edit(c); c.PassEnv("REDIS_PASSWORD") }
	e := g.Start(t)
	get(e.URL()+"/", "k").must(t, 200)
	get(e.URL()+"/", "k").must(t, 200)
	get(e.URL()+"/", "k").must(t, 429)
	c := redis.Client()
	defer c.Close()
	info, err := c.Info(context.Background(), "keyspace").Result()
	if err != nil || !strings.Contains(info, "db3:") || strings.Contains(info, "db0:") {
		t.Errorf("keys are in %q (%v)", info, err)
	}
	g.Env = []string{"REDIS_PASSWORD=wrong"}
	g.Name = "wrong-password"
	wrong := g.Start(t)
	unavailable(t, get(wrong.URL()+"/", "k"))
	if got := stats(t, wrong).Sum("sluice_redis_errors_total", m2("kind", "auth")); got == 0 {
		t.Error("the refusal isn't counted as auth")
	}
	said := false
	for _, line := range pluginLog(t, wrong) {
		said = said || strings.Contains(line, "Redis refused AUTH: WRONGPASS")
		if strings.Contains(line, "REDIS_PASSWORD=") || strings.Contains(line, "=wrong") {
			t.Errorf("logged: %s", line)
		}
	}
	if !said {
		t.Error("nothing says that the password is wrong")
	}
}

func m2(k, v string) map[string]string { return map[string]string{k: v} }

// Redis hangs, dies and comes back: each request is answered by the failure policy.
func TestHTTPLinkRedisFails(t *testing.T) {
	for _, on := range onError {
		t.Run(on.policy, func(t *testing.T) {
			redis := stacktest.Redis(t, stack.RedisOptions{})
			e := withoutPipe(t, redis, m{"on_error": on.policy, "redis": httpLink(m{"timeout": "50ms"})}, byKey("1000/hour")).Start(t)
			backToRedis(t, e)
			if err := redis.Pause(); err != nil {
				t.Fatal(err)
			}
			answers := times(30, 5, func(i int) answer { return get(e.URL()+"/", fmt.Sprintf("hung-%d", i)) })
			mustBeAnswered(t, answers, soon, on.status)
			if got := stats(t, e).Sum("sluice_redis_errors_total", m2("kind", "timeout")); got == 0 {
				t.Error("no call timed out")
			}
			if err := redis.Resume(); err != nil {
				t.Fatal(err)
			}
			backToRedis(t, e)
			// A process that is being killed still resets connections that it never took.
			refused := func() float64 {
				s := stats(t, e)
				return s.Sum("sluice_redis_errors_total", m2("kind", "unavailable")) + s.Sum("sluice_redis_errors_total", m2("kind", "lost"))
			}
			before := refused()
			redis.Kill()
			answers = times(30, 5, func(i int) answer { return get(e.URL()+"/", fmt.Sprintf("dead-%d", i)) })
			mustBeAnswered(t, answers, soon, on.status)
			if refused() == before {
				t.Error("no call was refused a connection")
			}
			if err := redis.Start(); err != nil {
				t.Fatal(err)
			}
			backToRedis(t, e)
			eventually(t, 5*time.Second, func() error {
				if active := stats(t, e).Sum("envoy_http_downstream_rq_active", m2("envoy_http_conn_manager_prefix", "gateway")); active != 0 {
					return fmt.Errorf("%v requests are still active", active)
				}
				return nil
			})
		})
	}
}
