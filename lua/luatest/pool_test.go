package luatest

import (
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
