package playground

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/engine"
	"sluice/internal/source/sourcetest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/redisproto"
)

// decide sends the call that the plugin would send for a request.
func decide(t *testing.T, rdb *redis.Client, e *engine.Engine, r *sourcetest.Request) {
	t.Helper()
	var plan engine.Plan
	e.Plan(r.View(&e.Policy().Source), &plan)
	d := redisproto.NewDecoder(redisproto.Limits{MaxElems: 1000, MaxBulk: 1 << 20, MaxBuffered: 1 << 21})
	d.Feed(e.AppendCommand(nil, &plan, []byte("id"), nowUS(), true))
	v, ok, err := d.Next()
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	var args []any
	for _, e := range v.Elems {
		args = append(args, string(e.Str))
	}
	if err := rdb.Do(t.Context(), args...).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestCountersAreReadAndNotChanged(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	policy := policyOf(t, `
limits:
- {name: log, key: header:x-key, rate: 5/min}
- {name: bucket, key: header:x-key, rate: 10/min, algorithm: token_bucket, burst: 4}
- {name: two, rate: [30/s, 100/hour], algorithm: fixed_window}
- {name: quota, rate: 9/day, algorithm: calendar, timezone: Europe/Berlin}
- {name: slots, rate: 0/s, algorithm: fixed_window, match: {path: /never}}
- {name: tagged, key: header:x-key, hash_tag: host, rate: 7/min, algorithm: sliding_counter}
`)
	e := engine.New(policy)
	for i := range 3 {
		decide(t, rdb, e, sourcetest.New("h/", "x-key", "a"))
		if i == 0 {
			decide(t, rdb, e, sourcetest.New("h/", "x-key", "b"))
		}
	}
	before, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	c := newCounters(rdb)
	var got []CounterState
	for range 20 { // looking often changes nothing
		if got, err = c.look(t.Context(), policy); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string][]string{
		"log":      {"a 3 2 of 5", "b 1 4 of 5"},
		"bucket":   {"a 3 1 of 4", "b 1 3 of 4"},
		"two-1h":   {" 4 96 of 100"},
		"quota":    {" 4 5 of 9"},
		"slots":    {},
		"tagged":   {"a 3 4 of 7", "b 1 6 of 7"},
		"two-1s":   nil, // may be over by now
		"two-1000": nil,
	}
	for _, s := range got {
		var shown []string
		for _, k := range s.Top {
			shown = append(shown, fmt.Sprintf("%s %d %d of %d", k.Key, k.Current, k.Remaining, s.Quota))
		}
		if w := want[s.Name]; w != nil && fmt.Sprint(w) != fmt.Sprint(shown) {
			t.Errorf("%s: %q, expected %q", s.Name, shown, w)
		}
	}
	if len(got) != 7 {
		t.Errorf("%d rates", len(got))
	}
	after, err := rdb.Keys(t.Context(), "*").Result()
	if err != nil || len(after) > len(before) {
		t.Errorf("keys were %q and are %q (%v)", before, after, err)
	}
}

// However many keys there are, only so many are asked about.
func TestManyCounters(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	policy := policyOf(t, "limits: [{name: a, key: header:x-key, rate: 5/min}]\n")
	e := engine.New(policy)
	for i := range 3 * maxKeys {
		decide(t, rdb, e, sourcetest.New("h/", "x-key", fmt.Sprint("k", i)))
	}
	c := newCounters(rdb)
	got, err := c.look(t.Context(), policy)
	if err != nil {
		t.Fatal(err)
	}
	if s := got[0]; s.Keys != maxKeys || !s.More || len(s.Top) != maxTop {
		t.Errorf("%d keys, more %v, top %d", s.Keys, s.More, len(s.Top))
	}
	if len(c.known) > 2*maxKeys {
		t.Errorf("it remembers %d", len(c.known))
	}
	if _, err := c.look(t.Context(), policyOf(t, "redis: {prefix: other}\nlimits: [{name: a, rate: 1/s}]\n")); err != nil || len(c.known) != 0 {
		t.Errorf("after a change it remembers %d (%v)", len(c.known), err)
	}
}

// A key that holds something else is passed over.
func TestForeignKeys(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	policy := policyOf(t, "limits: [{name: a, key: header:x-key, rate: 5/min}]\n")
	rdb.HSet(t.Context(), "rl:{a|hash}:log1", "f", "v")
	rdb.Set(t.Context(), "rl:{a|}:log1", "rubbish", 0)
	rdb.Set(t.Context(), "rl:{", "rubbish", 0)
	decide(t, rdb, engine.New(policy), sourcetest.New("h/", "x-key", "k"))
	got, err := newCounters(rdb).look(t.Context(), policy)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, k := range got[0].Top {
		found = found || k.Key == "k" && k.Current == 1
	}
	if !found {
		t.Errorf("got %+v", got)
	}
}

func TestCountersWithoutRedis(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	ctx, cancel := context.WithTimeout(t.Context(), redisTimeout)
	defer cancel()
	if _, err := newCounters(rdb).look(ctx, policyOf(t, "limits: []\n")); err == nil {
		t.Error("no error")
	}
}

func TestQuantile(t *testing.T) {
	// 10 up to 100, 10 more up to 200, none up to 500, 5 above.
	counts := map[float64]float64{100: 10, 200: 20, 500: 20}
	below := func(b float64) float64 { return counts[b] }
	for q, want := range map[float64]float64{0.2: 50, 0.4: 100, 0.6: 150, 0.8: 200, 0.99: 500} {
		got := quantileOf([]float64{500, 100, 200}, q*25, below)
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v is %v, expected %v", q, got, want)
		}
	}
	if got := quantileOf(nil, 1, below); got != 0 {
		t.Errorf("without buckets: %v", got)
	}
}

func TestDifference(t *testing.T) {
	before := stack.Stats{`n{a="1"}`: 5, `n{a="2"}`: 9}
	d := difference{now: stack.Stats{`n{a="1"}`: 8, `n{a="2"}`: 4, `n{a="3"}`: 1}, before: before, seconds: 2}
	for value, want := range map[string]float64{"1": 1.5, "2": 2, "3": .5, "4": 0} { // 2 was started anew
		if got := d.rate("n", map[string]string{"a": value}); got != want {
			t.Errorf("%s: %v, expected %v", value, got, want)
		}
	}
	if got := (difference{now: d.now, seconds: 2}).rate("n", nil); got != 0 {
		t.Errorf("without a sample before: %v", got)
	}
}
