package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/internal/stack"
	"sluice/lua"
	"sluice/redisproto"
)

// pipelined is how many calls are sent at once, as a busy gateway's pipe does.
const pipelined = 32

// redisClock as the time of a call means Redis's own.
const redisClock limit.Micros = -1

// caller asks one algorithm's script over a connection of its own, with the
// encoder and the decoder of the plugin.
type caller struct {
	alg    *limit.Algorithm
	script lua.Script

	conn net.Conn
	in   *bufio.Reader
	dec  *redisproto.Decoder
	out  []byte
	args []int64
	ids  int // requests so far: each has an id of its own
	part [4096]byte
}

// newCaller loads the script of alg and connects.
func newCaller(ctx context.Context, r *stack.Redis, alg *limit.Algorithm) (*caller, error) {
	c := &caller{alg: alg, script: lua.Compose(alg.Script), dec: redisproto.NewDecoder(redisproto.Limits{})}
	if err := withClient(r, func(rdb *redis.Client) error { return rdb.ScriptLoad(ctx, c.script.Source).Err() }); err != nil {
		return nil, fmt.Errorf("load the script of %s: %w", alg.Name, err)
	}
	conn, err := net.DialTimeout("tcp", r.Addr, 5*time.Second)
	if err != nil {
		return nil, err
	}
	c.conn, c.in = conn, bufio.NewReader(conn)
	return c, nil
}

func (c *caller) close() { c.conn.Close() }

func withClient(r *stack.Redis, f func(*redis.Client) error) error {
	rdb := r.Client()
	defer rdb.Close()
	return f(rdb)
}

// add encodes one call with a cost of 1.
func (c *caller) add(key string, p *limit.Params, now limit.Micros) {
	clock := ""
	if now != redisClock {
		clock = strconv.FormatInt(now, 10)
	}
	c.ids++
	c.args = c.alg.Args(c.args[:0], p, max(now, 0))
	c.out = redisproto.AppendArray(c.out, 9+len(c.args))
	c.out = redisproto.AppendBulkString(c.out, "EVALSHA")
	c.out = redisproto.AppendBulkString(c.out, c.script.SHA)
	c.out = redisproto.AppendBulkInt(c.out, 1)
	c.out = redisproto.AppendBulkString(c.out, key)
	c.out = redisproto.AppendBulkString(c.out, clock)
	c.out = redisproto.AppendBulkString(c.out, "bench-"+strconv.Itoa(c.ids))
	c.out = redisproto.AppendBulkInt(c.out, 1) // the algorithm's index
	c.out = redisproto.AppendBulkInt(c.out, lua.OpDecide)
	c.out = redisproto.AppendBulkInt(c.out, 1) // cost
	for _, a := range c.args {
		c.out = redisproto.AppendBulkInt(c.out, a)
	}
}

// flush sends what was added and hands each of the n replies to each, in order.
func (c *caller) flush(n int, each func(i int, d limit.Decision)) error {
	if err := c.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := c.conn.Write(c.out); err != nil {
		return err
	}
	c.out = c.out[:0]
	for i := 0; i < n; {
		v, ok, err := c.dec.Next()
		if err != nil {
			return err
		}
		if !ok {
			got, err := c.in.Read(c.part[:])
			if err != nil {
				return err
			}
			c.dec.Feed(c.part[:got])
			continue
		}
		d, err := decision(v)
		if err != nil {
			return err
		}
		if each != nil {
			each(i, d)
		}
		i++
	}
	return nil
}

// decision reads the reply for one counter.
func decision(v redisproto.Value) (limit.Decision, error) {
	if v.Kind == redisproto.Error {
		return limit.Decision{}, errors.New(string(v.Str))
	}
	if v.Kind != redisproto.Array || len(v.Elems) != 7 {
		return limit.Decision{}, fmt.Errorf("a reply of kind %q with %d parts", v.Kind, len(v.Elems))
	}
	e := v.Elems
	return limit.Decision{
		Admitted: e[2].Int == 1, Current: e[3].Int, Remaining: e[4].Int, ResetMS: e[5].Int, RetryAfterMS: e[6].Int,
	}, nil
}

// ask makes one call.
func (c *caller) ask(key string, p *limit.Params, now limit.Micros) (limit.Decision, error) {
	var answer limit.Decision
	c.add(key, p, now)
	err := c.flush(1, func(_ int, d limit.Decision) { answer = d })
	return answer, err
}

// all makes a call at each time of a schedule and tells which were admitted.
func (c *caller) all(key string, p *limit.Params, times []limit.Micros) ([]bool, error) {
	verdicts := make([]bool, 0, len(times))
	for len(times) > 0 {
		n := min(pipelined, len(times))
		for _, t := range times[:n] {
			c.add(key, p, t)
		}
		times = times[n:]
		if err := c.flush(n, func(_ int, d limit.Decision) { verdicts = append(verdicts, d.Admitted) }); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// during makes calls with Redis's clock for a time, on keys picked at random,
// and returns how many.
func (c *caller) during(length time.Duration, keys []string, p *limit.Params, rng *rand.Rand) (int, error) {
	calls := 0
	for end := time.Now().Add(length); time.Now().Before(end); calls += pipelined {
		for range pipelined {
			c.add(keys[rng.IntN(len(keys))], p, redisClock)
		}
		if err := c.flush(pipelined, nil); err != nil {
			return calls, err
		}
	}
	return calls, nil
}
