package stored_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/internal/look"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/internal/stored"
	"sluice/lua"
)

// all are the algorithms, the penalty and the pool.
func all() []*limit.Algorithm { return append(limit.Algorithms(), limit.Penalty, limit.Pool) }

func TestEveryAlgorithmHasAFormat(t *testing.T) {
	for _, a := range all() {
		f := stored.Of(a)
		if f == nil {
			t.Errorf("%s (%s) has no format", a.Name, a.Suffix)
			continue
		}
		if len(f.ArgNames) != a.NArgs {
			t.Errorf("%s: %d names for %d arguments", a.Name, len(f.ArgNames), a.NArgs)
		}
		if f.Valid == nil || f.Args == nil || f.MaxTTL == nil || f.Bytes == nil || f.Type == "" {
			t.Errorf("%s: a part is missing", a.Name)
		}
		if stored.BySuffix(a.Suffix) != f {
			t.Errorf("%s isn't found by its suffix", a.Name)
		}
	}
}

// params are numbers that each algorithm takes.
func params(a *limit.Algorithm, n int64) limit.Params {
	p := limit.Params{Limit: n, WindowMS: 60_000}
	if a.Name == "concurrency" {
		p.HoldMS = 60_000
	}
	if a == limit.Pool {
		p.UntilMS = time.Now().UnixMilli() + 60_000
	}
	if a.Name == "calendar" {
		p.Calendar = &limit.Calendar{Unit: limit.Day}
	}
	return p
}

// read reads a value as the tool does.
func read(t *testing.T, rdb *redis.Client, f *stored.Format, key string) stored.Value {
	t.Helper()
	var v stored.Value
	if f.Type == "string" {
		s, err := rdb.GetRange(t.Context(), key, 0, stored.HeadBytes-1).Result()
		if err != nil {
			t.Fatal(err)
		}
		v.Head = []byte(s)
		return v
	}
	list, err := rdb.ZRangeWithScores(t.Context(), key, -3, -1).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, z := range list {
		v.Last = append(v.Last, stored.Member{Name: z.Member.(string), Score: z.Score})
	}
	return v
}

// charge charges units one by one, spread over time where a script is told it.
func charge(t *testing.T, rdb *redis.Client, a *limit.Algorithm, p *limit.Params, key string, units int) {
	t.Helper()
	s := lua.Compose(a.Script)
	now, err := rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	pipe := rdb.Pipeline()
	op, cost := lua.OpCharge, 1
	for i := range units {
		args := []any{"", "request-" + strings.Repeat("x", 20) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676)), 1, op, cost}
		for _, n := range a.Args(nil, p, now.UnixMicro()) {
			args = append(args, n)
		}
		pipe.Eval(t.Context(), s.Source, []string{key}, args...)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// What scripts leave is valid, expires in time, and is counted alike with and
// without its limit.
func TestWhatScriptsLeave(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	reader := look.New(rdb)
	for _, a := range all() {
		t.Run(a.Name+a.Storage, func(t *testing.T) {
			f := stored.Of(a)
			p := params(a, 1000)
			if a == limit.Penalty {
				p.Limit = 1
			}
			key := "rl:{x|" + a.Name + a.Storage + "}:" + a.Suffix
			charge(t, rdb, a, &p, key, 30)
			v := read(t, rdb, f, key)
			if kind := rdb.Type(t.Context(), key).Val(); kind != f.Type {
				t.Errorf("type %s, want %s", kind, f.Type)
			}
			if !f.Valid(&v) {
				t.Fatalf("not valid: %+v", v)
			}
			ttl := rdb.PTTL(t.Context(), key).Val().Milliseconds()
			for _, p := range []*limit.Params{&p, nil} {
				if most := f.MaxTTL(&v, p); most > 0 && (ttl > most || ttl <= 0) || most == 0 && p != nil {
					t.Errorf("lives for %d ms, at most %d (limit known: %v)", ttl, most, p != nil)
				}
			}
			if f.Newest != nil {
				if newest := f.Newest(&v); newest <= 0 || newest > rdb.Time(t.Context()).Val().UnixMilli()+1000 {
					t.Errorf("the newest is from %d", newest)
				}
			}
			now := rdb.Time(t.Context()).Val().UnixMicro()
			answers, err := reader.Each(t.Context(), []look.Counter{
				look.Look(key, a, a.Args(nil, &p, now)), look.Look(key, a, f.Args(&v)),
			})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range answers {
				if x.Err != nil {
					t.Fatal(i, x.Err)
				}
			}
			known, guessed := answers[0].Counters[0], answers[1].Counters[0]
			if known.Current == 0 || math.Abs(float64(known.Current-guessed.Current)) > 1 {
				t.Errorf("%d counted with the limit, %d without", known.Current, guessed.Current)
			}
		})
	}
}

