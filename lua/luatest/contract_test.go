package luatest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
)

// eachAlgorithm runs f with a counter that admits 5 a minute.
func eachAlgorithm(t *testing.T, f func(t *testing.T, c *caller, k counter)) {
	rdb := client(t)
	for _, alg := range append(limit.Algorithms(), limit.Pool) {
		t.Run(strings.TrimSuffix(alg.Name+"/"+alg.Storage, "/"), func(t *testing.T) {
			f(t, newCaller(t, rdb, alg), counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1})
		})
	}
}

var fivePerMinute = limit.Params{Limit: 5, WindowMS: 60_000, HoldMS: 60_000, UntilMS: limit.MaxUntilMS, Calendar: &limit.Calendar{Unit: limit.Day}}

// By Redis's own clock and many connections at once, exactly the limit.
func TestExactlyTheLimitOfParallelRequests(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		k.p.Limit = 1000
		k.p.WindowMS = 3_600_000
		k.p.HoldMS = 3_600_000
		if k.alg == limit.TokenBucket || k.alg == limit.LeakyBucket {
			k.p.WindowMS = 1 << 40 // no token comes back meanwhile
		}
		if k.p.Calendar != nil {
			k.p.Calendar = &limit.Calendar{Unit: limit.Year}
		}
		var mu sync.Mutex
		var wg sync.WaitGroup
		admitted := 0
		for g := range 5 {
			wg.Go(func() {
				for i := range 201 {
					v, err := c.try(-1, fmt.Sprintf("%d/%d", g, i), k)
					if err != nil {
						t.Errorf("%v", err)
						return
					}
					mu.Lock()
					if v.admitted {
						admitted++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		if admitted != 1000 {
			t.Errorf("%d of 1005 admitted, want 1000", admitted)
		}
		if ttl := c.rdb.PTTL(ctx, k.key).Val(); ttl <= 0 {
			t.Errorf("the key has no expiry: %v", ttl)
		}
	})
}

func TestFiguresOfAnAdmittedRequestIncludeIt(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		v := c.call(epoch, "a", k)
		if d := v.counters[0]; !v.admitted || d.Current != 1 || d.Remaining != 4 || d.ResetMS <= 0 || d.RetryAfterMS != 0 {
			t.Errorf("first of 5: %+v", d)
		}
		k.cost = 4
		if d := c.call(epoch+1, "b", k).counters[0]; !d.Admitted || d.Remaining != 0 {
			t.Errorf("4 more of 5: %+v", d)
		}
		k.cost = 1
		if d := c.call(epoch+2, "c", k).counters[0]; d.Admitted || d.Current != 5 || d.Remaining != 0 || d.RetryAfterMS <= 0 {
			t.Errorf("a sixth of 5: %+v", d)
		}
	})
}

func TestCostZeroOnlyLooks(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		k.cost = 0
		for i := range int64(8) {
			if d := c.call(epoch+i, "look", k).counters[0]; !d.Admitted || d.Current != 0 || d.Remaining != 5 {
				t.Fatalf("look %d: %+v", i, d)
			}
		}
		if n := c.rdb.Exists(ctx, k.key).Val(); n != 0 {
			t.Error("a look stored something")
		}
		k.cost = 5
		c.call(epoch+10, "all", k)
		k.cost = 0
		if v := c.call(epoch+11, "look", k); v.admitted || v.counters[0].RetryAfterMS <= 0 {
			t.Errorf("a look at a full counter: %+v", v)
		}
	})
}

func TestWaitingDoesNotHelp(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		if k.alg == limit.Pool {
			return // it ends, and then the limit decides: see TestPoolRefusesUntilItsEnd
		}
		k.cost = 6
		if d := c.call(epoch, "a", k).counters[0]; d.Admitted || d.RetryAfterMS != limit.Never {
			t.Errorf("a cost of 6 of 5: %+v", d)
		}
		k.p.Limit = 0
		for _, cost := range []int64{0, 1} {
			k.cost = cost
			if d := c.call(epoch, "a", k).counters[0]; d.Admitted || d.RetryAfterMS != limit.Never || d.Remaining != 0 {
				t.Errorf("a cost of %d of 0: %+v", cost, d)
			}
		}
		if n := c.rdb.Exists(ctx, k.key).Val(); n != 0 {
			t.Error("a refused request stored something")
		}
	})
}

