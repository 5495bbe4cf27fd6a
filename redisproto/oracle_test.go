package redisproto

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// The same commands, encoded and decoded here and by another client, must get
// the same replies from a real Redis.
func TestRepliesOfRealRedis(t *testing.T) {
	addr := startRedis(t)
	other := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true})
	defer func() { _ = other.Close() }()
	long := strings.Repeat("x\r\n", 50_000)
	cmds := [][]string{
		{"PING"}, {"SET", "k", "v"}, {"GET", "k"}, {"GET", "none"}, {"SET", "", "\x00\r\n\xff"}, {"GET", ""},
		{"SET", "long", long}, {"GET", "long"}, {"STRLEN", "long"},
		{"INCRBY", "n", "-9223372036854775808"}, {"DECR", "n"}, {"GET", "n"},
		{"LPUSH", "l", "a", "", "b"}, {"LRANGE", "l", "0", "-1"}, {"LRANGE", "none", "0", "-1"}, {"GET", "l"},
		{"NOPE", "a\r\nb"}, {"GET"}, {"EVALSHA", strings.Repeat("0", 40), "0"},
		{"EVAL", "return 1 +", "0"}, {"EVAL", "return redis.error_reply('MY error')", "0"},
		{"EVAL", "return {1,-2,{},{{'a',{false}},'b'},redis.status_reply('FINE'),redis.error_reply('BAD x')}", "0"},
		{"EVAL", "return {1,2,nil,4}", "0"}, {"EVAL", "return false", "0"}, {"EVAL", "return 3.99", "0"},
		{"EVAL", "return redis.call('LPOP','k')", "0"}, {"EVAL", "local t={} for i=1,5000 do t[i]=i*i end return t", "0"},
		{"EVAL", "return redis.call('TIME')[3]", "0"}, {"SCAN", "0", "COUNT", "100", "MATCH", "l"}, {"BLPOP", "none", "0.01"},
		{"MGET", "k", "none", "l"}, {"ZADD", "z", "1.5", "m"}, {"ZRANGE", "z", "0", "-1", "WITHSCORES"},
		{"MULTI"}, {"EXEC"}, {"EXEC"}, {"COMMAND", "INFO", "get", "nope"}, {"OBJECT", "HELP"}, {"CONFIG", "GET", "max*"},
		{"SELECT", "99"}, {"AUTH", "x"}, {"SLOTSY"}, {"CLUSTER", "SLOTS"},
	}
	var want []Value
	conn := other.Conn()
	defer func() { _ = conn.Close() }()
	for _, c := range cmds {
		args := make([]any, len(c))
		for i, a := range c {
			args[i] = a
		}
		res, err := conn.Do(context.Background(), args...).Result()
		want = append(want, valueOf(t, res, err))
	}
	if err := other.FlushAll(context.Background()).Err(); err != nil {
		t.Fatal(err)
	}

	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	var pipelined, stream []byte
	for _, cmd := range cmds {
		pipelined = AppendCommand(pipelined, cmd...)
	}
	go func() { _, _ = c.Write(pipelined) }()
	d := NewDecoder(Limits{})
	var got []Value
	buf := make([]byte, 1500)
	for len(got) < len(cmds) {
		n, err := c.Read(buf)
		if err != nil {
			t.Fatalf("after %d of %d replies: %v", len(got), len(cmds), err)
		}
		stream = append(stream, buf[:n]...)
		d.Feed(buf[:n])
		if got, err = drain(d, got); err != nil {
			t.Fatalf("after %d of %d replies: %v", len(got), len(cmds), err)
		}
	}
	for i := range cmds {
		// The other client doesn't tell a status from a string, nor an error's
		// place in an array from an error.
		if g := coarse(got[i]); !equal(g, want[i]) {
			t.Errorf("%.60q: got %.200q, the other client %.200q", cmds[i], text(g), text(want[i]))
		}
	}
	for seed := range uint64(5) {
		again, err := decodeAll(Limits{}, stream, random(rand.New(rand.NewPCG(seed, 3))))
		if err != nil || !equalAll(again, got) {
			t.Fatalf("cut differently, seed %d: %d replies, %v", seed, len(again), err)
		}
	}
}

// valueOf turns what go-redis returns into a coarse Value.
func valueOf(t *testing.T, res any, err error) Value {
	if errors.Is(err, redis.Nil) {
		return Value{Kind: Null}
	}
	var re redis.Error
	if errors.As(err, &re) {
		return Value{Kind: Error, Str: []byte(re.Error())}
	}
	if err != nil {
		t.Fatal(err)
	}
	switch x := res.(type) {
	case nil:
		return Value{Kind: Null}
	case int64:
		return Value{Kind: Integer, Int: x}
	case string:
		return Value{Kind: Bulk, Str: []byte(x)}
	case error:
		if errors.Is(x, redis.Nil) {
			return Value{Kind: Null}
		}
		return Value{Kind: Error, Str: []byte(x.Error())}
	case []any:
		v := Value{Kind: Array}
		for _, e := range x {
			v.Elems = append(v.Elems, valueOf(t, e, nil))
		}
		return v
	}
	t.Fatalf("a %T from the other client", res)
	return Value{}
}

func coarse(v Value) Value {
	v = clone(v)
	if v.Kind == SimpleString {
		v.Kind = Bulk
	}
	for i := range v.Elems {
		v.Elems[i] = coarse(v.Elems[i])
	}
	return v
}

func text(v Value) string { return string(appendValue(nil, v)) }

// startRedis runs a redis-server until the test ends and returns its address.
func startRedis(t *testing.T) string {
	t.Helper()
	bin := os.Getenv("REDIS_SERVER")
	if bin == "" {
		bin = "redis-server"
	}
	path, err := exec.LookPath(bin)
	if err != nil {
		t.Fatalf("this test needs redis-server (apt-get install redis-server, or name it in $REDIS_SERVER): %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	var out bytes.Buffer
	cmd := exec.Command(path, "--port", fmt.Sprint(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			_ = c.Close()
			return addr
		}
		if time.Now().After(end) {
			t.Fatalf("redis-server doesn't listen on %s: %v", addr, err)
		}
	}
}
