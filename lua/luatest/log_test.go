package luatest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
)

// A log that grows from one bucket to a full ring, shrinks, jumps and grows
// again equals its model at each step, and never takes 10 kB.
func TestCompactLogThroughAllItsForms(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLog)
	r := rand.New(rand.NewPCG(3, 5))
	k := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: limit.Params{Limit: 1 << 40, WindowMS: 60_000}}
	m := k.alg.New(k.p)
	now := int64(epoch)
	largest := int64(0)
	wrapped := 0
	for i := range 15_000 {
		switch x := r.IntN(6000); {
		case x == 0:
			now += r.Int64N(70_000_000) // about a window
		case x < 4:
			now -= r.Int64N(20_000_000)
		case x < 6:
			k.p.WindowMS = []int64{60_001, 120_000, 2_000, 61_000}[r.IntN(4)]
			m.Change(k.p)
		case x < 50 && k.p.WindowMS != 60_000:
			k.p.WindowMS = 60_000
			m.Change(k.p)
		default:
			now += r.Int64N(110_000) // about a tick
		}
		k.op, k.cost = lua.OpDecide, r.Int64N(4)
		switch r.IntN(300) {
		case 0:
			k.p.Limit = 1 + r.Int64N(3000)
			m.Change(k.p)
		case 1, 8, 9, 10, 11, 12, 13, 14, 15, 16:
			k.p.Limit = 1 << 40
			m.Change(k.p)
		case 2:
			k.op, k.cost = lua.OpCharge, r.Int64N(1<<36)
		case 3, 4, 5, 6:
			k.op, k.cost = lua.OpRefund, r.Int64N(60)
		case 7:
			if r.IntN(8) == 0 {
				k.op, k.cost = lua.OpRefund, 1<<50
			}
		}
		want, _ := apply(m, k.op, now, "", k.cost)
		if got := c.call(now, "r", k); got.counters[0] != want {
			t.Fatalf("call %d: op %d cost %d, %+v:\nscript %+v\nmodel  %+v", i, k.op, k.cost, k.p, got.counters[0], want)
		}
		if i%50 == 0 {
			largest = max(largest, c.rdb.MemoryUsage(ctx, k.key).Val())
			head := c.rdb.GetRange(ctx, k.key, 0, 43).Val()
			if len(head) == 44 && want.Admitted && k.op == lua.OpDecide && k.cost > 0 {
				if expiry := bigEndian(head[6:12]); expiry < now/1000+k.p.WindowMS {
					t.Fatalf("call %d: the key expires %d ms before its newest hit", i, now/1000+k.p.WindowMS-expiry)
				}
			}
			if len(head) == 44 && bigEndian(head[4:6]) > 0 && bigEndian(head[25:27]) > 0 && bigEndian(head[25:27])+bigEndian(head[27:29]) > bigEndian(head[4:6]) {
				wrapped++
			}
		}
	}
	if wrapped < 5 {
		t.Errorf("the ring was seen wrapped %d times; the test no longer reaches that", wrapped)
	}
	if largest < 8000 || largest > 10_000 {
		t.Errorf("the key took up to %d bytes; want a full ring, and below 10,000", largest)
	}
}

func bigEndian(s string) (n int64) {
	for _, b := range []byte(s) {
		n = n<<8 | int64(b)
	}
	return n
}

// One call evicts at most 5000 of 500,000 expired hits, counts none of them, and
// the backlog is gone after a hundred.
func TestZsetEvictionIsBounded(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLogZset)
	k := counter{alg: limit.SlidingLogZset, key: freshKey("zlog1"), p: limit.Params{Limit: 1_000_000, WindowMS: 60_000}, cost: 1}
	const n = 500_000
	batch := make([]redis.Z, 0, 10_000)
	old := int64(epoch/1000 - 200_000)
	for i := range int64(n) {
		ms := old + i/10
		batch = append(batch, redis.Z{Score: float64(ms), Member: strconv.FormatInt(ms, 10) + ":000000:" + strconv.FormatInt(i, 10)})
		if len(batch) == cap(batch) {
			if err := c.rdb.ZAdd(ctx, k.key, batch...).Err(); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	card := int64(n)
	for i := range int64(110) {
		d := c.call(epoch+i, fmt.Sprint(i), k).counters[0]
		if !d.Admitted || d.Current != i+1 || d.ResetMS < 59_999 || d.ResetMS > 60_001 {
			t.Fatalf("call %d with a backlog: %+v", i, d)
		}
		now := c.rdb.ZCard(ctx, k.key).Val()
		if gone := card + 1 - now; gone > 5000 || card > 5000+i && gone != 5000 {
			t.Fatalf("call %d evicted %d", i, gone)
		}
		card = now
	}
	if card != 110 {
		t.Errorf("%d members are left of 110 hits", card)
	}
}

// The log is readable: score in ms, member with ms, us, cost and request id; two
// hits of one us stay two; the expiry is the window and 10 s.
func TestZsetIsAnAuditTrail(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLogZset)
	k := counter{alg: limit.SlidingLogZset, key: freshKey("zlog1"), p: limit.Params{Limit: 10, WindowMS: 60_000}, cost: 1}
	c.call(1_700_000_000_123_456, "a", k)
	c.call(1_700_000_000_123_456, "a", k)
	c.call(1_700_000_000_123_456, "b", k)
	k.cost = 3
	c.call(1_700_000_000_124_000, "id:with|odd ~bytes\n", k)
	k.cost = 1
	if d := c.call(1_700_000_000_124_001, "c", k).counters[0]; d.Current != 7 {
		t.Errorf("hits merged: %+v", d)
	}
	var lines []string
	for _, z := range c.rdb.ZRangeWithScores(ctx, k.key, 0, -1).Val() {
		lines = append(lines, fmt.Sprintf("%.0f %q", z.Score, z.Member))
	}
	want := []string{
		`1700000000124 "1700000000123:123456:a"`,
		`1700000000124 "1700000000123:123456:a+1"`,
		`1700000000124 "1700000000123:123456:b"`,
		`1700000000124 "1700000000124:124000x3:id:with|odd ~bytes\n"`,
		`1700000000125 "1700000000124:124001:c"`,
		`4503599627370498 "~extra"`,
	}
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("the log reads\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	if ttl := c.rdb.PTTL(ctx, k.key).Val().Milliseconds(); ttl < 69_000 || ttl > 70_000 {
		t.Errorf("expires in %d ms, want the window and 10 s", ttl)
	}
}

