package operate

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/override"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

var ctx = context.Background()

const configuration = `
redis: {prefix: p-}
limits:
- {name: per-ip, key: ip, rate: 10/s, penalty: 5s}
- {name: per-net, key: "ip/24,56", rate: 10/s}
- {name: per-user, key: [header:x-user, "header:x-key or ip"], rate: [5/s, 100/hour]}
- {name: all, rate: 5/s}
- {name: slots, algorithm: concurrency, max: 5}
`

func operator(t *testing.T, c redis.UniversalClient, withConfig bool) *Operator {
	t.Helper()
	o := &Operator{Redis: c, Prefix: "p-"}
	if withConfig {
		p, problems := yamlconfig.Parse([]byte(configuration))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		o.Policy = p
	}
	return o
}

// servers are what the scripts run on.
func servers(t *testing.T, f func(t *testing.T, c redis.UniversalClient)) {
	t.Run("redis", func(t *testing.T) {
		c := stacktest.Redis(t, stack.RedisOptions{}).Client()
		t.Cleanup(func() { _ = c.Close() })
		f(t, c)
	})
	t.Run("miniredis", func(t *testing.T) {
		c := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr(), Protocol: 2})
		t.Cleanup(func() { _ = c.Close() })
		f(t, c)
	})
}

func TestSetListUnset(t *testing.T) {
	servers(t, func(t *testing.T, c redis.UniversalClient) {
		o := operator(t, c, true)
		ip, err := o.Target("per-ip", []string{"10.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		before := time.Now()
		until, n, replaced, err := o.Set(ctx, ip, override.Spec{Kind: override.Block}, time.Hour)
		if err != nil || n != 1 || replaced != "" || until.Before(before.Add(time.Hour-time.Second)) || until.After(time.Now().Add(time.Hour+time.Second)) {
			t.Fatalf("set: until %v, %d, %q, %v", until, n, replaced, err)
		}
		_, n, replaced, err = o.Set(ctx, ip, override.Spec{Kind: override.Rate, Rates: []string{"5/s"}, Burst: 0}, time.Minute)
		if err != nil || n != 1 || replaced != "block" {
			t.Fatalf("set again: %d, %q, %v", n, replaced, err)
		}
		if _, n, _, err = o.Set(ctx, override.Target{Name: "all"}, override.Spec{Kind: override.Pool, N: 9}, 2*time.Hour); err != nil || n != 2 {
			t.Fatalf("a second: %d, %v", n, err)
		}
		if ttl := c.PTTL(ctx, override.Key("p-")).Val(); ttl < 2*time.Hour-time.Minute || ttl > 2*time.Hour+time.Minute {
			t.Errorf("the hash expires in %v", ttl)
		}
		held, now, skipped, err := o.List(ctx)
		if err != nil || len(held) != 2 || skipped != 0 || time.Since(now).Abs() > time.Minute {
			t.Fatalf("list: %+v, %v, %d, %v", held, now, skipped, err)
		}
		if held[0].Field != "all" || held[0].Entry.Spec.String() != "pool 9" || held[1].Entry.Values != "10.0.0.1" || held[1].Entry.Spec.String() != "rate 5/s" {
			t.Errorf("list: %+v", held)
		}
		for _, want := range []bool{true, false} {
			if was, err := o.Unset(ctx, ip); err != nil || was != want {
				t.Errorf("unset: %v, %v, want %v", was, err, want)
			}
		}
		if was, err := o.UnsetAll(ctx); err != nil || !was {
			t.Errorf("unset all: %v, %v", was, err)
		}
		if held, _, _, err := o.List(ctx); err != nil || len(held) != 0 {
			t.Errorf("after all: %+v, %v", held, err)
		}
	})
}

// What ended, and what nobody can read, goes with the next set; gateways don't
// read it before either.
func TestEndedAndMalformedEntries(t *testing.T) {
	servers(t, func(t *testing.T, c redis.UniversalClient) {
		o := operator(t, c, false)
		c.HSet(ctx, override.Key("p-"), "a", "1000 block", "b", "nonsense", "c", "4400000000000 blok", "d\n", "4400000000000 block", "e", "4400000000000 block")
		held, _, skipped, err := o.List(ctx)
		if err != nil || skipped != 2 || len(held) != 2 || held[0].Problem == nil || held[1].Problem != nil {
			t.Errorf("list: %+v, %d, %v", held, skipped, err)
		}
		if _, n, _, err := o.Set(ctx, override.Target{Name: "f"}, override.Spec{Kind: override.Block}, time.Minute); err != nil || n != 4 {
			t.Errorf("set: %d, %v", n, err)
		}
		if n := c.HLen(ctx, override.Key("p-")).Val(); n != 4 {
			t.Errorf("%d fields are left", n)
		}
	})
}

func TestBoundsOfTheList(t *testing.T) {
	servers(t, func(t *testing.T, c redis.UniversalClient) {
		o := operator(t, c, false)
		p := c.Pipeline()
		for i := range override.MaxEntries {
			p.HSet(ctx, override.Key("p-"), fmt.Sprint("k", i), "4400000000000 block")
		}
		if _, err := p.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if held, _, skipped, err := o.List(ctx); err != nil || len(held) != override.MaxEntries || skipped != 0 {
			t.Errorf("%d listed, %d skipped, %v", len(held), skipped, err)
		}
		if _, _, _, err := o.Set(ctx, override.Target{Name: "one-more"}, override.Spec{Kind: override.Block}, time.Minute); err == nil || !strings.Contains(err.Error(), "1000 overrides") {
			t.Errorf("one more: %v", err)
		}
		if _, _, _, err := o.Set(ctx, override.Target{Name: "k7"}, override.Spec{Kind: override.Shadow}, time.Minute); err != nil {
			t.Errorf("one of them: %v", err)
		}
		// Somebody fills the hash: a poll reads a bounded part of it.
		p = c.Pipeline()
		for i := range 20_000 {
			p.HSet(ctx, override.Key("p-"), fmt.Sprint("x", i), "4400000000000 block")
		}
		if _, err := p.Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if held, _, skipped, err := o.List(ctx); err != nil || len(held) > override.MaxEntries || skipped == 0 {
			t.Errorf("%d listed, %d skipped, %v", len(held), skipped, err)
		}
		if _, _, _, err := o.Set(ctx, override.Target{Name: "k7"}, override.Spec{Kind: override.Block}, time.Minute); err == nil || !strings.Contains(err.Error(), "4000 fields") {
			t.Errorf("set: %v", err)
		}
	})
}

func TestTargets(t *testing.T) {
	o := operator(t, nil, true)
	for _, x := range []struct {
		name  string
		parts []string
		field string // or, behind "!", what the error says
	}{
		{"per-ip", nil, "per-ip"},
		{"per-ip", []string{"10.0.0.1"}, "per-ip|10.0.0.1"},
		{"per-ip", []string{"::ffff:10.0.0.1"}, "per-ip|10.0.0.1"},
		{"per-ip", []string{"2001:DB8:0::1"}, "per-ip|2001%3Adb8%3A%3A1"},
		{"per-ip", []string{"localhost"}, "!no address"},
		{"per-ip", []string{Missing}, "per-ip|%-"},
		{"per-ip", []string{""}, "!no address"},
		{"per-net", []string{"10.1.2.3"}, "per-net|10.1.2.0/24"},
		{"per-net", []string{"10.1.2.0/24"}, "per-net|10.1.2.0/24"},
		{"per-net", []string{"2001:db8::1"}, "per-net|2001%3Adb8%3A%3A/56"},
		{"per-user", []string{"u 1", "header:x-key=a|b"}, "per-user|u%201|a%7Cb"},
		{"per-user", []string{"u", "ip=10.0.0.1"}, "per-user|u|%+b10.0.0.1"},
		{"per-user", []string{"u", "10.0.0.1"}, "!header:x-key=10.0.0.1 or ip=10.0.0.1"},
		{"per-user", []string{"", "ip=10.0.0.1"}, "!part 1 of the key is empty"},
		{"per-user", []string{"u"}, "!has 2 parts (header:x-user, header:x-key or ip), and 1 are given"},
		{"per-user-1h", nil, "per-user-1h"},
		{"all", []string{"x"}, "!has no key"},
		{"per-ipp", nil, "!did you mean per-ip?"},
		{"something", nil, "!it has all, per-ip, "},
	} {
		got, err := o.Target(x.name, x.parts)
		if says, wrong := strings.CutPrefix(x.field, "!"); wrong {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s %q: %+v, %v, want …%s…", x.name, x.parts, got, err, says)
			}
		} else if err != nil || got.Field() != x.field {
			t.Errorf("%s %q: %q, %v, want %q", x.name, x.parts, got.Field(), err, x.field)
		}
	}
	// Without a configuration anything that could be a limit is one.
	o.Policy = nil
	if got, err := o.Target("x", []string{"a b", Missing, "c"}); err != nil || got.Field() != "x|a%20b|%-|c" {
		t.Errorf("%q, %v", got.Field(), err)
	}
	for _, name := range []string{"", "a b", "a:b", "a{", "ü"} {
		if got, err := o.Target(name, nil); err == nil {
			t.Errorf("%q is %+v", name, got)
		}
	}
}

func TestCheck(t *testing.T) {
	o := operator(t, nil, true)
	rate := func(text ...string) override.Spec { return override.Spec{Kind: override.Rate, Rates: text} }
	for _, x := range []struct {
		name string
		spec override.Spec
		says string // "" for nothing
	}{
		{"per-ip", rate("5/s"), ""}, {"per-ip", rate("5/s", "9/min"), ""},
		{"per-ip", rate("5"), "is not a rate"}, {"per-ip", rate("5/s", "9/s"), "one window"},
		{"per-ip", override.Spec{Kind: override.Rate, Rates: []string{"5/s"}, Burst: 9}, "takes no burst"},
		{"per-ip", override.Spec{Kind: override.Max, N: 5}, "takes rate, not max"},
		{"slots", override.Spec{Kind: override.Max, N: 5}, ""}, {"slots", rate("5/s"), "takes max, not rate"},
		{"slots", override.Spec{Kind: override.Pool, N: 5}, "has no pool"},
		{"per-user-1h", rate("50/hour"), ""}, {"per-user-1h", rate("50/min"), "can't be changed"},
		{"per-user-1h", override.Spec{Kind: override.Block}, "one window"},
	} {
		err := o.Check(override.Target{Name: x.name}, x.spec)
		if x.says == "" && err != nil || x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)) {
			t.Errorf("%s %s: %v, want …%s…", x.name, x.spec, err, x.says)
		}
	}
}

