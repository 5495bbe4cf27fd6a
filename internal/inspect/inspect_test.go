package inspect_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/inspect"
	"sluice/internal/scan"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/redisproto"
)

const limits = `
limits:
- {name: per-ip, key: ip, rate: 3/min, algorithm: fixed_window}
- name: per-user
  key: header:x-user-id or ip
  rate: [5/min, 100/hour]
  overrides: [{when: {header:x-user-id: vip}, rate: [50/min, 100/hour]}]
- {name: bucket, match: {path: /b}, rate: 10/min, algorithm: token_bucket}
- {name: sits-out, match: {path: /p}, key: ip, rate: 1/min, penalty: 5min}
- {name: two, match: {path: /two}, key: [method, header:x-tenant], rate: 9/min, algorithm: sliding_counter}
- {name: slots, match: {path: /slots}, algorithm: concurrency, max: 2}
- {name: audit, match: {path: /audit}, rate: 9/min, storage: zset}
`

func parse(t *testing.T, text string) *config.Policy {
	t.Helper()
	p, problems := yamlconfig.Parse([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// hit sends a request n times through the engine, as the plugin does; on a
// cluster each limit goes alone.
func hit(t *testing.T, rdb redis.UniversalClient, p *config.Policy, n int, path, ip string, headers ...string) {
	t.Helper()
	r, err := explain.NewRequest("GET", path)
	if err != nil {
		t.Fatal(err)
	}
	from, _ := source.Parse("ip")
	if !r.Set(from, ip) {
		t.Fatal(ip)
	}
	for i := 0; i < len(headers); i += 2 {
		if err := r.AddHeader(headers[i], headers[i+1]); err != nil {
			t.Fatal(err)
		}
	}
	e := engine.New(p)
	for i := range n {
		var d engine.Decision
		var v source.View
		v.Reset(r, &p.Source)
		if d.Start(e, &v) != engine.Send {
			t.Fatal("no limit matches")
		}
		dec := redisproto.NewDecoder(redisproto.Limits{})
		dec.Feed(d.AppendCommand(nil, fmt.Appendf(nil, "id-%s-%d", path, i), time.Now().UnixMicro()))
		c, _, err := dec.Next()
		if err != nil {
			t.Fatal(err)
		}
		args := []any{"EVAL", e.Script().Source}
		for _, w := range c.Elems[2:] {
			args = append(args, string(w.Str))
		}
		if err := rdb.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func all(t *testing.T, rdb redis.UniversalClient, o inspect.Options) *inspect.Report {
	t.Helper()
	o.Pacer = &scan.Pacer{Share: 1}
	if o.Top == 0 {
		o.Top = 50
	}
	r, err := inspect.New(o).All(t.Context(), rdb)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func find(t *testing.T, r *inspect.Report, key string) inspect.Usage {
	t.Helper()
	for _, u := range r.Top {
		if u.Key == key {
			return u
		}
	}
	t.Fatalf("no %s among %+v", key, r.Top)
	return inspect.Usage{}
}

func prepared(t *testing.T) (*stack.Redis, *redis.Client, *config.Policy) {
	t.Helper()
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	p := parse(t, limits)
	hit(t, rdb, p, 5, "/x", "10.0.0.1")
	hit(t, rdb, p, 2, "/x", "10.0.0.2", "x-user-id", "u|1")
	hit(t, rdb, p, 1, "/x", "10.0.0.3", "x-user-id", "vip")
	hit(t, rdb, p, 2, "/b", "10.0.0.4")
	hit(t, rdb, p, 3, "/p", "10.0.0.5")
	hit(t, rdb, p, 1, "/two", "10.0.0.6")
	hit(t, rdb, p, 1, "/slots", "10.0.0.7")
	hit(t, rdb, p, 2, "/audit", "10.0.0.8")
	return server, rdb, p
}

func TestWithAConfiguration(t *testing.T) {
	_, rdb, p := prepared(t)
	r := all(t, rdb, inspect.Options{Policy: p})
	if len(r.Faults) > 0 {
		t.Errorf("faults: %+v", r.Faults)
	}
	if u := find(t, r, "rl:{per-ip|10.0.0.1}:fix1"); u.Current != 3 || !u.Rejected || u.RetryAfterMS <= 0 || u.RetryAfterMS > 60_000 || u.Limit != 3 || u.Rate != "3/min" {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{per-user-1min|u%7C1}:log1"); u.Current != 2 || u.Rejected || u.Remaining != 3 || !slices.Equal(u.Values, []string{"u|1"}) {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{per-user-1min|vip}:log1"); u.Limit != 50 {
		t.Errorf("the override isn't applied: %+v", u)
	}
	if u := find(t, r, "rl:{per-user-1h|%+b10.0.0.1}:log1"); u.Values[0] != "10.0.0.1" || u.Limit != 100 {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{sits-out|10.0.0.5}:pen1"); !u.Rejected || u.RetryAfterMS < 290_000 {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{two|GET|%-}:sub1"); u.Current != 1 || u.Values[1] != "(missing)" {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{slots|}:hold1"); u.Current != 1 || u.Remaining != 1 {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{audit|}:zlog1"); u.Current != 2 || u.Remaining != 7 {
		t.Errorf("%+v", u)
	}
	if u := find(t, r, "rl:{bucket|}:tok1"); u.Current != 2 || u.Limit != 10 {
		t.Errorf("%+v", u)
	}
	for i := 1; i < len(r.Top); i++ {
		if r.Top[i].Rejected && !r.Top[i-1].Rejected {
			t.Error("one that rejects stands behind one that doesn't")
		}
	}
	for _, l := range r.Limits {
		if l.Counter == "per-ip" && (l.Keys != 8 || l.Rejected != 1 || l.Bytes == 0 || l.Rate != "3/min") {
			t.Errorf("%+v", l)
		}
	}
}

// Without a configuration counts are the same; limits are unknown.
func TestWithoutAConfiguration(t *testing.T) {
	_, rdb, p := prepared(t)
	with, without := all(t, rdb, inspect.Options{Policy: p}), all(t, rdb, inspect.Options{})
	if with.Keys != without.Keys || len(with.Top) != len(without.Top) || len(without.Faults) > 0 {
		t.Errorf("%d and %d keys, faults %+v", with.Keys, without.Keys, without.Faults)
	}
	for _, u := range without.Top {
		v := find(t, with, u.Key)
		if u.Current != v.Current && u.Rate != "penalty" {
			t.Errorf("%s: %d without the configuration, %d with it", u.Key, u.Current, v.Current)
		}
		if u.Rejected && u.Rate != "penalty" || u.Limit != 0 {
			t.Errorf("%+v", u)
		}
	}
}

func TestPicking(t *testing.T) {
	_, rdb, p := prepared(t)
	for _, policy := range []*config.Policy{p, nil} {
		r := all(t, rdb, inspect.Options{Policy: policy, Limit: "per-user"})
		if len(r.Limits) != 2 || r.Limits[0].Counter != "per-user-1h" {
			t.Errorf("%+v", r.Limits)
		}
		if r := all(t, rdb, inspect.Options{Policy: policy, Limit: "per"}); r.Keys != 0 {
			t.Errorf("a part of a name finds %+v", r.Limits)
		}
	}
	if r := all(t, rdb, inspect.Options{Pattern: "rl:{per-ip|10.0.0.[12]}*"}); r.Keys != 2 {
		t.Errorf("%d keys", r.Keys)
	}
	if r := all(t, rdb, inspect.Options{Top: 2}); len(r.Top) != 2 || r.Keys < 10 {
		t.Errorf("%d of %d", len(r.Top), r.Keys)
	}
}

func TestKeys(t *testing.T) {
	_, rdb, p := prepared(t)
	keys := func(limit string, values []string) (*inspect.Report, error) {
		return inspect.New(inspect.Options{Policy: p, Top: 50}).Key(t.Context(), rdb, limit, values)
	}
	for _, c := range []struct {
		limit string
		key   []string
		want  int
	}{
		{"per-ip", []string{"10.0.0.1"}, 1}, {"per-user", []string{"u|1"}, 2}, {"per-user", []string{"vip"}, 2}, {"per-user", []string{"10.0.0.1"}, 2},
		{"two", []string{"GET", "(missing)"}, 1}, {"bucket", nil, 1}, {"sits-out", []string{"10.0.0.5"}, 2}, {"per-ip", []string{"nobody"}, 0},
		{"two", []string{"GET"}, -1}, {"ghost", []string{"x"}, -1}, {"bucket", []string{"x"}, -1},
	} {
		r, err := keys(c.limit, c.key)
		if c.want < 0 {
			if err == nil {
				t.Errorf("%s %s: %+v", c.limit, c.key, r.Top)
			}
			continue
		}
		if err != nil || len(r.Top) != c.want {
			t.Errorf("%s %s: %+v %v", c.limit, c.key, r, err)
		}
	}
}

// Values that were hashed are found by the secret.
func TestHashedKeys(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	p := parse(t, "hash_keys: true\nhash_secret_env: S\nlimits: [{name: a, key: header:x-user-id, rate: 5/min}]")
	p.SetHashSecret([]byte("secret"))
	hit(t, rdb, p, 2, "/", "10.0.0.1", "x-user-id", "u1")
	r, err := inspect.New(inspect.Options{Policy: p, Top: 5}).Key(t.Context(), rdb, "a", []string{"u1"})
	if err != nil || len(r.Top) != 1 || r.Top[0].Current != 2 || strings.Contains(r.Top[0].Values[0], "u1") {
		t.Errorf("%+v %v", r, err)
	}
}

// Only reading commands are sent, never KEYS, and a whole walk is few round
// trips.
func TestReadsOnlyAndByScan(t *testing.T) {
	server, rdb, p := prepared(t)
	for i := range 500 {
		hit(t, rdb, p, 1, "/x", fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	stop := stacktest.Monitor(t, server.Addr)
	all(t, rdb, inspect.Options{Policy: p})
	counts := map[string]int{}
	for _, name := range stop() {
		counts[name]++
	}
	for name := range counts {
		switch name {
		case "SCAN", "TYPE", "PTTL", "MEMORY", "GETRANGE", "ZRANGE", "EVALSHA", "EVAL", "TIME", "GET", "ZCARD", "ZCOUNT", "ZSCORE", "HELLO":
		default:
			t.Errorf("%s was sent", name)
		}
	}
	if counts["SCAN"] == 0 || counts["SCAN"] > 100 || counts["EVAL"] > 30 {
		t.Errorf("%v", counts)
	}
}

// Pauses between the steps leave Redis its time.
func TestShare(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	p := parse(t, limits)
	for i := range 200 {
		hit(t, rdb, p, 1, "/x", fmt.Sprintf("10.1.%d.%d", i/250, i%250))
	}
	var slept, busy time.Duration
	clock := time.Unix(0, 0)
	pacer := &scan.Pacer{
		Share: 0.1,
		Now:   func() time.Time { clock = clock.Add(time.Millisecond); busy += time.Millisecond; return clock },
		Sleep: func(_ context.Context, d time.Duration) error { slept += d; busy -= time.Millisecond; return nil },
	}
	if _, err := inspect.New(inspect.Options{Policy: p, Top: 5, Pacer: pacer}).All(t.Context(), rdb); err != nil {
		t.Fatal(err)
	}
	if share := float64(busy) / float64(busy+slept); share > 0.101 || slept == 0 {
		t.Errorf("took %.3f of the time: %s busy, %s asleep", share, busy, slept)
	}
}

func TestOnACluster(t *testing.T) {
	c := stacktest.RedisCluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Nodes[0].Addr}, Protocol: 2, DisableIdentity: true})
	defer rdb.Close()
	p := parse(t, "limits: [{name: a, key: ip, rate: 2/min}]")
	for i := range 60 {
		hit(t, rdb, p, 2, "/x", fmt.Sprintf("10.0.0.%d", i))
	}
	r := all(t, rdb, inspect.Options{Policy: p, Top: 100})
	if r.Keys != 60 || len(r.Top) != 60 || r.Limits[0].Rejected != 60 {
		t.Errorf("%d keys, %d shown, %+v", r.Keys, len(r.Top), r.Limits)
	}
	one, err := inspect.New(inspect.Options{Policy: p, Top: 5}).Key(t.Context(), rdb, "a", []string{"10.0.0.7"})
	if err != nil || len(one.Top) != 1 || !one.Top[0].Rejected {
		t.Errorf("%+v %v", one, err)
	}
}

func TestValues(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a|b": "a,b", "%-": "(missing)", "%+bx": "x", "a%7Cb": "a|b", "%C3%A4": "ä", "%1B[2J": "%1B[2J", "%~0011": "%~0011", "%=AB": "%=AB", "%FF": "%FF", "%4": "%4",
	} {
		if got := strings.Join(inspect.Values(in), ","); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