// Charged far above the limit, a log has no more members than the limit.
func TestZsetNeverGrowsAboveItsLimit(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLogZset)
	for _, op := range []int{lua.OpCharge, lua.OpDecideCount} {
		k := counter{alg: limit.SlidingLogZset, key: freshKey("zlog1"), p: limit.Params{Limit: 20, WindowMS: 60_000}, op: op, cost: 1}
		for i := range int64(200) {
			k.cost = 1 + i%3
			c.call(epoch+i, fmt.Sprint(i), k)
		}
		if n := c.rdb.ZCount(ctx, k.key, "-inf", "4503599627370496").Val(); n > 20 {
			t.Errorf("op %d: %d members at a limit of 20", op, n)
		}
	}
}

// Clocks of two gateways, 2 s apart, take turns: the log admits no more than its
// limit in any window of the true time.
func TestLogsWithSkewedClocks(t *testing.T) {
	for _, alg := range []*limit.Algorithm{limit.SlidingLog, limit.SlidingLogZset} {
		for _, window := range []int64{500, 10_000, 7_200_000} {
			t.Run(fmt.Sprintf("%s/%d", alg.Storage, window), func(t *testing.T) {
				c := newCaller(t, client(t), alg)
				k := counter{alg: alg, key: freshKey(alg.Suffix), p: limit.Params{Limit: 10, WindowMS: window}, cost: 1}
				var admitted []int64
				for i := range int64(3000) {
					now := epoch + i*window*7
					clock := now
					if i%2 == 0 {
						clock += 2_000_000
					}
					if c.call(clock, fmt.Sprint(i), k).admitted {
						admitted = append(admitted, now)
					}
				}
				for i := 10; i < len(admitted); i++ {
					if span := admitted[i] - admitted[i-10]; span < window*1000 {
						t.Fatalf("11 admitted within %d us, in a window of %d ms", span, window)
					}
				}
				// 21 windows have passed; the clocks' difference is lost once a turn.
				if want := int(10 * 21 * window / (window + 2100) / 2); len(admitted) < want {
					t.Errorf("%d admitted, want at least %d", len(admitted), want)
				}
			})
		}
	}
}

// Behind the first 1000 members, where costs aren't read one by one, the time
// announced is never too early.
func TestZsetAnnouncesLateRatherThanEarly(t *testing.T) {
	c := newCaller(t, client(t), limit.SlidingLogZset)
	p := limit.Params{Limit: 4000, WindowMS: 60_000}
	k := counter{alg: limit.SlidingLogZset, key: freshKey("zlog1"), p: p}
	m := k.alg.New(p)
	now := int64(epoch)
	for i := range int64(1900) {
		now += 10_000
		k.cost = 1 + i%3
		if v := c.call(now, fmt.Sprint(i), k); !v.admitted {
			break
		}
		limit.Decide(m, now, k.cost)
	}
	for _, cost := range []int64{1, 500, 1900, 2100, 3000, 4000} {
		k.cost = cost
		got := c.call(now, "r", k).counters[0]
		want, _ := apply(m, k.op, now, "r", cost)
		exact := got == want
		got.RetryAfterMS, want.RetryAfterMS = max(got.RetryAfterMS, want.RetryAfterMS), got.RetryAfterMS
		if got.RetryAfterMS != want.RetryAfterMS || cost <= 500 && !exact {
			t.Errorf("cost %d: announced %d ms, exact %d", cost, want.RetryAfterMS, got.RetryAfterMS)
		}
	}
}