func TestReset(t *testing.T) {
	servers(t, func(t *testing.T, c redis.UniversalClient) {
		keep := []string{
			"p-:{per-ip-x|10.0.0.1}:log1", "p-:{other|10.0.0.1}:log1", "pq:{per-ip|10.0.0.1}:log1", "p-:{gateways}:beat1",
			"p-:{sluice}:set1", "p-:{per-ip", "p-:{per-ip|", "unrelated", "p-:{per-ips|10.0.0.1}:log1", "p-:{per-ip-1hour|1}:log1",
		}
		mine := []string{"p-:{per-ip|10.0.0.1}:log1", "p-:{per-ip|10.0.0.1}:pen1", "p-:{per-ip|10.0.0.1}:pool1"}
		more := []string{"p-:{per-ip|10.0.0.2}:log1", "p-:{per-ip-1h|10.0.0.1}:log1", "p-:{tag}:per-ip|10.0.0.9:log1"}
		fill := func() {
			for _, k := range append(append(append([]string{}, keep...), mine...), more...) {
				if err := c.Set(ctx, k, "x", 0).Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		one := override.Target{Name: "per-ip", Keyed: true, Values: "10.0.0.1"}
		for _, x := range []struct {
			withConfig bool
			target     override.Target
			deleted    int64
		}{
			{true, one, 3}, {false, one, 4}, // with a window of its own, whose name only a walk finds
			{true, override.Target{Name: "per-ip"}, 6}, {false, override.Target{Name: "per-ip"}, 6},
			{false, override.Target{Name: "ghost"}, 0},
		} {
			fill()
			o := operator(t, c, x.withConfig)
			if n, _, err := o.Reset(ctx, x.target, true); err != nil || n != x.deleted {
				t.Errorf("dry, %+v: %d, %v, want %d", x, n, err, x.deleted)
			}
			if n, _, err := o.Reset(ctx, x.target, false); err != nil || n != x.deleted {
				t.Errorf("%+v: %d, %v, want %d", x, n, err, x.deleted)
			}
			if n := c.Exists(ctx, keep...).Val(); n != int64(len(keep)) {
				t.Errorf("%+v: %d of %d others are left", x, n, len(keep))
			}
		}
	})
}

// On a cluster a limit's counters lie on all nodes.
func TestResetOnACluster(t *testing.T) {
	cluster := stacktest.RedisCluster(t, 3)
	var addrs []string
	for _, n := range cluster.Nodes {
		addrs = append(addrs, n.Addr)
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	defer c.Close()
	o := &Operator{Redis: c, Prefix: "rl"}
	for i := range 300 {
		if err := c.Set(ctx, fmt.Sprintf("rl:{a|%d}:log1", i), "x", 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, _, err := o.Set(ctx, override.Target{Name: "a"}, override.Spec{Kind: override.Block}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if held, _, _, err := o.List(ctx); err != nil || len(held) != 1 {
		t.Errorf("list: %v, %v", held, err)
	}
	if n, _, err := o.Reset(ctx, override.Target{Name: "a", Keyed: true, Values: "7"}, false); err != nil || n != 1 {
		t.Errorf("one caller: %d, %v", n, err)
	}
	if n, _, err := o.Reset(ctx, override.Target{Name: "a"}, false); err != nil || n != 299 {
		t.Errorf("all callers: %d, %v", n, err)
	}
}

// Commands that would stop a Redis with many keys are never used.
func TestResetUsesNoKEYS(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	c := server.Client()
	defer c.Close()
	p := c.Pipeline()
	for i := range 5000 {
		p.Set(ctx, fmt.Sprintf("rl:{a|%d}:log1", i), "x", 0)
	}
	if _, err := p.Exec(ctx); err != nil {
		t.Fatal(err)
	}
	o := &Operator{Redis: c, Prefix: "rl"}
	if n, _, err := o.Reset(ctx, override.Target{Name: "a"}, false); err != nil || n != 5000 {
		t.Errorf("%d, %v", n, err)
	}
	stats := c.Info(ctx, "commandstats").Val()
	for _, never := range []string{"cmdstat_keys:", "cmdstat_del:", "cmdstat_flushdb:"} {
		if strings.Contains(stats, never) {
			t.Errorf("%s was used", never)
		}
	}
	if !strings.Contains(stats, "cmdstat_scan:") || !strings.Contains(stats, "cmdstat_unlink:") {
		t.Error("the test lost its grip")
	}
}