func TestChargeAndRefund(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		step := func(i int64, op int, cost int64) limit.Decision {
			k.op, k.cost = op, cost
			v := c.call(epoch+i, "the one", k)
			if !v.admitted {
				t.Errorf("step %d: op %d votes", i, op)
			}
			return v.counters[0]
		}
		if d := step(1, lua.OpCharge, 8); d.Current != 8 || d.Remaining != 0 || !d.Admitted || d.RetryAfterMS != 0 {
			t.Errorf("8 charged of 5: %+v", d)
		}
		if d := step(2, lua.OpRefund, 8); d.Current != 0 || d.Remaining != 5 {
			t.Errorf("all 8 refunded: %+v", d)
		}
		if d := step(3, lua.OpRefund, 3); d.Current != 0 || d.Remaining != 5 {
			t.Errorf("3 more than were charged: %+v", d)
		}
		step(4, lua.OpCharge, 2)
		if k.alg != limit.Concurrency { // which returns what a request holds, or nothing
			if d := step(5, lua.OpRefund, 1); d.Current != 1 {
				t.Errorf("1 of 2 refunded: %+v", d)
			}
			if d := step(6, lua.OpRefund, 100); d.Current != 0 {
				t.Errorf("100 of 1 refunded: %+v", d)
			}
		}
	})
}

// Charges beyond all bounds end at them, and equal the model's.
func TestHugeCharges(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		m := k.alg.New(k.p)
		for i := range int64(6) {
			for j, op := range []int{lua.OpCharge, lua.OpDecideCount, lua.OpCharge} {
				now := epoch + i*20_000_000 + int64(j)
				id := fmt.Sprint(now)
				k.op, k.cost = op, 1<<53-i
				want, _ := apply(m, k.op, now, id, k.cost)
				if got := c.call(now, id, k).counters[0]; got != want {
					t.Fatalf("charge %d, op %d:\nscript %+v\nmodel  %+v", i, op, got, want)
				}
			}
		}
		k.op = lua.OpRefund
		want, _ := apply(m, k.op, epoch+110_000_000, "r", k.cost)
		if got := c.call(epoch+110_000_000, "r", k).counters[0]; got != want {
			t.Errorf("refund:\nscript %+v\nmodel  %+v", got, want)
		}
	})
}

// Whatever is wrong with a call, it is an error and nothing is written, not even
// for the counters before the wrong one.
func TestBadArguments(t *testing.T) {
	rdb := client(t)
	for _, alg := range append(limit.Algorithms(), limit.Penalty, limit.Pool) {
		c := newCaller(t, rdb, limit.FixedWindow, alg)
		good := counter{alg: limit.FixedWindow, key: freshKey("good"), p: fivePerMinute, cost: 1}
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1}
		if alg == limit.Penalty {
			k.cost = 0
			k.p.Limit = 1
		}
		first := 2 + 3 + good.alg.NArgs // where k's arguments start
		change := func(i int, v any) func([]any) []any {
			return func(argv []any) []any { argv[i] = v; return argv }
		}
		wrong := map[string]func([]any) []any{
			"clock of letters":      change(0, "noon"),
			"negative clock":        change(0, -1),
			"clock past 2^52":       change(0, "9007199254740992"),
			"no such algorithm":     change(first, 3),
			"algorithm 0":           change(first, 0),
			"algorithm of letters":  change(first, "x"),
			"no such op":            change(first+1, 7),
			"undo without a time":   change(first+1, 6),
			"op with a fraction":    change(first+1, "0.5"),
			"cost of letters":       change(first+2, "many"),
			"negative cost":         change(first+2, -1),
			"cost that is empty":    change(first+2, ""),
			"cost past 2^53":        change(first+2, "9007199254740994"),
			"cost that is not":      change(first+2, "nan"),
			"cost without end":      change(first+2, "inf"),
			"one argument too few":  func(argv []any) []any { return argv[:len(argv)-1] },
			"one argument too many": func(argv []any) []any { return append(argv, 1) },
			"counter cut off":       func(argv []any) []any { return argv[:first+1] },
		}
		for i := range alg.NArgs {
			for name, v := range map[string]any{"letters": "x", "minus one": -1, "a fraction": "1.5", "2^53 and more": "1e17", "nothing": ""} {
				wrong[fmt.Sprintf("argument %d is %s", i, name)] = change(first+3+i, v)
			}
		}
		for name, f := range wrong {
			keys, argv := c.args(epoch, "r", good, k)
			err := rdb.EvalSha(ctx, c.script.SHA, keys, f(argv)...).Err()
			if err == nil || !strings.HasPrefix(err.Error(), "ERR sluice: ") {
				t.Errorf("%s: %s: %v, want ERR sluice: …", alg.Name, name, err)
			}
		}
		keys, argv := c.args(epoch, "r", good, good)
		if err := rdb.EvalSha(ctx, c.script.SHA, keys, argv...).Err(); err == nil || !strings.Contains(err.Error(), "named before") {
			t.Errorf("one key twice: %v", err)
		}
		if n := rdb.Exists(ctx, good.key, k.key).Val(); n != 0 {
			t.Errorf("%s: a wrong call stored something", alg.Name)
		}
		if err := rdb.EvalSha(ctx, c.script.SHA, nil, epoch, "r").Err(); err == nil {
			t.Error("a call without counters is no error")
		}
	}
}