// The memory that check announces is about what Redis takes.
func TestMemory(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	for _, a := range all() {
		for _, n := range []int64{20, 100, 3000} {
			p := params(a, n)
			if a == limit.Penalty {
				p.Limit = 1
			}
			key := "rl:{x|" + a.Name + a.Storage + "}:" + a.Suffix
			rdb.Del(t.Context(), key)
			if a.Name == "sliding_log" && a.Storage == "compact" {
				fillLog(t, rdb, &p, key)
			} else {
				charge(t, rdb, a, &p, key, int(n))
			}
			got := rdb.MemoryUsage(t.Context(), key).Val()
			want := stored.Of(a).Bytes(&p) + stored.KeyBytes(len(key)) - 24 // MEMORY USAGE leaves the expiry's entry out
			if ratio := float64(want) / float64(got); ratio < 0.8 || ratio > 2 {
				t.Errorf("%s %s of %d: %d bytes announced, %d taken (%.2f)", a.Name, a.Storage, n, want, got, ratio)
			}
		}
	}
}

// fillLog has hits in as many ticks as a log can have.
func fillLog(t *testing.T, rdb *redis.Client, p *limit.Params, key string) {
	t.Helper()
	a, err := limit.Lookup("sliding_log", "compact")
	if err != nil {
		t.Fatal(err)
	}
	s := lua.Compose(a.Script)
	start := rdb.Time(context.Background()).Val().UnixMicro() - 60_000_000
	pipe := rdb.Pipeline()
	hits := min(p.Limit, 1000)
	for i := range hits {
		pipe.Eval(t.Context(), s.Source, []string{key}, start+i*60_000_000/hits, "id", 1, lua.OpCharge, 1, p.Limit, p.WindowMS)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestParseName(t *testing.T) {
	for key, want := range map[string]stored.Name{
		"rl:{per-ip|1.2.3.4}:log1":    {Prefix: "rl", Counter: "per-ip", Values: "1.2.3.4", Suffix: "log1"},
		"rl:{all|}:fix1":              {Prefix: "rl", Counter: "all", Suffix: "fix1"},
		"a.b:{x-1s|a|b}:tok1":         {Prefix: "a.b", Counter: "x-1s", Values: "a|b", Suffix: "tok1"},
		"rl:{acme}:per-user|u1:zlog1": {Prefix: "rl", Tag: "acme", Counter: "per-user", Values: "u1", Suffix: "zlog1"},
	} {
		if got, ok := stored.ParseName(key); !ok || got != want {
			t.Errorf("%s: %+v %v", key, got, ok)
		}
	}
	for _, key := range []string{"", "rl", "rl:user:1", "rl:{x}", "rl:{gateways}:beat1", "rl:{x|}:", "rl:{|1}:log1", "{x|1}:log1", "rl:{x|1}:a:b"} {
		if n, ok := stored.ParseName(key); ok {
			t.Errorf("%q is taken for %+v", key, n)
		}
	}
}

// Values that others wrote are refused, whatever they are.
func TestForeignValues(t *testing.T) {
	for _, a := range all() {
		f := stored.Of(a)
		for _, head := range []string{"", "abc", strings.Repeat("\x00", 21), strings.Repeat("\x00", 37), strings.Repeat("\xff", 60), "1 2 3"} {
			if f.Type == "string" && f.Valid(&stored.Value{Head: []byte(head)}) {
				t.Errorf("%s takes %q", a.Name, head)
			}
		}
		if f.Type == "zset" && f.Valid(&stored.Value{Last: []stored.Member{{Name: "uuid", Score: 1}}}) {
			t.Errorf("%s takes a member without a form", a.Name)
		}
	}
}
