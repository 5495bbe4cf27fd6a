package luatest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/internal/limit"
)

// asking is one request's part of a call for several.
type asking struct {
	id       string
	counters []counter
}

// argsOfAll makes KEYS and ARGV of a call for several requests.
func (c *caller) argsOfAll(now int64, all []asking) (keys []string, argv []any) {
	for i, a := range all {
		k, v := c.args(now, a.id, a.counters...)
		keys = append(keys, k...)
		if i == 0 {
			argv = append(argv, v[0], "+")
		}
		argv = append(argv, len(k), len(v)-2)
		argv = append(argv, v[1:]...)
	}
	return keys, argv
}

// tryAll decides several requests in one call; an error of one is in its place.
func (c *caller) tryAll(now int64, all []asking) ([]verdict, []error, error) {
	keys, argv := c.argsOfAll(now, all)
	reply, err := c.rdb.EvalSha(ctx, c.script.SHA, keys, argv...).Slice()
	if err != nil {
		return nil, nil, err
	}
	if len(reply) != len(all) {
		return nil, nil, fmt.Errorf("%d replies for %d requests", len(reply), len(all))
	}
	verdicts, errs := make([]verdict, len(all)), make([]error, len(all))
	for i, r := range reply {
		switch r := r.(type) {
		case error:
			errs[i] = r
		case []any:
			var numbers []int64
			for _, x := range r {
				numbers = append(numbers, x.(int64))
			}
			verdicts[i], errs[i] = verdictOf(numbers, all[i].counters)
		default:
			return nil, nil, fmt.Errorf("reply %d is %T", i, r)
		}
	}
	return verdicts, errs, nil
}

// Several requests decided by one call are decided as by calls of their own, one
// right after the other, whatever they share.
func TestOneCallForSeveralRequestsEqualsOneEach(t *testing.T) {
	rdb := client(t)
	algs := limit.Algorithms()
	c := newCaller(t, rdb, algs...)
	t.Run("values written whole", func(t *testing.T) { rapid.Check(t, c.togetherEqualsAlone(algs)) })
	t.Run("in place", func(t *testing.T) {
		rapid.Check(t, c.rewritten(ownClock, "local own=true").togetherEqualsAlone(withShort))
	})
}

func (c *caller) togetherEqualsAlone(algs []*limit.Algorithm) func(*rapid.T) {
	return func(t *rapid.T) {
		var alone, together []counter
		for range rapid.IntRange(1, 5).Draw(t, "counters") {
			alg := rapid.SampledFrom(algs).Draw(t, "algorithm")
			k := counter{alg: alg, p: drawParams(t, alg)}
			k.key = freshKey(alg.Suffix)
			alone = append(alone, k)
			k.key = freshKey(alg.Suffix)
			together = append(together, k)
		}
		now := int64(epoch)
		for call := range rapid.IntRange(1, 12).Draw(t, "calls") {
			now += clockStep(t, alone[0].p.WindowMS)
			var all []asking
			var want []verdict
			for r := range rapid.IntRange(1, 6).Draw(t, "requests") {
				id := fmt.Sprintf("id%04d-%d", call, r)
				var a []counter
				group := asking{id: id}
				for _, i := range rapid.Permutation(slices.Collect(indexes(len(alone)))).Draw(t, "which")[:rapid.IntRange(1, len(alone)).Draw(t, "of them")] {
					op := rapid.SampledFrom([]int{0, 0, 0, 0, 1, 2, 3, 4, 5}).Draw(t, "op")
					cost := drawCost(t, alone[i].p.Limit)
					k := alone[i]
					k.op, k.cost = op, cost
					a = append(a, k)
					k.key = together[i].key
					group.counters = append(group.counters, k)
				}
				v, err := c.try(now, id, a...)
				if err != nil {
					t.Fatalf("call %d, request %d alone: %v", call, r, err)
				}
				want = append(want, v)
				all = append(all, group)
			}
			got, errs, err := c.tryAll(now, all)
			if err != nil {
				t.Fatalf("call %d: %v", call, err)
			}
			for i := range all {
				if errs[i] != nil || got[i].at != want[i].at || got[i].admitted != want[i].admitted || !slices.Equal(got[i].counters, want[i].counters) {
					t.Fatalf("call %d, request %d:\nalone    %+v\ntogether %+v, %v", call, i, want[i], got[i], errs[i])
				}
			}
		}
		for i := range alone {
			// What is stored is the same, too, though perhaps in fewer writes.
			a, b := c.rdb.Dump(ctx, alone[i].key).Val(), c.rdb.Dump(ctx, together[i].key).Val()
			if (a == "") != (b == "") {
				t.Errorf("%s is stored: %v, %s: %v", alone[i].key, a != "", together[i].key, b != "")
			}
			ttl, same := c.rdb.PTTL(ctx, alone[i].key).Val(), c.rdb.PTTL(ctx, together[i].key).Val()
			if ttl-same > time.Second || same-ttl > time.Second {
				t.Errorf("%s lives for %v, %s for %v", alone[i].key, ttl, together[i].key, same)
			}
			c.rdb.Del(ctx, alone[i].key, together[i].key)
		}
	}
}

