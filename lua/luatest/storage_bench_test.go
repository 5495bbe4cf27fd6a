package luatest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
	"sluice/lua"
)

const pipelined = 16 // calls sent at once, as a busy gateway's pipe does

// regimes are the loads that docs/storage.md compares the storages under.
var regimes = []struct {
	name  string
	limit int64
	win   int64 // ms
	keys  int
	step  int64 // us between two calls
	warm  int   // calls before measuring
}{
	{"hot key, admitted", 1 << 40, 60_000, 1, 10, 2_000},
	{"hot key, at its limit", 100, 60_000, 1, 10, 2_000},
	{"10,000 keys", 1_000, 60_000, 10_000, 10, 20_000},
	{"hot key, 1000 ticks, 60 hits each", 1 << 40, 60_000, 1, 1_000, 60_000},
	{"steady key, 1000 ticks, a hit each", 1 << 40, 60_000, 1, 60_000, 2_000},
	{"steady key at its limit", 1_000, 60_000, 1, 30_000, 4_000},
}

func BenchmarkStorage(b *testing.B) {
	for _, r := range regimes {
		for _, alg := range []*limit.Algorithm{limit.SlidingLog, limit.SlidingLogZset} {
			b.Run(r.name+"/"+alg.Storage, func(b *testing.B) {
				rdb := client(b)
				c := newCaller(b, rdb, alg)
				rdb.FlushAll(ctx)
				now := int64(epoch)
				names := make([]string, r.keys)
				for i := range names {
					names[i] = freshKey(alg.Suffix)
				}
				n := 0
				run := func(calls int) {
					for calls > 0 {
						pipe := rdb.Pipeline()
						for range min(calls, pipelined) {
							now += r.step
							n++
							keys, argv := c.args(now, "request-"+strconv.Itoa(n), counter{alg: alg, key: names[n%r.keys],
								p: limit.Params{Limit: r.limit, WindowMS: r.win}, op: lua.OpDecide, cost: 1})
							pipe.EvalSha(ctx, c.script.SHA, keys, argv...)
						}
						if _, err := pipe.Exec(ctx); err != nil {
							b.Fatal(err)
						}
						calls -= pipelined
					}
				}
				run(r.warm)
				rdb.ConfigResetStat(ctx)
				b.ResetTimer()
				run(b.N)
				b.StopTimer()
				b.ReportMetric(scriptMicros(b, rdb), "redis-us/op")
				b.ReportMetric(float64(rdb.MemoryUsage(ctx, names[0], 0).Val()), "B/key")
			})
		}
	}
}

// scriptMicros is what Redis says one call took inside the script.
func scriptMicros(b *testing.B, rdb *redis.Client) float64 {
	for line := range strings.Lines(rdb.Info(ctx, "commandstats").Val()) {
		if rest, ok := strings.CutPrefix(line, "cmdstat_evalsha:"); ok {
			var calls, usec int64
			var per float64
			if _, err := fmt.Sscanf(rest, "calls=%d,usec=%d,usec_per_call=%f", &calls, &usec, &per); err != nil {
				b.Fatal(err)
			}
			return per
		}
	}
	b.Fatal("no commandstats of evalsha")
	return 0
}
