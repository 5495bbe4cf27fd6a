package look_test

import (
	"fmt"
	"slices"
	"testing"

	"sluice/internal/limit"
	"sluice/internal/look"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/lua"
)

func params(a *limit.Algorithm) limit.Params {
	p := limit.Params{Limit: 5, WindowMS: 60_000}
	if a.Name == "concurrency" {
		p.HoldMS = 60_000
	}
	if a.Name == "calendar" {
		p.Calendar = &limit.Calendar{Unit: limit.Day}
	}
	return p
}

// A look at what a decision would be agrees with the decision, for every
// algorithm, and writes nothing.
func TestLooksAgreeAndWriteNothing(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	reader := look.New(rdb)
	for _, a := range limit.Algorithms() {
		t.Run(a.Name+a.Storage, func(t *testing.T) {
			p := params(a)
			key := "rl:{x|" + a.Name + a.Storage + "}:" + a.Suffix
			s := lua.Compose(a.Script)
			for i := range 8 {
				now := rdb.Time(t.Context()).Val().UnixMicro()
				clock := fmt.Sprint(now)
				c := look.Counter{Key: key, Algorithm: a, Cost: 1, Args: a.Args(nil, &p, now)}
				id := fmt.Sprint("id", i)
				before := rdb.Dump(t.Context(), key).Val()
				stop := stacktest.Monitor(t, server.Addr)
				got, err := reader.Decide(t.Context(), clock, id, []look.Counter{c})
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range stop() {
					if !slices.Contains([]string{"TIME", "GET", "GETRANGE", "ZRANGE", "ZRANGEBYSCORE", "ZCARD", "ZCOUNT", "ZSCORE", "EVALSHA", "EVAL", "HELLO"}, name) {
						t.Errorf("a look sent %s", name)
					}
				}
				if rdb.Dump(t.Context(), key).Val() != before {
					t.Error("a look changed the value")
				}
				argv := []any{clock, id, 1, lua.OpDecide, 1}
				for _, n := range c.Args {
					argv = append(argv, n)
				}
				real, err := rdb.Eval(t.Context(), s.Source, []string{key}, argv...).Int64Slice()
				if err != nil {
					t.Fatal(err)
				}
				d := got.Counters[0]
				if got.Admitted != (real[1] == 1) || !d.Admitted && (d.RetryAfterMS != real[6] || d.Current != real[3] || d.ResetMS != real[5]) {
					t.Errorf("call %d: looked %v %+v, decided %v", i, got.Admitted, d, real)
				}
				if want := i < 5; got.Admitted != want {
					t.Errorf("call %d: admitted %v", i, got.Admitted)
				}
			}
		})
	}
}

// A change of the window makes the script rewrite a log, even for a look: not
// this one.
func TestAChangedWindowIsNotStored(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	a, err := limit.Lookup("sliding_log", "compact")
	if err != nil {
		t.Fatal(err)
	}
	const key = "rl:{x|}:log1"
	s := lua.Compose(a.Script)
	if err := rdb.Eval(t.Context(), s.Source, []string{key}, "", "id", 1, lua.OpDecide, 1, 5, 60_000).Err(); err != nil {
		t.Fatal(err)
	}
	before := rdb.Dump(t.Context(), key).Val()
	answers, err := look.New(rdb).Each(t.Context(), []look.Counter{look.Look(key, a, []int64{5, 600_000})})
	if err != nil || answers[0].Err != nil || answers[0].Counters[0].Current != 1 {
		t.Fatalf("%+v %v", answers, err)
	}
	if rdb.Dump(t.Context(), key).Val() != before {
		t.Error("a look changed the value")
	}
}

// Larger costs, penalties and several counters at once: what is looked agrees
// with what the call is told then.
func TestWholeCalls(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	reader := look.New(rdb)
	log, _ := limit.Lookup("sliding_log", "compact")
	fixed, _ := limit.Lookup("fixed_window", "")
	slots, _ := limit.Lookup("concurrency", "")
	s := lua.Compose(log.Script, fixed.Script, slots.Script, limit.Penalty.Script)
	counters := []look.Counter{
		{Key: "rl:{a}:log1", Algorithm: log, Op: lua.OpDecide, Cost: 3, Args: []int64{10, 60_000}},
		{Key: "rl:{a}:pen1", Algorithm: limit.Penalty, Op: lua.OpDecide, Args: []int64{300_000, 1}},
		{Key: "rl:{b}:fix1", Algorithm: fixed, Op: lua.OpDecideCount, Cost: 1, Args: []int64{100, 60_000}},
		{Key: "rl:{c}:hold1", Algorithm: slots, Op: lua.OpShadow, Cost: 1, Args: []int64{2, 60_000}},
	}
	rejected := 0
	for i := range 6 {
		clock, id := fmt.Sprint(rdb.Time(t.Context()).Val().UnixMicro()), fmt.Sprint("id", i)
		got, err := reader.Decide(t.Context(), clock, id, counters)
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		argv := []any{clock, id}
		for _, c := range counters {
			keys = append(keys, c.Key)
			argv = append(argv, s.Index(c.Algorithm.Script), c.Op, c.Cost)
			for _, n := range c.Args {
				argv = append(argv, n)
			}
		}
		real, err := rdb.Eval(t.Context(), s.Source, keys, argv...).Int64Slice()
		if err != nil {
			t.Fatal(err)
		}
		if got.Admitted != (real[1] == 1) {
			t.Fatalf("call %d: looked %+v, decided %v", i, got, real)
		}
		for j, d := range got.Counters {
			r := real[2+5*j:]
			if d.Admitted != (r[0] == 1) || !got.Admitted && d.RetryAfterMS != r[4] {
				t.Errorf("call %d, counter %d: looked %+v, decided %v", i, j, d, r[:5])
			}
		}
		if !got.Admitted {
			rejected++
		}
	}
	if rejected != 3 {
		t.Errorf("%d rejected", rejected)
	}
}

func TestErrors(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	a, _ := limit.Lookup("fixed_window", "")
	rdb.Set(t.Context(), "rl:{x|}:fix1", "5", 0)
	rdb.LPush(t.Context(), "rl:{y|}:fix1", "5")
	var counters []look.Counter
	for _, k := range []string{"rl:{x|}:fix1", "rl:{y|}:fix1", "rl:{z|}:fix1"} {
		counters = append(counters, look.Look(k, a, []int64{5, 1000}))
	}
	for range 2 { // with and without the script loaded
		answers, err := look.New(rdb).Each(t.Context(), counters)
		if err != nil || answers[0].Err == nil || answers[1].Err == nil || answers[2].Err != nil || !answers[2].Admitted {
			t.Errorf("%+v %v", answers, err)
		}
	}
	server.Kill()
	if _, err := look.New(rdb).Each(t.Context(), counters); err == nil {
		t.Error("no error without a server")
	}
}

func TestTag(t *testing.T) {
	for key, want := range map[string]string{"rl:{a|b}:log1": "a|b", "plain": "plain", "{}x": "{}x", "a{b": "a{b"} {
		if got := look.Tag(key); got != want {
			t.Errorf("%s: %s", key, got)
		}
	}
}