func indexes(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// What is wrong with one request's counters is an error for that one, which is
// charged nothing; the others are decided.
func TestAnErrorConcernsOneRequestOfACall(t *testing.T) {
	rdb := client(t)
	for _, alg := range append(limit.Algorithms(), limit.Pool) {
		c := newCaller(t, rdb, alg, limit.FixedWindow)
		k := func() counter { return counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1} }
		broken, malformed, good := k(), k(), k()
		other := counter{alg: limit.FixedWindow, key: freshKey("fixed"), p: fivePerMinute, cost: 1}
		rdb.HSet(ctx, broken.key, "of", "another kind")
		malformed.op = 9
		verdicts, errs, err := c.tryAll(epoch, []asking{
			{"1", []counter{good}},
			{"2", []counter{other, broken}},
			{"3", []counter{malformed}},
			{"4", nil},
			{"5", []counter{good, other}},
		})
		if err != nil {
			t.Fatalf("%s: %v", alg.Name, err)
		}
		for i, want := range []string{"", "WRONGTYPE ", "ERR sluice: counter 1: ", "ERR sluice: wrong number", ""} {
			if want == "" && errs[i] != nil || want != "" && (errs[i] == nil || !strings.HasPrefix(errs[i].Error(), want)) {
				t.Errorf("%s: request %d: error %v, want %q", alg.Name, i+1, errs[i], want)
			}
		}
		if v := verdicts[4]; !v.admitted || v.counters[0].Current != 2 || v.counters[1].Current != 1 {
			t.Errorf("%s: the last: %+v", alg.Name, v)
		}
	}
}

