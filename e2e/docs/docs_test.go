// Package docs runs the commands that the documentation shows.
package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/configfile"
	"sluice/internal/doctest"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/limit"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/lua"
	"sluice/redisproto"
)

func TestMain(m *testing.M) { os.Exit(stacktest.Main(m)) }

// tool builds the tool and returns the folder that it is in.
func tool(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "sluice"), "./cmd/sluice")
	cmd.Dir = stacktest.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// bed is what the pages' commands run against.
type bed struct {
	server *stack.Redis
	rdb    *redis.Client
}

func newBed(t *testing.T) *bed {
	t.Helper()
	b := &bed{server: stacktest.Redis(t, stack.RedisOptions{})}
	b.rdb = b.server.Client()
	t.Cleanup(func() { _ = b.rdb.Close() })
	return b
}

// clean is an empty Redis that is set up well.
func (b *bed) clean(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for _, err := range []error{
		b.rdb.FlushAll(ctx).Err(), b.rdb.ConfigSet(ctx, "maxmemory", "200mb").Err(), b.rdb.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(),
		b.rdb.Do(ctx, "SLOWLOG", "RESET").Err(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// requests makes the calls for n requests to envoy.yaml's limits.
func (b *bed) requests(t *testing.T, n int, path, ip string) {
	t.Helper()
	text, err := configfile.Read(filepath.Join(stacktest.Root(t), "envoy.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := configfile.Find(text)
	if err != nil || len(found) != 1 || found[0].Policy == nil {
		t.Fatal(err)
	}
	e := engine.New(found[0].Policy)
	r, err := explain.NewRequest("GET", path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := source.Parse("ip")
	if err != nil || !r.Set(s, ip) {
		t.Fatal(err)
	}
	for range n {
		var d engine.Decision
		var v source.View
		v.Reset(r, &found[0].Policy.Source)
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
		if err := b.rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// charge has a script count hits, by a clock that is ms ahead.
func (b *bed) charge(t *testing.T, storage, key string, n int, ms int64) {
	t.Helper()
	a, err := limit.Lookup("sliding_log", storage)
	if err != nil {
		t.Fatal(err)
	}
	s := lua.Compose(a.Script)
	now := b.rdb.Time(t.Context()).Val().UnixMicro() + ms*1000
	pipe := b.rdb.Pipeline()
	for i := range n {
		pipe.Eval(t.Context(), s.Source, []string{key}, now, fmt.Sprint(i), 1, lua.OpDecide, 1, 1_000_000, 60_000)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

const limiter = "redis: {username: limiter, password_env: LIMITER_PASSWORD}\nlimits: [{name: a, key: ip, rate: 5/s}]\n"

func TestOperations(t *testing.T) {
	root := stacktest.Root(t)
	b := newBed(t)
	replace := map[string]string{"127.0.0.1:6379": b.server.Addr}
	prepare := map[string]func(t *testing.T){
		"limited": func(t *testing.T) {
			b.requests(t, 6, "/hello", "203.0.113.7")
			b.requests(t, 2, "/hello", "203.0.113.8")
			// The counter of a second is over by the time that it is looked at, or not.
			b.rdb.Del(t.Context(), "rl:{per-ip|203.0.113.8}:log1")
		},
		"healthy": func(t *testing.T) { b.requests(t, 1, "/other", "203.0.113.7") },
		"clock":   func(t *testing.T) { b.charge(t, "compact", "rl:{hello|203.0.113.7}:log1", 1, 30_000) },
		"big":     func(t *testing.T) { b.charge(t, "zset", "rl:{audit|1}:zlog1", 2000, 0) },
		"writer": func(t *testing.T) {
			b.rdb.Incr(t.Context(), "rl:{hello|1}:fix1")
			b.rdb.Expire(t.Context(), "rl:{hello|1}:fix1", time.Minute)
		},
		"ttl": func(t *testing.T) {
			b.charge(t, "compact", "rl:{hello|203.0.113.7}:log1", 1, 0)
			b.rdb.Persist(t.Context(), "rl:{hello|203.0.113.7}:log1")
		},
		"overrides": func(t *testing.T) {
			b.rdb.HSet(t.Context(), "rl:{sluice}:set1", "helo", "4000000000000 block")
		},
		"blocked": func(t *testing.T) {
			b.requests(t, 1, "/hello", "203.0.113.7")
			end := time.Now().Add(time.Hour).UnixMilli()
			b.rdb.HSet(t.Context(), "rl:{sluice}:set1", "hello|203.0.113.7", fmt.Sprint(end, " block"))
		},
		"slots":    func(t *testing.T) { b.rdb.Set(t.Context(), "rl:user:1:daily", "5", time.Minute) },
		"eviction": func(t *testing.T) { b.rdb.ConfigSet(t.Context(), "maxmemory-policy", "allkeys-lru") },
		"rights": func(t *testing.T) {
			b.rdb.Do(t.Context(), "ACL", "SETUSER", "limiter", "on", ">pw", "~*", "+@all", "-evalsha")
			if err := os.WriteFile(filepath.Join(root, "build", "limiter.yaml"), []byte(limiter), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	}
	for name, f := range prepare {
		prepare[name] = func(t *testing.T) {
			b.clean(t)
			f(t)
		}
	}
	prepare["gateways"] = func(t *testing.T) {
		plugin, problem := yamlconfig.Convert([]byte("limits: [{name: hello, key: ip, rate: 5/min}]"))
		if problem != nil {
			t.Fatal(problem)
		}
		for port, text := range map[string]string{"9901": string(plugin.JSON), "9902": strings.Replace(string(plugin.JSON), "5/min", "50/min", 1)} {
			g := stacktest.Gateway{Name: "gateway-" + port, Plugin: text, Redis: b.server.Addr}.Start(t)
			replace["127.0.0.1:"+port] = string(g.Admin)
		}
	}
	r := &doctest.Runner{
		Dir: root, Env: []string{"PATH=" + tool(t) + string(os.PathListSeparator) + os.Getenv("PATH")},
		Replace: replace, Prepare: prepare,
	}
	r.Run(t, filepath.Join(root, "docs", "operations.md"))
}
