package luatest

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/limit"
	"sluice/lua"
)

// Several counters of any algorithms in one call: all are charged or none, and
// each says what its model says.
func TestLevelsAllOrNothing(t *testing.T) {
	rdb := client(t)
	algs := append(limit.Algorithms(), limit.Pool)
	c := newCaller(t, rdb, algs...)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "counters")
		counters := make([]counter, n)
		models := make([]limit.Model, n)
		for i := range counters {
			alg := rapid.SampledFrom(algs).Draw(t, "algorithm")
			p := drawParams(t, alg)
			p.Limit = rapid.Int64Range(1, 12).Draw(t, "small limit")
			if p.Calendar == nil {
				p.WindowMS = rapid.SampledFrom([]int64{100, 1000, 60_000}).Draw(t, "window")
			}
			counters[i] = counter{alg: alg, key: freshKey(alg.Suffix), p: p}
			models[i] = alg.New(p)
		}
		now := int64(epoch)
		for call := range rapid.IntRange(1, 60).Draw(t, "calls") {
			now += rapid.Int64Range(1, 40_000).Draw(t, "step")
			id := fmt.Sprintf("id%06d", call)
			cost := rapid.SampledFrom([]int64{1, 1, 1, 0, 2, 5}).Draw(t, "cost")
			admitted := true
			looks := make([]limit.Decision, n)
			keys := make([]string, n)
			for i := range counters {
				k := &counters[i]
				k.op = rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5}).Draw(t, "op")
				k.cost = cost
				looks[i] = as(models[i], id).Look(now, cost)
				if k.op == lua.OpDecide || k.op == lua.OpDecideCount {
					admitted = admitted && looks[i].Admitted
				}
				keys[i] = k.key
			}
			before := dump(t, c, keys)
			got, err := c.try(now, id, counters...)
			if err != nil {
				t.Fatalf("call %d: %v", call, err)
			}
			after := dump(t, c, keys)
			if got.admitted != admitted {
				t.Fatalf("call %d: the script admits: %v, the models: %v", call, got.admitted, looks)
			}
			for i, k := range counters {
				want := settle(as(models[i], id), k.op, now, cost, looks[i], admitted)
				if got.counters[i] != want {
					t.Fatalf("call %d at %d: %s op %d cost %d %+v:\nscript %+v\nmodel  %+v", call, now-epoch, k.alg.Name, k.op, cost, k.p, got.counters[i], want)
				}
				if !admitted && k.op <= lua.OpShadow && before[i] != after[i] {
					t.Fatalf("call %d: a refused request changed what %s stores", call, k.alg.Name)
				}
			}
		}
		rdb.Del(ctx, keysOf(counters)...)
	})
}

func keysOf(cs []counter) (keys []string) {
	for _, k := range cs {
		keys = append(keys, k.key)
	}
	return keys
}

// dump is what Redis stores under each key.
func dump(t interface{ Fatal(...any) }, c *caller, keys []string) []string {
	values := make([]string, len(keys))
	for i, k := range keys {
		v, err := c.rdb.Dump(ctx, k).Result()
		if err != nil && err.Error() != "redis: nil" {
			t.Fatal(err)
		}
		values[i] = v
	}
	return values
}

func TestShadowNeverRefuses(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog, limit.FixedWindow)
	live := counter{alg: limit.FixedWindow, key: freshKey("a"), p: limit.Params{Limit: 3, WindowMS: 60_000}, cost: 1}
	shadow := counter{alg: limit.SlidingLog, key: freshKey("b"), p: limit.Params{Limit: 2, WindowMS: 60_000}, op: lua.OpShadow, cost: 1}
	var admitted, shadowed []bool
	for i := range int64(5) {
		v := c.call(epoch+i, "r", live, shadow)
		admitted = append(admitted, v.admitted)
		shadowed = append(shadowed, v.counters[1].Admitted)
	}
	if got, want := fmt.Sprint(admitted), "[true true true false false]"; got != want {
		t.Errorf("admitted %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(shadowed), "[true true false false false]"; got != want {
		t.Errorf("the shadow says %s, want %s", got, want)
	}
}

// A client that keeps on while it is refused stays out where its refused
// requests count, and gets in again where they don't.
func TestCountRejected(t *testing.T) {
	for _, alg := range limit.Algorithms() {
		if alg == limit.Concurrency || alg == limit.CalendarQuota || alg == limit.FixedWindow {
			continue // holders and periods end by themselves, whatever comes
		}
		t.Run(alg.Name+alg.Storage, func(t *testing.T) {
			c := newCaller(t, client(t), alg)
			for _, op := range []int{lua.OpDecide, lua.OpDecideCount} {
				k := counter{alg: alg, key: freshKey(alg.Suffix), p: limit.Params{Limit: 5, WindowMS: 1000}, op: op, cost: 1}
				admitted := 0
				now := int64(epoch)
				for range 400 { // twenty a window
					if c.call(now, fmt.Sprint(now), k).admitted {
						admitted++
					}
					now += 50_000
				}
				if op == lua.OpDecide && admitted < 80 {
					t.Errorf("%d of 400 admitted where refused ones don't count, want about 100", admitted)
				}
				if op == lua.OpDecideCount && admitted > 7 {
					t.Errorf("%d of 400 admitted where refused ones count, want about 5", admitted)
				}
				if !c.call(now+2_000_000, "late", k).admitted {
					t.Error("refused after two quiet windows")
				}
			}
		})
	}
}

func TestPenalty(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog, limit.Penalty)
	k := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: limit.Params{Limit: 2, WindowMS: 1000}, cost: 1}
	guard := counter{alg: limit.Penalty, key: freshKey("pen1"), p: limit.Params{Limit: 1, WindowMS: 10_000}}
	at := func(ms int64) verdict { return c.call(epoch/1000*1000+ms*1000, fmt.Sprint(ms), k, guard) }
	for ms := range int64(2) {
		if v := at(ms); !v.admitted || v.counters[1] != (limit.Decision{Admitted: true, Remaining: 1}) {
			t.Fatalf("at %d ms: %+v", ms, v)
		}
	}
	v := at(2)
	if v.admitted || v.counters[0].RetryAfterMS != 998 || v.counters[1].Admitted || v.counters[1].RetryAfterMS != 10_000 {
		t.Errorf("the first refusal starts the penalty: %+v", v)
	}
	v = at(5_000)
	if v.admitted || !v.counters[0].Admitted || v.counters[0].Current != 0 || v.counters[1].RetryAfterMS != 5_002 {
		t.Errorf("during the penalty, with room in the log: %+v", v)
	}
	if v = at(10_001); v.admitted {
		t.Errorf("one ms before the penalty ends: %+v", v)
	}
	if v = at(10_002); !v.admitted {
		t.Errorf("when the penalty ends: %+v", v)
	}
	at(10_003)
	if v = at(10_004); v.admitted || v.counters[1].Admitted {
		t.Errorf("a second excess: %+v", v)
	}
	guard.op, guard.cost = lua.OpRefund, 1
	at(10_005)
	guard.op, guard.cost = lua.OpDecide, 0
	if v = at(11_100); !v.admitted {
		t.Errorf("after the penalty was lifted: %+v", v)
	}
	guard.cost = 1
	if _, err := c.try(epoch, "r", k, guard); err == nil {
		t.Error("a guard asked with a cost")
	}
}
