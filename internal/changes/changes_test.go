package changes_test

import (
	"strings"
	"testing"

	"sluice/internal/changes"
	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
)

func parse(t *testing.T, text string) *config.Policy {
	t.Helper()
	p, problems := yamlconfig.Parse([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

func TestBetween(t *testing.T) {
	const base = "{name: a, key: ip, rate: 5/s}"
	for _, c := range []struct{ old, now, want string }{
		{base, base, ""},
		{base, "{name: a, key: ip, rate: 50/s}", "a number"},
		{base, "{name: a, key: ip, rate: 5/min}", "a number what lies within both"},
		{base, "{name: a, key: ip, rate: 5/s, algorithm: fixed_window}", "a empty algorithm sliding_log → fixed_window"},
		{base, "{name: a, key: ip, rate: 5/s, storage: zset}", "a empty storage compact → zset"},
		{base, "{name: a, key: ip/24, rate: 5/s}", "a empty key ip → ip/24"},
		{base, "{name: a, key: [ip, method], rate: 5/s}", "a empty key ip → ip, method"},
		{base, "{name: a, rate: 5/s}", "a empty key ip → none"},
		{base, "{name: b, key: ip, rate: 5/s}", "b added|a removed"},
		{base, "{name: a, key: ip, rate: 5/s, shadow: true}", "a other shadow false → true"},
		{base, "{name: a, key: ip, rate: 5/s, match: {path: /x}}", "a other match none → path: /x"},
		{base, "{name: a, key: ip, rate: 5/s, enforce: 25%}", "a other enforce 100% → 25%"},
		{base, "{name: a, key: ip, rate: 5/s, overrides: [{when: {ip: 10.0.0.1}, rate: 9/s}]}", "a number overrides"},
		{base, "{name: a, key: ip, rate: [5/s, 9/min]}", "a empty rate 5/s has|a empty rate 9/min has|a removed rate 5/s"},
		{"{name: a, rate: [5/s, 9/min]}", "{name: a, rate: [6/s, 9/min]}", "a number rate 5/s → 6/s"},
		{"{name: a, rate: 5/s, algorithm: token_bucket, burst: 5}", "{name: a, rate: 5/s, algorithm: token_bucket, burst: 9}", "a number another burst"},
		{"{name: a, rate: 5/day, algorithm: calendar}", "{name: a, rate: 5/day, algorithm: calendar, timezone: Asia/Tokyo}", "a number another burst, wait, hold or time zone"},
	} {
		got := changes.Between(parse(t, "limits: ["+c.old+"]"), parse(t, "limits: ["+c.now+"]"))
		var text []string
		for _, x := range got {
			text = append(text, x.Limit+" "+string(x.Kind)+" "+x.Text)
		}
		want := strings.Split(c.want, "|")
		if c.want == "" {
			want = nil
		}
		ok := len(got) == len(want)
		for i := range want {
			ok = ok && strings.HasPrefix(text[i], want[i][:2]) && contains(text[i], want[i])
		}
		if !ok {
			t.Errorf("%s → %s:\ngot  %q\nwant %q", c.old, c.now, text, want)
		}
	}
}

// contains reports whether all words of want are in text.
func contains(text, want string) bool {
	for _, w := range strings.Fields(want) {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

func TestAllStartEmpty(t *testing.T) {
	old := parse(t, "limits: [{name: a, key: ip, rate: 5/s}]")
	for _, text := range []string{"redis: {prefix: x}", "redis: {db: 3}"} {
		got := changes.Between(old, parse(t, text+"\nlimits: [{name: a, key: ip, rate: 5/s}]"))
		if len(got) != 1 || got[0].Kind != changes.Empty || got[0].Limit != "" {
			t.Errorf("%s: %+v", text, got)
		}
	}
	got := changes.Between(old, parse(t, "hash_keys: true\nhash_secret_env: S\nlimits: [{name: a, key: ip, rate: 5/s}]"))
	if len(got) != 1 || got[0].Kind != changes.Empty || got[0].Limit != "a" {
		t.Errorf("%+v", got)
	}
}

// What is said to start empty is what has another name in Redis, and only that.
func TestEmptyMeansAnotherKey(t *testing.T) {
	texts := []string{
		"{name: a, key: ip, rate: 5/s}", "{name: a, key: ip, rate: 9/hour}", "{name: a, key: ip, rate: 5/s, storage: zset}",
		"{name: a, key: ip, rate: 5/s, algorithm: fixed_window}", "{name: a, key: ip, rate: 5/s, algorithm: token_bucket}",
		"{name: a, key: ip, rate: 5/s, algorithm: sliding_counter}", "{name: a, key: ip, algorithm: concurrency, max: 3}",
	}
	for _, o := range texts {
		for _, n := range texts {
			old, now := parse(t, "limits: ["+o+"]"), parse(t, "limits: ["+n+"]")
			a, b := &old.Limits[0].Rates[0], &now.Limits[0].Rates[0]
			differ := a.KeyHead != b.KeyHead || a.KeyTail != b.KeyTail
			empty := false
			for _, c := range changes.Between(old, now) {
				empty = empty || c.Kind == changes.Empty
			}
			if differ != empty {
				t.Errorf("%s → %s: keys differ %v, said to be empty %v", o, n, differ, empty)
			}
		}
	}
}
