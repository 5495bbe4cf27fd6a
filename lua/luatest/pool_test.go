package luatest

import (
	"strings"
	"testing"

	"sluice/internal/limit"
	"sluice/lua"
)

const poolEnd = epoch/1000 + 60_000 // ms

func poolOf(units int64) counter {
	return counter{alg: limit.Pool, key: freshKey("pool1"), p: limit.Params{Limit: units, UntilMS: poolEnd}, cost: 1}
}

// What a script of its own would answer as allowed, current, remaining, mode and
// retry_after_ms is in the reply: docs/storage.md maps one to the other.
func TestPoolRefusesUntilItsEnd(t *testing.T) {
	c := newCaller(t, client(t), limit.Pool)
	k := poolOf(3)
	for i := range int64(3) { // degraded
		if d := c.call(epoch+i, "r", k).counters[0]; d != (limit.Decision{Admitted: true, Current: i + 1, Remaining: 2 - i, ResetMS: 60_000}) {
			t.Errorf("unit %d: %+v", i+1, d)
		}
	}
	// degraded_exhausted: the limit's own counter decides again at the deadline,
	// so waiting helps whatever the cost.
	for _, cost := range []int64{0, 1, 4} {
		k.cost = cost
		want := limit.Decision{Current: 3, ResetMS: 59_000, RetryAfterMS: 59_000}
		if v := c.call(epoch+1_000_000, "r", k); v.admitted || v.counters[0] != want {
			t.Errorf("a cost of %d of an empty pool: %+v", cost, v)
		}
	}
	// Whoever hasn't heard of the end is refused, and nothing is written.
	k.cost = 1
	before := dump(t, c, []string{k.key})
	if v := c.call(poolEnd*1000, "r", k); v.admitted || v.counters[0] != (limit.Decision{RetryAfterMS: 1}) {
		t.Errorf("after the deadline: %+v", v)
	}
	if after := dump(t, c, []string{k.key}); before[0] != after[0] {
		t.Errorf("written after the deadline: %q, before %q", after, before)
	}
}

// The pool expires by itself, a little after its deadline, however it was spent.
func TestPoolExpires(t *testing.T) {
	c := newCaller(t, client(t), limit.Pool)
	for _, op := range []int{lua.OpDecide, lua.OpCharge} {
		k := poolOf(3)
		k.op = op
		c.call(epoch, "r", k)
		if ttl := c.rdb.PTTL(ctx, k.key).Val().Milliseconds(); ttl < 60_000 || ttl > 63_000 {
			t.Errorf("op %d: expires in %d ms, and ends in 60000", op, ttl)
		}
	}
}

// Gateways hear of a change one after the other. Who still has the old deadline
// spends of the same pool; only a later deadline opens a new one, and once.
func TestPoolsOfTwoDeadlines(t *testing.T) {
	c := newCaller(t, client(t), limit.Pool)
	before := poolOf(5)
	after := before
	after.p.UntilMS += 30_000
	after.p.Limit = 4
	c.call(epoch, "r", before)
	c.call(epoch+1, "r", before)
	admitted := 0
	for i := range int64(12) {
		k := after
		if i%2 == 1 {
			k = before
		}
		if c.call(epoch+2+i, "r", k).admitted {
			admitted++
		}
	}
	if admitted != 5 { // 4 of the new pool, and the old one allows one more of it
		t.Errorf("%d admitted, want 5", admitted)
	}
	// Shortened, it goes on with what is stored.
	if d := c.call(epoch+100, "r", before).counters[0]; d.Admitted || d.Current != 5 {
		t.Errorf("with the earlier deadline again: %+v", d)
	}
}

// A clock that steps back finds the pool as it was.
func TestPoolAndAClockThatStepsBack(t *testing.T) {
	c := newCaller(t, client(t), limit.Pool)
	k := poolOf(2)
	c.call(epoch, "r", k)
	c.call(epoch-10_000_000, "r", k)
	if d := c.call(epoch-20_000_000, "r", k).counters[0]; d.Admitted || d.RetryAfterMS != 80_000 {
		t.Errorf("a third of 2: %+v", d)
	}
}

// Facts of a decision as others name them, out of the reply.
type facts struct {
	allowed            bool
	remaining, current int64
	mode               string
	retryAfterMS       int64
}

// factsOf reads them: the mode is which counter was asked, and what it said.
func factsOf(v verdict, k counter) facts {
	d := v.counters[0]
	f := facts{allowed: v.admitted, remaining: d.Remaining, current: d.Current, mode: "normal", retryAfterMS: d.RetryAfterMS}
	if k.alg == limit.Pool {
		if f.mode = "degraded"; !d.Admitted {
			f.mode = "degraded_exhausted"
		}
	}
	return f
}

// The limit's log and its pool, one after the other: docs/storage.md has the table.
func TestFactsOfADecision(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog, limit.Pool)
	log := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: limit.Params{Limit: 2, WindowMS: 60_000}, cost: 1}
	spare := poolOf(2)
	for i, x := range []struct {
		k    counter
		want facts
	}{
		{log, facts{true, 1, 1, "normal", 0}},
		{spare, facts{true, 1, 1, "degraded", 0}},
		{spare, facts{true, 0, 2, "degraded", 0}},
		{spare, facts{false, 0, 2, "degraded_exhausted", 60_000}},
		{log, facts{true, 0, 2, "normal", 0}}, // untouched by what was spent meanwhile
		{log, facts{false, 0, 2, "normal", 60_000}},
	} {
		got := factsOf(c.call(epoch+int64(i), "client", x.k), x.k)
		if late := got.retryAfterMS - 60_000; x.k.alg == limit.SlidingLog && late > 0 && late <= 60 {
			got.retryAfterMS -= late // the log's tick
		}
		if got != x.want {
			t.Errorf("call %d: %+v, want %+v", i, got, x.want)
		}
	}
	// Bad arguments are an error, and nothing is written.
	for name, bad := range map[string][]any{
		"no deadline":           {"", "r", 2, 0, 1, 5, 0},
		"a deadline of letters": {"", "r", 2, 0, 1, 5, "soon"},
		"units below 0":         {"", "r", 2, 0, 1, -1, poolEnd},
		"too few":               {"", "r", 2, 0, 1, 5},
	} {
		k := freshKey("pool1")
		err := c.rdb.EvalSha(ctx, c.script.SHA, []string{k}, bad...).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "ERR sluice: ") || c.rdb.Exists(ctx, k).Val() != 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
