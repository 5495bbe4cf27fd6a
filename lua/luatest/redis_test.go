package luatest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
)

var ctx = context.Background()

// addr is the Redis of this test run, on 127.0.0.1; pid is its process.
var (
	addr string
	pid  int
)

func TestMain(m *testing.M) {
	stop, err := startRedis()
	if err != nil {
		fmt.Fprintln(os.Stderr, "luatest:", err)
		os.Exit(1)
	}
	code := m.Run()
	stop()
	os.Exit(code)
}

// startRedis runs $REDIS_SERVER, or redis-server on PATH, on a free port.
func startRedis() (stop func(), err error) {
	bin := os.Getenv("REDIS_SERVER")
	if bin == "" {
		if bin, err = exec.LookPath("redis-server"); err != nil {
			return nil, fmt.Errorf("these tests need a Redis: install redis-server (apt-get install redis-server), or set REDIS_SERVER to its path: %w", err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	addr = l.Addr().String()
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	dir, err := os.MkdirTemp("", "luatest")
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", dir, "--logfile", dir+"/redis.log")
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid = cmd.Process.Pid
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = os.RemoveAll(dir)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	for range 200 {
		if rdb.Ping(ctx).Err() == nil {
			return stop, nil
		}
		time.Sleep(25 * time.Millisecond)
	}
	stop()
	return nil, fmt.Errorf("%s did not answer on %s within 5 s", bin, addr)
}

func client(t testing.TB) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}

// counter is one counter of a call.
type counter struct {
	alg  *limit.Algorithm
	key  string
	p    limit.Params
	op   int
	cost int64
}

// verdict is a reply of the script.
type verdict struct {
	at       int64 // us
	admitted bool
	counters []limit.Decision
}

// caller runs one composed script.
type caller struct {
	t      testing.TB
	rdb    *redis.Client
	script lua.Script
}

func newCaller(t testing.TB, rdb *redis.Client, algs ...*limit.Algorithm) *caller {
	var names []string
	for _, a := range algs {
		names = append(names, a.Script)
	}
	c := &caller{t: t, rdb: rdb, script: lua.Compose(names...)}
	if err := rdb.ScriptLoad(ctx, c.script.Source).Err(); err != nil {
		t.Fatalf("the script doesn't load: %v", err)
	}
	return c
}

// args makes KEYS and ARGV; now < 0 means Redis's own clock.
func (c *caller) args(now int64, id string, cs ...counter) (keys []string, argv []any) {
	clock := ""
	if now >= 0 {
		clock = strconv.FormatInt(now, 10)
	} else {
		now = time.Now().UnixMicro()
	}
	argv = append(argv, clock, id)
	for _, k := range cs {
		keys = append(keys, k.key)
		argv = append(argv, c.script.Index(k.alg.Script), k.op, k.cost)
		for _, n := range k.alg.Args(nil, &k.p, now) {
			argv = append(argv, n)
		}
	}
	return keys, argv
}

func (c *caller) try(now int64, id string, cs ...counter) (verdict, error) {
	keys, argv := c.args(now, id, cs...)
	reply, err := c.rdb.EvalSha(ctx, c.script.SHA, keys, argv...).Int64Slice()
	if err != nil {
		return verdict{}, err
	}
	return verdictOf(reply, cs)
}

// verdictOf reads a reply about some counters.
func verdictOf(reply []int64, cs []counter) (verdict, error) {
	if len(reply) != 2+5*len(cs) {
		return verdict{}, fmt.Errorf("%d numbers in the reply for %d counters: %v", len(reply), len(cs), reply)
	}
	v := verdict{at: reply[0], admitted: reply[1] == 1}
	for i := range cs {
		r := reply[2+5*i:]
		v.counters = append(v.counters, limit.Decision{Admitted: r[0] == 1, Current: r[1], Remaining: r[2], ResetMS: r[3], RetryAfterMS: r[4]})
	}
	return v, nil
}

func (c *caller) call(now int64, id string, cs ...counter) verdict {
	c.t.Helper()
	v, err := c.try(now, id, cs...)
	if err != nil {
		c.t.Fatalf("script at %d: %v", now, err)
	}
	return v
}
