package luatest

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"sluice/internal/limit"
)

var updateFormats = flag.Bool("update-formats", false, "store what the scripts store now; only together with a new suffix")

// Versions of sluice share a Redis while a fleet is upgraded. What one stores
// another may read, if its keys end in the same suffix: so what is stored under a
// suffix must never change. This test keeps what each suffix stood for; who changes
// a format gives it a new suffix (log1, log2) and adds that here.
func TestStoredFormatsAreThoseOfTheirSuffixes(t *testing.T) {
	file := filepath.Join("testdata", "formats.json")
	text, err := os.ReadFile(file)
	if err != nil && !*updateFormats {
		t.Fatal(err)
	}
	want := map[string][]string{}
	if err == nil {
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
	}
	rdb := client(t)
	got := map[string][]string{}
	for _, alg := range append([]*limit.Algorithm{limit.Penalty}, limit.Algorithms()...) {
		got[alg.Suffix] = formatOf(t, rdb, alg)
		known, ok := want[alg.Suffix]
		if !ok && !*updateFormats {
			t.Errorf("the suffix %s is new: go test ./lua/luatest -run Formats -update-formats", alg.Suffix)
		}
		if d := cmp.Diff(known, got[alg.Suffix]); ok && d != "" {
			t.Errorf("what is stored under %s changed, and older gateways would misread it: give it a new suffix\n%s", alg.Suffix, d)
		}
	}
	if *updateFormats {
		for suffix, stored := range got {
			if _, ok := want[suffix]; !ok {
				want[suffix] = stored // what is known is never overwritten
			}
		}
		b, err := json.MarshalIndent(want, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// formatOf is what an algorithm stores after each of a few calls at fixed times.
func formatOf(t *testing.T, rdb *redis.Client, alg *limit.Algorithm) []string {
	key := "formats:{" + alg.Suffix + "}:" + alg.Suffix
	rdb.Del(ctx, key)
	c, k := newCaller(t, rdb, alg), counter{alg: alg, key: key, p: fivePerMinute}
	if alg == limit.Penalty {
		return formatOfPenalty(t, rdb, key)
	}
	var stored []string
	at := int64(epoch)
	for i, step := range []struct {
		after int64 // us
		cost  int64
	}{{0, 1}, {1, 1}, {70_000, 2}, {20_000_000, 1}, {50_000_000, 3}} {
		k.cost = step.cost
		at += step.after
		c.call(at, "id"+strconv.Itoa(i), k)
		stored = append(stored, content(t, rdb, key))
	}
	return stored
}

// formatOfPenalty is what a penalty stores once its limit has refused.
func formatOfPenalty(t *testing.T, rdb *redis.Client, key string) []string {
	guarded := counter{alg: limit.FixedWindow, key: "formats:{" + limit.Penalty.Suffix + "}:guarded", p: limit.Params{Limit: 1, WindowMS: 60_000}, cost: 1}
	guard := counter{alg: limit.Penalty, key: key, p: limit.Params{Limit: 1, WindowMS: 60_000}}
	rdb.Del(ctx, guarded.key)
	c := newCaller(t, rdb, limit.FixedWindow, limit.Penalty)
	c.call(epoch, "a", guarded, guard)
	if v := c.call(epoch+1, "b", guarded, guard); v.admitted {
		t.Fatal("the second of one is admitted")
	}
	return []string{content(t, rdb, key)}
}

// content is a key's value as it is stored.
func content(t *testing.T, rdb *redis.Client, key string) string {
	switch kind := rdb.Type(ctx, key).Val(); kind {
	case "string":
		return kind + " " + strconv.QuoteToASCII(rdb.Get(ctx, key).Val())
	case "zset":
		var b strings.Builder
		for _, z := range rdb.ZRangeWithScores(ctx, key, 0, -1).Val() {
			fmt.Fprintf(&b, " %s %q", strconv.FormatFloat(z.Score, 'f', -1, 64), z.Member)
		}
		return kind + b.String()
	case "hash":
		return kind + fmt.Sprint(rdb.HGetAll(ctx, key).Val())
	default:
		t.Fatalf("%s is a %s", key, kind)
		return ""
	}
}