// A call whose parts don't add up is an error, and nothing is charged.
func TestACallForSeveralWhosePartsDontAddUp(t *testing.T) {
	rdb := client(t)
	c := newCaller(t, rdb, limit.FixedWindow)
	k := counter{alg: limit.FixedWindow, key: freshKey("fixed"), p: fivePerMinute, cost: 1}
	keys, argv := c.argsOfAll(epoch, []asking{{"1", []counter{k}}, {"2", []counter{k}}})
	second := 2 + 3 + len(argv[2:])/2 - 3
	for name, change := range map[string]func(keys []string, argv []any) ([]string, []any){
		"a key more":        func(k []string, a []any) ([]string, []any) { return append(k, "x"), a },
		"a key less":        func(k []string, a []any) ([]string, []any) { return k[:1], a },
		"an argument more":  func(k []string, a []any) ([]string, []any) { return k, append(a, 1) },
		"an argument less":  func(k []string, a []any) ([]string, []any) { return k, a[:len(a)-1] },
		"two keys said":     func(k []string, a []any) ([]string, []any) { a[2] = 2; return k, a },
		"no size":           func(k []string, a []any) ([]string, []any) { a[3] = "x"; return k, a },
		"a negative size":   func(k []string, a []any) ([]string, []any) { a[3] = -3; return k, a },
		"a size of halves":  func(k []string, a []any) ([]string, []any) { a[3] = "5.5"; return k, a },
		"an endless size":   func(k []string, a []any) ([]string, []any) { a[second+1] = "inf"; return k, a },
		"a size that isn't": func(k []string, a []any) ([]string, []any) { a[second] = "nan"; return k, a },
		"nothing":           func(k []string, a []any) ([]string, []any) { return nil, a[:2] },
	} {
		keys, argv := change(slices.Clone(keys), slices.Clone(argv))
		err := rdb.EvalSha(ctx, c.script.SHA, keys, argv...).Err()
		if err == nil || !strings.HasPrefix(err.Error(), "ERR sluice: wrong number of arguments") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := rdb.Exists(ctx, k.key).Val(); n != 0 {
		t.Error("something was charged")
	}
}

// A request's id is its own in a call for several: each holds its own slot.
func TestIdsStayApartInOneCall(t *testing.T) {
	c := newCaller(t, client(t), limit.Concurrency)
	k := counter{alg: limit.Concurrency, key: freshKey(limit.Concurrency.Suffix), p: fivePerMinute, cost: 1}
	one := []counter{k}
	v, errs, err := c.tryAll(epoch, []asking{{"a", one}, {"b", one}, {"a", one}})
	if err != nil || slices.ContainsFunc(errs, func(e error) bool { return e != nil }) {
		t.Fatal(err, errs)
	}
	for i, want := range []int64{1, 2, 2} {
		if got := v[i].counters[0].Current; got != want {
			t.Errorf("request %d: %d slots, want %d", i, got, want)
		}
	}
}

// A Redis that takes no writes charges nobody and says so to each request, those
// included whose charges were to be written together at the end. Who is refused
// anyhow is told that.
func TestARedisThatTakesNoWrites(t *testing.T) {
	rdb := client(t)
	c := newCaller(t, rdb, limit.SlidingLog, limit.TokenBucket, limit.FixedWindow)
	for name, set := range map[string][2]string{"NOREPLICAS ": {"min-replicas-to-write", "1"}, "OOM ": {"maxmemory", "1"}} {
		shared := counter{alg: limit.SlidingLog, key: freshKey("log1"), p: fivePerMinute, cost: 1}
		bucket := counter{alg: limit.TokenBucket, key: freshKey("tb1"), p: fivePerMinute, cost: 1}
		own := counter{alg: limit.FixedWindow, key: freshKey("fixed"), p: fivePerMinute, cost: 1}
		full := counter{alg: limit.FixedWindow, key: freshKey("fixed"), p: limit.Params{Limit: 0, WindowMS: 1000}, cost: 1}
		asked := []asking{
			{"1", []counter{shared}},
			{"2", []counter{shared, bucket}},
			{"3", []counter{own}},
			{"4", []counter{shared, full}},
			{"5", []counter{own, bucket}},
		}
		if err := rdb.ConfigSet(ctx, set[0], set[1]).Err(); err != nil {
			t.Fatal(err)
		}
		verdicts, errs, err := c.tryAll(epoch, asked)
		if err := rdb.ConfigSet(ctx, set[0], "0").Err(); err != nil {
			t.Fatal(err)
		}
		if err != nil {
			// It doesn't even begin: not with too few replicas, nor, up to version 6,
			// without memory.
			if !strings.HasPrefix(err.Error(), name) {
				t.Error(err)
			}
			continue
		}
		for i := range asked {
			switch {
			case i == 3:
				if errs[i] != nil || verdicts[i].admitted {
					t.Errorf("%s: request 4: %+v, %v", name, verdicts[i], errs[i])
				}
			case errs[i] == nil || !strings.HasPrefix(errs[i].Error(), name):
				t.Errorf("%s: request %d: %+v, %v", name, i+1, verdicts[i], errs[i])
			}
		}
		if n := rdb.Exists(ctx, shared.key, bucket.key, own.key).Val(); n != 0 {
			t.Errorf("%s: %d counters are charged", name, n)
		}
	}
}

// Keys that requests have in common are read and written once a call.
func TestACallReadsWhatIsSharedOnce(t *testing.T) {
	rdb := client(t)
	for _, alg := range withShort {
		c := newCaller(t, rdb, alg)
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: limit.Params{Limit: 1_000_000, WindowMS: 60_000, Calendar: &limit.Calendar{Unit: limit.Hour}}, cost: 1}
		c.call(-1, "r", k)
		var all []asking
		for i := range 10 {
			all = append(all, asking{fmt.Sprint(i), []counter{k}})
		}
		before := commands(t, rdb)
		v, errs, err := c.tryAll(-1, all)
		if err != nil || errs[9] != nil || v[9].counters[0].Current < 10 {
			t.Fatalf("%s: %v, %+v", alg.Name, err, v)
		}
		// EVALSHA, TIME, a read, a write, and INFO.
		if n := commands(t, rdb) - before; n != 5 {
			t.Errorf("%s: %d commands for 10 requests", alg.Name, n)
		}
	}
}

// commands is how many commands Redis has carried out, those in scripts included.
func commands(t *testing.T, rdb *redis.Client) int {
	t.Helper()
	for line := range strings.Lines(rdb.Info(ctx, "stats").Val()) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), "total_commands_processed:"); ok {
			count, err := strconv.Atoi(n)
			if err != nil {
				t.Fatal(err)
			}
			return count
		}
	}
	t.Fatal("Redis doesn't say")
	return 0
}
