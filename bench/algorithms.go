package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/internal/stack"
)

// way is one way of counting in the comparison.
type way struct {
	name string
	alg  *limit.Algorithm
}

// ways are what is compared: the three of the design document, and the compact
// log that is the default.
var ways = []way{
	{"A: sliding_log, zset", limit.SlidingLogZset},
	{"A: sliding_log, compact", limit.SlidingLog},
	{"B: fixed_window", limit.FixedWindow},
	{"C: token_bucket", limit.TokenBucket},
}

// wayResult is what was measured of one way.
type wayResult struct {
	way      way
	accuracy []accuracy // of each schedule
	speed    []speed    // of each regime
	memory   []int64    // of each fill, bytes a key
	changes  []told
}

// speed is what a call costs Redis.
type speed struct {
	calls    float64 // a second, over one connection
	cpu      float64 // of Redis, us a call
	commands float64 // that Redis counts for a call, those inside the script too
}

// regime is a load that speed is measured under.
type regime struct {
	name  string
	keys  int
	limit int64 // a minute
}

var regimes = []regime{
	{"10,000 keys, admitted", manyKeys, 1 << 40},
	{"one hot key, admitted", 1, 1 << 40},
	{"one hot key, rejected", 1, 100},
}

// compareWays measures all ways on a Redis of their own.
func compareWays(ctx context.Context, binary, dir string, each time.Duration, say func(string, ...any)) ([]wayResult, error) {
	r, err := stack.StartRedis(stack.RedisOptions{Binary: binary, Dir: dir, Name: "redis-algorithms"})
	if err != nil {
		return nil, err
	}
	defer r.Stop()
	var results []wayResult
	for _, w := range ways {
		result, err := measureWay(ctx, r, w, each)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		say("%-24s %6.0f calls/s  %.2f us of Redis a call", w.name, result.speed[0].calls, result.speed[0].cpu)
		results = append(results, result)
	}
	return results, nil
}

func measureWay(ctx context.Context, r *stack.Redis, w way, each time.Duration) (wayResult, error) {
	result := wayResult{way: w}
	c, err := newCaller(ctx, r, w.alg)
	if err != nil {
		return result, err
	}
	defer c.close()
	for i, s := range schedules() {
		p := w.params(accuracyLimit, accuracyWindow)
		verdicts, err := c.all(w.key(fmt.Sprintf("accuracy-%d", i)), &p, s.times)
		if err != nil {
			return result, err
		}
		result.accuracy = append(result.accuracy, judge(s.times, verdicts))
	}
	for _, g := range regimes {
		s, err := c.speed(ctx, r, w, g, each)
		if err != nil {
			return result, err
		}
		result.speed = append(result.speed, s)
	}
	for i, f := range fills {
		bytes, err := c.fill(ctx, r, w, f, fmt.Sprintf("memory-%d", i))
		if err != nil {
			return result, err
		}
		result.memory = append(result.memory, bytes)
	}
	result.changes, err = c.change(w)
	return result, err
}

// params are a limit of n in a window.
func (w way) params(n int64, window time.Duration) limit.Params {
	return limit.Params{Limit: n, WindowMS: window.Milliseconds()}
}

// key is a counter's key as the plugin makes it.
func (w way) key(name string) string { return "rl:{bench|" + name + "}:" + w.alg.Suffix }

// speed measures one regime on an empty Redis, after some load that isn't counted.
func (c *caller) speed(ctx context.Context, r *stack.Redis, w way, g regime, each time.Duration) (speed, error) {
	if err := withClient(r, func(rdb *redis.Client) error { return rdb.FlushAll(ctx).Err() }); err != nil {
		return speed{}, err
	}
	keys := make([]string, g.keys)
	for i := range keys {
		keys[i] = w.key(fmt.Sprintf("user-%05d", i))
	}
	p := w.params(g.limit, time.Minute)
	rng := rand.New(rand.NewPCG(1, 2))
	if _, err := c.during(each/2, keys, &p, rng); err != nil {
		return speed{}, err
	}
	before, err := redisCommands(ctx, r)
	if err != nil {
		return speed{}, err
	}
	cpuBefore, err := cpuTime(r.Process().Pid())
	if err != nil {
		return speed{}, err
	}
	start := time.Now()
	calls, err := c.during(each, keys, &p, rng)
	if err != nil {
		return speed{}, err
	}
	took := time.Since(start)
	cpuAfter, err := cpuTime(r.Process().Pid())
	if err != nil {
		return speed{}, err
	}
	after, err := redisCommands(ctx, r)
	n := float64(calls)
	return speed{
		calls:    n / took.Seconds(),
		cpu:      float64((cpuAfter - cpuBefore).Nanoseconds()) / 1e3 / n,
		commands: float64(after.total-before.total) / n,
	}, err
}

// fill is what a key holds when its memory is measured: admitted requests of a
// minute, spread evenly over it or at once.
type fill struct {
	name  string
	hits  int64
	every time.Duration // between two hits
}

var fills = []fill{
	{"10 hits in a minute", 10, 6 * time.Second},
	{"1,000 hits in a minute, spread", 1000, 60 * time.Millisecond},
	{"5,000 hits in a second", 5000, 200 * time.Microsecond},
}

// fill returns what MEMORY USAGE says of a key, bytes.
func (c *caller) fill(ctx context.Context, r *stack.Redis, w way, f fill, name string) (int64, error) {
	p := w.params(f.hits, time.Minute)
	times := make([]limit.Micros, f.hits)
	for i := range times {
		times[i] = epoch + limit.Micros(i)*f.every.Microseconds()
	}
	key := w.key(name)
	if _, err := c.all(key, &p, times); err != nil {
		return 0, err
	}
	var bytes int64
	err := withClient(r, func(rdb *redis.Client) (err error) {
		bytes, err = rdb.MemoryUsage(ctx, key, 0).Result()
		return err
	})
	return bytes, err
}

// told is what the next request is told after a number of a limit changed.
type told struct {
	admitted  bool
	current   int64
	remaining int64
}

// changes are tried one by one, each on a counter that counts 900 of 1000
// requests of a minute.
var changes = []struct {
	name   string
	limit  int64
	window time.Duration
}{
	{"lowered to 500", 500, time.Minute},
	{"raised to 2000", 2000, time.Minute},
	{"window doubled", 1000, 2 * time.Minute},
	{"window halved", 1000, 30 * time.Second},
}

// change tries the changes.
func (c *caller) change(w way) ([]told, error) {
	var list []told
	for i, to := range changes {
		key := w.key(fmt.Sprintf("change-%d", i))
		before := w.params(1000, time.Minute)
		// One every 40 ms from second 4 to second 40 of the minute.
		times := make([]limit.Micros, 900)
		for j := range times {
			times[j] = epoch + 4_000_000 + limit.Micros(j)*40_000
		}
		if _, err := c.all(key, &before, times); err != nil {
			return nil, err
		}
		after := w.params(to.limit, to.window)
		d, err := c.ask(key, &after, epoch+42_000_000)
		if err != nil {
			return nil, err
		}
		list = append(list, told{d.Admitted, d.Current, d.Remaining})
	}
	return list, nil
}