// A key that holds something else is left alone, and the call fails as a whole.
func TestForeignValues(t *testing.T) {
	eachAlgorithm(t, func(t *testing.T, c *caller, k counter) {
		both := newCaller(t, c.rdb, limit.FixedWindow, k.alg)
		good := counter{alg: limit.FixedWindow, key: freshKey("good"), p: fivePerMinute, cost: 1}
		for name, put := range map[string]func(){
			"a list":           func() { c.rdb.RPush(ctx, k.key, "x") },
			"an empty word":    func() { c.rdb.Set(ctx, k.key, " ", 0) },
			"a word":           func() { c.rdb.Set(ctx, k.key, strings.Repeat("word ", 4), 0) },
			"a text of zeroes": func() { c.rdb.Set(ctx, k.key, strings.Repeat("\x00", 44), 0) },
		} {
			put()
			before := dump(t, c, []string{k.key})
			if v, err := both.try(epoch, "r", good, k); err == nil {
				t.Errorf("%s: no error but %+v", name, v)
			}
			if after := dump(t, c, []string{k.key}); before[0] != after[0] {
				t.Errorf("%s: the value changed", name)
			}
			c.rdb.Del(ctx, k.key)
		}
		if n := c.rdb.Exists(ctx, good.key).Val(); n != 0 {
			t.Error("another counter of the failed call was charged")
		}
	})
}

// Random bytes under a compact log's key end in an error or a decision, never in
// a script that hangs.
func TestCompactLogOfRandomBytes(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog)
	x := uint32(1)
	for i := range 3000 {
		b := make([]byte, 44+i%300)
		for j := range b {
			x = x*1664525 + 1013904223
			b[j] = byte(x >> 24)
			if i%3 == 0 && j < 28 && j != 3 {
				b[j] = 0
			}
		}
		k := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: fivePerMinute, cost: int64(i % 4), op: i % 6}
		if err := c.rdb.Set(ctx, k.key, b, 0).Err(); err != nil {
			t.Fatal(err)
		}
		_, err := c.try(epoch, "r", k)
		if err != nil && (strings.Contains(err.Error(), "BUSY") || strings.Contains(err.Error(), "timeout")) {
			t.Fatalf("bytes %q: %v", b, err)
		}
		c.rdb.Del(ctx, k.key)
	}
}

// The script survives SCRIPT FLUSH as every script does: NOSCRIPT, then EVAL of
// the same source makes the same decision and loads it.
func TestNoScript(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog)
	k := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: fivePerMinute, cost: 1}
	c.rdb.ScriptFlush(ctx)
	if _, err := c.try(epoch, "r", k); !redis.HasErrorPrefix(err, "NOSCRIPT") {
		t.Fatalf("after SCRIPT FLUSH: %v", err)
	}
	keys, argv := c.args(epoch, "r", k)
	if reply, err := c.rdb.Eval(ctx, c.script.Source, keys, argv...).Int64Slice(); err != nil || reply[1] != 1 {
		t.Fatalf("EVAL: %v, %v", reply, err)
	}
	if v := c.call(epoch+1, "r2", k); v.counters[0].Current != 2 {
		t.Errorf("the decision by EVAL was lost: %+v", v)
	}
}
