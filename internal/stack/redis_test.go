package stack

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func redisBinary(t *testing.T) string {
	t.Helper()
	path, err := FindRedis(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func startRedis(t *testing.T, o RedisOptions) *Redis {
	t.Helper()
	o.Binary, o.Dir = redisBinary(t), t.TempDir()
	r, err := StartRedis(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Stop() })
	return r
}

func TestRedisForgetsWhenItIsKilled(t *testing.T) {
	r := startRedis(t, RedisOptions{})
	c := r.Client()
	defer c.Close()
	if err := c.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Start(); err == nil {
		t.Error("a running Redis was started again")
	}
	port := r.Port
	r.Kill()
	if err := c.Ping(t.Context()).Err(); err == nil {
		t.Error("a killed Redis answers")
	}
	if err := r.Start(); err != nil {
		t.Fatal(err)
	}
	if r.Port != port {
		t.Errorf("it moved from port %d to %d", port, r.Port)
	}
	if err := c.Get(t.Context(), "k").Err(); !errors.Is(err, redis.Nil) {
		t.Errorf("it kept a key: %v", err)
	}
}

func TestRedisHangsWhilePaused(t *testing.T) {
	r := startRedis(t, RedisOptions{})
	c := r.Client()
	defer c.Close()
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := r.Pause(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := c.Ping(ctx).Err(); err == nil {
		t.Error("a paused Redis answers")
	}
	if err := r.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := c.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
}

func TestRedisWithAPassword(t *testing.T) {
	r := startRedis(t, RedisOptions{Password: "secret"})
	with := r.Client()
	defer with.Close()
	if err := with.Ping(t.Context()).Err(); err != nil {
		t.Error(err)
	}
	without := redis.NewClient(&redis.Options{Addr: r.Addr, Protocol: 2, DisableIdentity: true})
	defer without.Close()
	if err := without.Ping(t.Context()).Err(); err == nil {
		t.Error("no password was asked for")
	}
}

func TestRedisWithUsers(t *testing.T) {
	r := startRedis(t, RedisOptions{ACL: []string{"user default off", "user limiter on >secret ~rl:* +@all"}})
	c := redis.NewClient(&redis.Options{Addr: r.Addr, Username: "limiter", Password: "secret", Protocol: 2, DisableIdentity: true})
	defer c.Close()
	if err := c.Set(t.Context(), "rl:k", "v", 0).Err(); err != nil {
		t.Error(err)
	}
	if err := c.Set(t.Context(), "other", "v", 0).Err(); err == nil {
		t.Error("the user may write any key")
	}
}

func TestRedisSaysThatItsPortIsTaken(t *testing.T) {
	first := startRedis(t, RedisOptions{})
	_, err := StartRedis(RedisOptions{Binary: redisBinary(t), Dir: t.TempDir(), Port: first.Port})
	if !errors.Is(err, ErrPortTaken) {
		t.Errorf("got %v", err)
	}
}

func TestRedisClusterServesEverySlot(t *testing.T) {
	c, err := StartRedisCluster(RedisOptions{Binary: redisBinary(t), Dir: t.TempDir()}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	var addrs []string
	for _, node := range c.Nodes {
		addrs = append(addrs, node.Addr)
	}
	client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, Protocol: 2, DisableIdentity: true})
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := client.Set(t.Context(), key, key, 0).Err(); err != nil {
			t.Errorf("key %s: %v", key, err)
		}
	}
	for _, node := range c.Nodes {
		if n, err := nodeKeys(t, node); err != nil || n == 0 {
			t.Errorf("node %s holds %d of the keys (%v)", node.Addr, n, err)
		}
	}
}

func nodeKeys(t *testing.T, node *Redis) (int64, error) {
	t.Helper()
	client := node.Client()
	defer client.Close()
	return client.DBSize(t.Context()).Result()
}

func TestStandInAnswers(t *testing.T) {
	s, err := StartStandIn(0)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Stop()
	c := redis.NewClient(&redis.Options{Addr: s.Addr, Protocol: 2, DisableIdentity: true})
	defer c.Close()
	if got, err := c.Eval(t.Context(), "return redis.call('INCR', KEYS[1])", []string{"k"}).Int(); err != nil || got != 1 {
		t.Errorf("got %d, %v", got, err)
	}
}
