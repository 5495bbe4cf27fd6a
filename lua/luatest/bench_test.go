package luatest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
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

// BenchmarkStorage compares the two storages of sliding_log: time a call over a
// pipelined connection, time within the script by Redis's own statistics, and
// memory a key.

func BenchmarkStorage(b *testing.B) {
	for _, r := range regimes {
		for _, alg := range []*limit.Algorithm{limit.SlidingLog, limit.SlidingLogZset} {
			b.Run(r.name+"/"+alg.Storage, func(b *testing.B) {
				k := counter{alg: alg, p: limit.Params{Limit: r.limit, WindowMS: r.win}, cost: 1}
				measure(b, load{keys: r.keys, step: r.step, warm: r.warm}, k)
			})
		}
	}
}

// BenchmarkAlgorithms compares the algorithms on a hot key that admits, and on
// one that is at its limit.
func BenchmarkAlgorithms(b *testing.B) {
	for _, alg := range limit.Algorithms() {
		for _, lim := range []int64{1_000_000_000, 100} {
			name := "admitted"
			if lim == 100 {
				name = "refused"
			}
			b.Run(strings.TrimSuffix(alg.Name+"/"+alg.Storage, "/")+"/"+name, func(b *testing.B) {
				k := counter{alg: alg, cost: 1, p: limit.Params{Limit: lim, WindowMS: 60_000, HoldMS: 60_000, Calendar: &limit.Calendar{Unit: limit.Day}}}
				measure(b, load{keys: 1, step: 1, warm: 2_000}, k)
			})
		}
	}
}

// BenchmarkLevels measures one call for several limits, by a script that holds
// only what it needs, and by one that holds every algorithm.
func BenchmarkLevels(b *testing.B) {
	levels := threeLevels()
	for n := 1; n <= 3; n++ {
		b.Run(fmt.Sprintf("%d of the script's algorithms", n), func(b *testing.B) {
			measure(b, load{keys: 1, step: 10, warm: 1000}, levels[:n]...)
		})
		b.Run(fmt.Sprintf("%d of all algorithms", n), func(b *testing.B) {
			measure(b, load{keys: 1, step: 10, warm: 1000, script: limit.Algorithms()}, levels[:n]...)
		})
	}
}

// load says how a benchmark calls.
type load struct {
	keys   int                // how many keys take turns
	step   int64              // us from a call to the next, by the script's clock
	warm   int                // calls before measuring
	script []*limit.Algorithm // what the script holds; nil = what the counters need
}

// measure calls the script with the counters, each on l.keys keys in turn.
func measure(b *testing.B, l load, counters ...counter) {
	rdb := client(b)
	rdb.FlushAll(ctx)
	if l.script == nil {
		for _, k := range counters {
			l.script = append(l.script, k.alg)
		}
	}
	c := newCaller(b, rdb, l.script...)
	names := make([][]counter, l.keys)
	for i := range names {
		names[i] = slices.Clone(counters)
		for j := range names[i] {
			names[i][j].key = freshKey(names[i][j].alg.Suffix)
		}
	}
	now := int64(epoch)
	n := 0
	run := func(calls int) {
		for calls > 0 {
			pipe := rdb.Pipeline()
			for range min(calls, pipelined) {
				now += l.step
				n++
				keys, argv := c.args(now, "request-"+strconv.Itoa(n), names[n%l.keys]...)
				pipe.EvalSha(ctx, c.script.SHA, keys, argv...)
			}
			if _, err := pipe.Exec(ctx); err != nil {
				b.Fatal(err)
			}
			calls -= pipelined
		}
	}
	run(l.warm)
	rdb.ConfigResetStat(ctx)
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	b.ReportMetric(scriptMicros(b, rdb), "redis-us/op")
	b.ReportMetric(float64(rdb.MemoryUsage(ctx, names[0][0].key, 0).Val()), "B/key")
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
