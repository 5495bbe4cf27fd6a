package simulate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"sluice/internal/accesslog"
	"sluice/internal/limit"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/lua"
)

func configure(t testing.TB, text string) *Config {
	t.Helper()
	c, err := LoadConfig("limits.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// loadOf is a load of 60 s with one shape.
func loadOf(t testing.TB, shape string, change func(o *LoadOptions)) Input {
	t.Helper()
	s, err := ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	o := LoadOptions{Shapes: []Shape{s}, For: time.Minute, Method: "GET", Path: "/", Host: "example.com", Keys: 1, Status: 200, Seed: 1}
	if change != nil {
		change(&o)
	}
	in, err := NewLoad(o)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func logOf(t testing.TB, format, text string) Input {
	t.Helper()
	p, err := accesslog.ParseFormat(format, nil)
	if err != nil {
		t.Fatal(err)
	}
	l, err := accesslog.Open(context.Background(), []io.Reader{strings.NewReader(text)}, accesslog.Options{Parser: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return NewLog(l, true)
}

func simulated(t testing.TB, c *Config, in Input, o Options) *Report {
	t.Helper()
	r, err := Simulate(context.Background(), c, in, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// redisServer starts a Redis.
func redisServer(t testing.TB) (*stack.Redis, *Server) {
	t.Helper()
	r := stacktest.Redis(t, stack.RedisOptions{})
	return r, &Server{Network: "tcp", Addr: r.Addr}
}

// keysIn lists what a Redis holds.
func keysIn(t testing.TB, r *stack.Redis) []string {
	t.Helper()
	c := r.Client()
	defer c.Close()
	keys, err := c.Keys(context.Background(), "*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

const tenPerSecond = "limits:\n- {name: per-ip, key: ip, rate: 10/s, algorithm: %s}\n"

// A sliding log never admits more than its limit in any window, and not less
// than a steady load needs.
func TestSlidingLogIsExact(t *testing.T) {
	_, server := redisServer(t)
	for _, shape := range []string{"constant 50/s", "poisson 50/s", "bursts 30 every 700ms", "ramp 0/s to 60/s"} {
		r := simulated(t, configure(t, fmt.Sprintf(tenPerSecond, "sliding_log")), loadOf(t, shape, nil), Options{Server: server})
		l := r.Runs[0].Limits[0]
		if w := l.Worst; w == nil || w.Units != 10 || w.Limit != 10 || !w.Exact || !w.Held {
			t.Errorf("%s: worst window %+v", shape, w)
		}
		if l.Admitted+l.Rejected != l.Requests || l.Rejected == 0 {
			t.Errorf("%s: %+v", shape, l)
		}
	}
	r := simulated(t, configure(t, fmt.Sprintf(tenPerSecond, "sliding_log")), loadOf(t, "constant 10/s", nil), Options{Server: server})
	// 0.1 % of the window is what a tick costs.
	if n := r.Runs[0].Admitted; n < 595 || n > 600 {
		t.Errorf("%d of 600 admitted at just the rate", n)
	}
}

// Around a fixed window's edge twice the limit gets through, and the report says
// so.
func TestFixedWindowAdmitsTwice(t *testing.T) {
	in := loadOf(t, "bursts 10 every 900ms", nil)
	r := simulated(t, configure(t, fmt.Sprintf(tenPerSecond, "sliding_log")), in, Options{Algorithms: []string{"sliding_log", "fixed_window"}})
	for i, want := range []int64{10, 20} {
		if w := r.Runs[i].Limits[0].Worst; w.Units != want || w.Limit != 10 {
			t.Errorf("%s: worst window %+v, want %d", r.Runs[i].Algorithm, w, want)
		}
	}
	var b strings.Builder
	if err := r.Text(&b); err != nil || !strings.Contains(b.String(), "2.00 times the limit") || !strings.Contains(b.String(), "never above, in any window") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

// outcome is a report without what says how it was made.
func outcome(t *rapid.T, r *Report) string {
	b, err := json.MarshalIndent(r.Runs, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The models and the scripts in a real Redis give the same report on any load
// and any limits, and no key stays.
func TestModelsEqualScripts(t *testing.T) {
	redis, server := redisServer(t)
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("limits:\n")
		for i := range rapid.IntRange(1, 4).Draw(t, "limits") {
			fmt.Fprintf(&b, "- name: l%d\n", i)
			b.WriteString(rapid.SampledFrom([]string{"", "  key: ip\n", "  key: [ip, 'header:x-user']\n", "  match: {path: /b}\n"}).Draw(t, "key"))
			alg := rapid.SampledFrom([]string{"sliding_log", "sliding_log\n  storage: zset", "sliding_counter", "fixed_window", "token_bucket\n  burst: 7", "leaky_bucket", "leaky_bucket\n  max_wait: 500ms", "calendar", "concurrency"}).Draw(t, "algorithm")
			switch alg {
			case "concurrency":
				fmt.Fprintf(&b, "  algorithm: concurrency\n  max: %d\n", rapid.IntRange(0, 4).Draw(t, "max"))
			case "calendar":
				fmt.Fprintf(&b, "  algorithm: calendar\n  rate: %d/hour\n", rapid.IntRange(0, 30).Draw(t, "rate"))
			default:
				fmt.Fprintf(&b, "  algorithm: %s\n  rate: %d/%s\n", alg, rapid.IntRange(0, 12).Draw(t, "rate"), rapid.SampledFrom([]string{"s", "250ms", "3s", "min"}).Draw(t, "window"))
			}
			held := alg == "concurrency"
			if !held && rapid.IntRange(0, 3).Draw(t, "settles?") == 0 {
				b.WriteString("  " + rapid.SampledFrom([]string{"settle: {refund_on: {status: [5xx]}}", "settle: {charge_on: {status: [401]}}", "settle: {cost: response_bytes}\n  cost: 2"}).Draw(t, "settle") + "\n")
			} else {
				b.WriteString(rapid.SampledFrom([]string{"", "", "  shadow: true\n", "  cost: 3\n", "  cost: 0\n", "  overrides: [{when: {path: /b}, cost: 2}]\n"}).Draw(t, "more"))
			}
			if !held {
				b.WriteString(rapid.SampledFrom([]string{"", "", "", "  penalty: 2s\n", "  count_rejected: true\n"}).Draw(t, "excess"))
			}
		}
		c, err := LoadConfig("x.yaml", []byte(b.String()))
		if err != nil {
			t.Skip(b.String(), err) // some of these don't go together
		}
		shape, err := ParseShape(rapid.SampledFrom([]string{"poisson 40/s", "bursts 20 every 900ms", "ramp 0/s to 100/s"}).Draw(t, "shape"))
		if err != nil {
			t.Fatal(err)
		}
		in, err := NewLoad(LoadOptions{
			Shapes: []Shape{shape}, For: 10 * time.Second, Method: "GET", Path: rapid.SampledFrom([]string{"/", "/b"}).Draw(t, "path"), Host: "h",
			Headers: []string{"x-user: u{key}"}, Keys: rapid.IntRange(1, 6).Draw(t, "keys"), Seed: rapid.Uint64().Draw(t, "seed"),
			Status: rapid.SampledFrom([]int{200, 401, 503}).Draw(t, "status"), Bytes: rapid.Int64Range(0, 5).Draw(t, "bytes"),
			Took: time.Duration(rapid.SampledFrom([]int{0, 30, 700}).Draw(t, "took")) * time.Millisecond,
		})
		if err != nil {
			t.Fatal(err)
		}
		models, err := Simulate(context.Background(), c, in, Options{Top: 10})
		if err != nil {
			t.Fatal(err)
		}
		scripts, err := Simulate(context.Background(), c, in, Options{Top: 10, Server: server})
		if err != nil {
			t.Fatalf("%s\n%v", b.String(), err)
		}
		if diff := cmp.Diff(outcome(t, models), outcome(t, scripts)); diff != "" {
			t.Fatalf("%s\nmodels - scripts +: %s", b.String(), diff)
		}
	})
	if keys := keysIn(t, redis); len(keys) > 0 {
		t.Errorf("left in Redis: %q", keys)
	}
}

// In a Redis that others use nothing of theirs changes, and a run that is given
// up leaves nothing either.
func TestKeepsOutOfTheWay(t *testing.T) {
	redis, server := redisServer(t)
	c := redis.Client()
	defer c.Close()
	if err := c.Set(t.Context(), "rl:{per-ip|10.0.0.0}:log1", "theirs", 0).Err(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cfg := configure(t, fmt.Sprintf(tenPerSecond, "sliding_log")+"- {name: pen, key: ip, rate: 1/s, penalty: 1h}\n")
	in := loadOf(t, "constant 5000/s", func(o *LoadOptions) { o.Keys = 1000 })
	_, err := Simulate(ctx, cfg, in, Options{Server: server, Progress: func(_ int, n int64) {
		if n > 20_000 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	simulated(t, cfg, loadOf(t, "constant 100/s", nil), Options{Server: server})
	if diff := cmp.Diff([]string{"rl:{per-ip|10.0.0.0}:log1"}, keysIn(t, redis)); diff != "" {
		t.Error(diff)
	}
}

// A Redis that dies ends the run with one sentence.
func TestRedisDies(t *testing.T) {
	redis, server := redisServer(t)
	cfg := configure(t, fmt.Sprintf(tenPerSecond, "sliding_log"))
	_, err := Simulate(t.Context(), cfg, loadOf(t, "constant 5000/s", nil), Options{Server: server, Progress: func(_ int, n int64) {
		if n > 20_000 {
			redis.Kill()
		}
	}})
	var left *LeftError
	if !errors.As(err, &left) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
}

// Redis's clock runs on by itself: every place where a script sets an expiry is
// made to outlast a slow run.
func TestKeysOutliveASlowRun(t *testing.T) {
	names := []string{limit.Penalty.Script}
	for _, a := range limit.Algorithms() {
		names = append(names, a.Script)
	}
	source := lua.Compose(names...).Source
	expiries := strings.Count(source, "'PX'") + strings.Count(source, "'PEXPIRE'") + strings.Count(source, "'EX'") + strings.Count(source, "'EXPIRE'") + strings.Count(source, "EXPIREAT'")
	if got := strings.Count(patient(source), longer+"+"); got != expiries || expiries < 9 {
		t.Errorf("%d of %d expiries are longer", got, expiries)
	}

	redis, server := redisServer(t)
	rdb := redis.Client()
	defer rdb.Close()
	for _, a := range limit.Algorithms() {
		rate := "rate: 5/hour"
		took := time.Duration(0)
		if a == limit.Concurrency {
			rate, took = "max: 5", time.Hour
		}
		storage := ""
		if a.Storage != "" {
			storage = ", storage: " + a.Storage
		}
		cfg := configure(t, fmt.Sprintf("limits:\n- {name: a, algorithm: %s, %s%s}\n", a.Name, rate, storage))
		in := loadOf(t, "constant 2/s", func(o *LoadOptions) { o.Took = took })
		e, err := cfg.variant("slow", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		d, err := newScripts(t.Context(), *server, e)
		if err != nil {
			t.Fatal(err)
		}
		account := newAccount("slow", seriesScale{}, nil)
		if err := run(t.Context(), in, e, d, account, nil); err != nil {
			t.Fatal(err)
		}
		for key := range account.keys {
			ttl, err := rdb.PTTL(t.Context(), key).Result()
			if a != limit.Concurrency && (err != nil || ttl < time.Hour) {
				t.Errorf("%s lives for %s, error %v", key, ttl, err)
			}
		}
		_ = d.close()
		if err := server.clean(account.keys); err != nil {
			t.Error(err)
		}
	}
}

// What the answer says corrects the charge before the next request counts.
func TestSettlesByTheLog(t *testing.T) {
	_, server := redisServer(t)
	var text strings.Builder
	for i := range 40 {
		// Every other answer is an error, which is refunded.
		fmt.Fprintf(&text, "1700000000.%03d \"GET / HTTP/1.1\" %d 100 0.001\n", i*10+1, []int{200, 500}[i%2])
	}
	cfg := configure(t, `
limits:
- {name: calls, rate: 15/min, settle: {refund_on: {status: [5xx]}}}
- {name: bytes, rate: 1000/min, cost: 0, settle: {cost: response_bytes}}
`)
	const format = `$msec "$request" $status $body_bytes_sent $request_time`
	for _, s := range []*Server{nil, server} {
		r := simulated(t, cfg, logOf(t, format, text.String()), Options{Server: s})
		calls, bytes := r.Runs[0].Limits[0], r.Runs[0].Limits[1]
		// 1000 bytes are ten answers, whatever their status.
		if bytes.Units != 1000 || r.Runs[0].Admitted != 10 || calls.Units != 5 || calls.Refunded != 5 {
			t.Errorf("%+v\n%+v", calls, bytes)
		}
	}
}

// Slots are free again when the log says that a request ended.
func TestConcurrencyByTheLog(t *testing.T) {
	var text strings.Builder
	for i := range 20 { // each takes 3.5 s, one begins each second
		fmt.Fprintf(&text, "%d.500 \"GET / HTTP/1.1\" 200 3.500\n", 1_700_000_003+i)
	}
	r := simulated(t, configure(t, "limits:\n- {name: flight, algorithm: concurrency, max: 3}\n"),
		logOf(t, `$msec "$request" $status $request_time`, text.String()), Options{})
	if l := r.Runs[0].Limits[0]; l.Peak != 3 || l.Admitted != 15 || l.Rejected != 5 {
		t.Errorf("%+v", l)
	}
}

// What the input doesn't tell is named, and the rest is simulated.
func TestNotFed(t *testing.T) {
	cfg := configure(t, `
except: {"header:x-probe": "1"}
limits:
- {name: fed, key: ip, rate: 10/s}
- {name: either, key: header:x-api-key or ip, rate: 10/s}
- {name: user, key: header:x-user-id, rate: 10/s}
- {name: claim, key: jwt:sub, rate: 10/s}
- {name: host, match: {host: example.com}, rate: 10/s}
- {name: flight, algorithm: concurrency, max: 5}
- {name: tokens, rate: 10/s, cost: 0, settle: {cost: response_json:usage.total}}
- {name: upload, rate: 10/s, cost: body_bytes}
- {name: route, match: {route: a}, group: g, rate: 10/s}
- {name: plans, key: ip, group: g, rate: {from: header:x-plan, default: 5/s}, overrides: [{when: {"header:x-vip": "1"}, unlimited: true}]}
`)
	in := logOf(t, "combined", `192.0.2.1 - - [04/Mar/2026:05:06:07 +0000] "GET / HTTP/1.1" 200 12 "-" "x"`+"\n")
	r := simulated(t, cfg, in, Options{})
	want := []Unfed{
		{"user", []string{"header:x-user-id"}},
		{"claim", []string{"jwt:sub"}},
		{"host", []string{"host"}},
		{"flight", []string{"how long a request took"}},
		{"tokens", []string{"response_json:usage.total"}},
		{"upload", []string{"the request's bytes"}},
		{"route", []string{"route"}},
	}
	if diff := cmp.Diff(want, r.NotFed); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, l := range r.Runs[0].Limits {
		names = append(names, l.Name)
	}
	if diff := cmp.Diff([]string{"fed", "either", "plans"}, names); diff != "" {
		t.Error(diff)
	}
	notes := strings.Join(r.Notes, "\n")
	for _, says := range []string{"no header:x-plan", "no header:x-vip", "no header:x-probe", "group g"} {
		if !strings.Contains(notes, says) {
			t.Errorf("the notes don't say %q:\n%s", says, notes)
		}
	}
}

// A load that carries what limits ask for feeds them.
func TestLoadFeeds(t *testing.T) {
	cfg := configure(t, `
limits:
- {name: claim, key: jwt:sub, rate: 1/min}
- {name: meta, key: metadata:my.filter.tenant, rate: 1/min}
- {name: state, key: filter_state:plan, rate: 1/min}
- {name: cookie, key: cookie:session, rate: 1/min}
- {name: route, match: {route: orders}, rate: 1/min}
- {name: query, key: query:q, rate: 1/min}
- {name: user, key: header:x-user, rate: 1/min}
`)
	in := loadOf(t, "constant 10/s", func(o *LoadOptions) {
		o.Keys, o.Path = 3, "/a?q={key}"
		o.Headers = []string{"X-User: u{key}"}
		o.With = map[string]string{"jwt:sub": "s{key}", "metadata:my.filter.tenant": "t{key}", "filter_state:plan": "p", "cookie:session": "c{key}", "route": "orders"}
	})
	r := simulated(t, cfg, in, Options{Top: 1})
	if len(r.NotFed) > 0 {
		t.Fatalf("not fed: %+v", r.NotFed)
	}
	want := map[string]int{"claim": 3, "meta": 3, "state": 1, "cookie": 3, "route": 1, "query": 3, "user": 3}
	for _, l := range r.Runs[0].Limits {
		if l.Keys != want[l.Name] || l.Missing != 0 {
			t.Errorf("%s: %d keys, %d missing, want %d keys", l.Name, l.Keys, l.Missing, want[l.Name])
		}
	}
}

func TestHostNames(t *testing.T) {
	var text strings.Builder
	for i, who := range []string{"a.example.com", "b.example.com", "192.0.2.1", "2001:db8::1", "-", "not an address", "A.example.com."} {
		who = strings.ReplaceAll(who, " ", "_!")
		fmt.Fprintf(&text, "%s - - [04/Mar/2026:05:06:%02d +0000] \"GET / HTTP/1.1\" 200 1\n", who, i)
	}
	r := simulated(t, configure(t, "limits:\n- {name: a, key: ip, rate: 0/min}\n- {name: net, key: ip/24, rate: 0/min}\n"), logOf(t, "common", text.String()), Options{Top: 10})
	var got []string
	for _, k := range r.Runs[0].Limits[0].Top {
		got = append(got, k.Key+" "+strconv.FormatInt(k.Rejected, 10))
	}
	want := []string{"(missing) 2", "a.example.com 2", "192.0.2.1 1", "2001:db8::1 1", "b.example.com 1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if n := r.Runs[0].Limits[1].Keys; n != 5 {
		t.Errorf("%d networks", n)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes, "3 requests have a host name") || !strings.Contains(notes, "1 requests have neither") {
		t.Errorf("notes:\n%s", notes)
	}
}

// Suggested rates reject what they say, judged by a run with them.
func TestSuggestionsHold(t *testing.T) {
	in := loadOf(t, "poisson 100/s", func(o *LoadOptions) { o.Keys, o.Spread = 40, Zipf })
	r := simulated(t, configure(t, "limits:\n- {name: a, key: ip, rate: 30/s}\n"), in, Options{Suggest: true})
	s := r.Runs[0].Suggestions[0]
	if len(s.Rates) < 3 || s.Keys != 40 {
		t.Fatalf("%+v", s)
	}
	for _, tried := range s.Rates {
		again := simulated(t, configure(t, "limits:\n- {name: a, key: ip, rate: "+tried.Rate+"}\n"), in, Options{})
		l := again.Runs[0].Limits[0]
		if l.Rejected != tried.RequestsRejected || l.KeysRejected != tried.KeysRejected {
			t.Errorf("%+v, and a run with it rejects %d requests of %d keys", tried, l.Rejected, l.KeysRejected)
		}
		if strings.Contains(tried.Basis, "max") && tried.RequestsRejected != 0 {
			t.Errorf("the busiest window is rejected: %+v", tried)
		}
	}
}
