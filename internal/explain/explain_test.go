package explain_test

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/goabi"
	"sluice/internal/host/hosttest"
	"sluice/internal/look"
	"sluice/internal/source"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/plugin"
	"sluice/redisproto"
)

func parse(t *testing.T, text string) (*config.Policy, []byte) {
	t.Helper()
	doc, problem := yamlconfig.Convert([]byte(text))
	if problem != nil {
		t.Fatal(problem)
	}
	p, errs := config.Parse(doc.JSON)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return p, doc.JSON
}

func request(t *testing.T, method, url string, edits ...func(*explain.Request) error) *explain.Request {
	t.Helper()
	r, err := explain.NewRequest(method, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edits {
		if err := e(r); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func header(name, value string) func(*explain.Request) error {
	return func(r *explain.Request) error { return r.AddHeader(name, value) }
}

func from(ip string) func(*explain.Request) error {
	return func(r *explain.Request) error {
		r.From(netip.MustParseAddr(ip))
		return nil
	}
}

// requests are of many kinds; each configuration finds some that it limits.
func requests(t *testing.T) []*explain.Request {
	var all []*explain.Request
	for _, method := range []string{"GET", "POST", "OPTIONS"} {
		for _, url := range []string{"/", "/hello", "/api/order/create", "/api/x?key=k1&api_key=k2", "https://acme.example.com/users/42/orders", "/search?q=a", "/login", "/v1/chat/completions", "/graphql"} {
			all = append(all,
				request(t, method, url),
				request(t, method, url, from("10.1.2.3"), header("x-user-id", "u1"), header("x-api-key", "k"), header("x-plan", "gold"), header("cookie", "session=s1")),
				request(t, method, url, from("2001:db8::1"), header("x-forwarded-for", "203.0.113.9, 10.0.0.1"), header("origin", "https://a"), header("access-control-request-method", "POST"), header("content-length", "1000")),
				request(t, method, url, func(r *explain.Request) error {
					r.SetRoute("checkout")
					r.SetFilterState("tenant", "acme")
					return r.SetJWT("", map[string]any{"sub": "u1", "plan": "gold", "tenant": "t1", "rate": "50/s", "groups": []any{"a"}})
				}, header("authorization", "Bearer x")),
				request(t, method, url, func(r *explain.Request) error { return r.SetMetadata("my.filter.tenant", "acme") }, header("x-cost", "7")),
			)
		}
	}
	return all
}

// gateway is the plugin over a proxy in memory.
type gateway struct {
	host *hosttest.Host
	ctx  goabi.Plugin
	next uint32
}

func newGateway(t *testing.T, json []byte, env map[string]string) *gateway {
	t.Helper()
	h := hosttest.New()
	h.Config, h.Environ = json, env
	vm := plugin.NewVM(h)
	h.Streams.OnMessage, h.Streams.OnClose = vm.StreamMessage, vm.StreamClosed
	g := &gateway{host: h, ctx: vm.NewPluginContext(hosttest.RootID), next: 100}
	if !g.ctx.OnPluginStart(len(json)) {
		t.Fatalf("the plugin refuses the configuration: %v", h.Logs)
	}
	return g
}

// attributes are those that a request has beside headers.
var attributes = []string{"source\x00address", "xds\x00route_name", "metadata", "filter_state\x00tenant"}

// calls are what the plugin sends to Redis for a request, on all its streams;
// none for nothing. answered says whether the request was.
func (g *gateway) calls(t *testing.T, r *explain.Request) (calls [][]string, answered bool) {
	t.Helper()
	g.next++
	var fields [][2]string
	for _, name := range []string{":method", ":path", ":authority", ":scheme", "x-user-id", "x-api-key", "x-plan", "cookie", "x-forwarded-for", "origin", "access-control-request-method", "content-length", "authorization", "x-cost"} {
		if v, ok := r.Header(name); ok {
			fields = append(fields, [2]string{name, v})
		}
	}
	req := g.host.Request(g.next, fields...)
	for _, path := range attributes {
		if v, ok := r.Attribute(path); ok {
			req.Properties[path] = v
		}
	}
	ctx := g.ctx.NewHttpContext(g.next)
	ctx.OnHttpRequestHeaders(len(fields), true)
	for _, st := range g.host.Streams.Opened {
		d := redisproto.NewDecoder(redisproto.Limits{})
		d.Feed(st.TakeSent())
		for {
			v, ok, err := d.Next()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			var cmd []string
			for _, e := range v.Elems {
				cmd = append(cmd, string(e.Str))
			}
			if strings.HasPrefix(cmd[0], "EVAL") && !strings.Contains(strings.Join(cmd, " "), "beat1") {
				calls = append(calls, cmd)
			}
		}
	}
	return calls, req.Answer != nil
}

var shard = regexp.MustCompile(`\|%s[0-9a-v]\}`)

// What explain says is what the plugin does, for every recipe and many requests.
func TestExplainAgreesWithThePlugin(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cookbook/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	all := requests(t)
	calls, refused, divided := 0, 0, 0
	for _, file := range files {
		if strings.HasSuffix(file, ".test.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c, r, d := agree(t, file, string(text), all)
		calls, refused, divided = calls+c, refused+r, divided+d
	}
	c, r, d := agree(t, "on several slots", onSlots, all)
	if d == 0 || r == 0 {
		t.Errorf("%d requests of several calls, %d refused", d, r)
	}
	if calls += c; calls < 1000 {
		t.Errorf("only %d calls compared, %d refusals", calls, refused)
	}
	if divided == 0 {
		t.Error("no recipe needs several calls")
	}
}

// onSlots has counters in several hash slots, some of which belong together, and
// some of the gateway's own.
const onSlots = `
redis: {topology: cluster}
limits:
- {name: own, scope: gateway, rate: 1000/s, algorithm: token_bucket}
- {name: per-ip, key: ip, rate: 3/min, penalty: 10s}
- {name: per-user, key: header:x-user-id, missing: skip, rate: [5/min, 100/hour]}
- {name: tenant-a, key: header:x-plan, hash_tag: header:x-api-key, rate: 9/min, algorithm: fixed_window}
- {name: tenant-b, key: path, hash_tag: header:x-api-key, rate: 9/min, algorithm: token_bucket, penalty: 1min}
- {name: needs, match: {path: /login}, key: header:x-user-id, missing: deny, rate: 9/min}
- {name: own-too, match: {path: /api/*}, scope: gateway, algorithm: concurrency, max: 5}
`

// agree compares what is said of requests with what the plugin does. It returns
// how many calls it compared, how many requests were refused, and how many needed
// several calls or none at all beside the gateway's own counters.
func agree(t *testing.T, file, text string, all []*explain.Request) (calls, refused, divided int) {
	t.Helper()
	policy, json := parse(t, text)
	env := map[string]string{}
	if policy.HashSecretEnv != "" {
		env[policy.HashSecretEnv] = "secret"
		policy.SetHashSecret([]byte("secret"))
	}
	e := engine.New(policy)
	for i, r := range all {
		// A gateway a request, so that none joins another's call.
		g := newGateway(t, json, env)
		got := explain.Explain(e, r, g.host.Now())
		sent, answered := g.calls(t, r)
		if (got.RefusedBy != "") != answered {
			t.Fatalf("%s, request %d: explained %q, answered %v", file, i, got.RefusedBy, answered)
		}
		if answered {
			refused++
		}
		var said [][]string
		for _, c := range got.Calls {
			said = append(said, flat(c))
		}
		if len(said) > 1 || got.OnlyGateway() {
			divided++
		}
		for _, words := range sent {
			n, err := strconv.Atoi(words[2])
			if err != nil {
				t.Fatal(err)
			}
			words[4+n] = explain.RequestID
			for j, w := range words { // a worker's turn may be at another of a key's counters
				words[j] = shard.ReplaceAllString(w, "|%s0}")
			}
		}
		slices.SortFunc(sent, slices.Compare)
		slices.SortFunc(said, slices.Compare)
		if !slices.EqualFunc(sent, said, slices.Equal) {
			t.Fatalf("%s, request %d:\nsent      %v\nexplained %v", file, i, sent, said)
		}
		calls += len(sent)
	}
	return calls, refused, divided
}

// flat is a call as it is sent.
func flat(c *explain.Call) []string {
	out := append([]string{"EVALSHA", c.SHA, strconv.Itoa(len(c.Keys))}, c.Keys...)
	for _, a := range c.Common {
		out = append(out, a.Value)
	}
	for _, row := range c.Counters {
		for _, a := range row {
			out = append(out, a.Value)
		}
	}
	return out
}

const levels = `
limits:
- {name: per-ip, key: ip, rate: 3/min, algorithm: fixed_window}
- {name: per-user, match: {path: /api/*}, key: header:x-user-id, rate: 2/min, overrides: [{when: {header:x-user-id: vip}, rate: 9/min}, {when: {header:x-user-id: root}, unlimited: true}]}
- {name: skips, key: header:x-tenant, missing: skip, rate: 1/s}
- {name: posts, match: {method: POST}, rate: 1/s, except: {path: /api/free}, penalty: 10s}
`

func TestWords(t *testing.T) {
	policy, _ := parse(t, levels)
	e := engine.New(policy)
	word := func(r *explain.Request, name string) explain.Limit {
		for _, l := range explain.Explain(e, r, 0).Limits {
			if l.Name == name {
				return l
			}
		}
		t.Fatal(name)
		return explain.Limit{}
	}
	vip := request(t, "POST", "/api/x", header("X-User-Id", "vip"))
	if l := word(vip, "per-user"); !l.Applies || l.Override != 0 || l.Counters[0].Rate != "9/min" || l.Counters[0].Key != "rl:{per-user|vip}:log1" {
		t.Errorf("%+v", l)
	}
	if l := word(vip, "posts"); len(l.Counters) != 2 || l.Counters[1].Algorithm != "penalty" {
		t.Errorf("%+v", l)
	}
	if l := word(request(t, "GET", "/api/x", header("x-user-id", "root")), "per-user"); !l.Applies || !strings.Contains(l.Why, "unlimited") || l.Counters != nil {
		t.Errorf("%+v", l)
	}
	if l := word(vip, "skips"); !strings.Contains(l.Why, "lacks header:x-tenant") {
		t.Errorf("%+v", l)
	}
	if l := word(request(t, "GET", "/other"), "per-user"); l.Applies || l.Why != "path: /api/*" {
		t.Errorf("%+v", l)
	}
	if l := word(request(t, "POST", "/api/free"), "posts"); l.Applies || l.Why != "except: path: /api/free" {
		t.Errorf("%+v", l)
	}
}

// A live key's state is what the next request would be told, and asking changes
// nothing.
func TestLive(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	policy, _ := parse(t, levels)
	e := engine.New(policy)
	r := request(t, "GET", "/api/x", header("x-user-id", "u1"), from("1.2.3.4"))
	ask := func(cluster bool) *explain.Explanation {
		x := explain.Explain(e, r, 0)
		if err := x.Ask(t.Context(), look.New(rdb), cluster); err != nil {
			t.Fatal(err)
		}
		return x
	}
	for range 5 {
		if x := ask(false); x.Live.Outcome != "admitted" || x.Live.Counters[0].Current != 0 || x.Live.Counters[1].Remaining != 2 {
			t.Fatalf("%+v", x.Live)
		}
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Fatalf("%d keys", n)
	}
	for range 2 {
		var d engine.Decision
		var v source.View
		v.Reset(r, &policy.Source)
		d.Start(e, &v)
		run(t, rdb.Do, d.AppendCommand(nil, []byte("id"), 0), e.Script().Source)
	}
	x := ask(false)
	if x.Live.Outcome != "rejected" || x.Live.Limit != "per-user" || x.Live.RetryAfter < 58 || x.Live.RetryAfter > 61 {
		t.Errorf("%+v", x.Live)
	}
	if c := x.Live.Counters; c[0].Current != 2 || c[0].Rejects || c[1].Current != 2 || !c[1].Rejects {
		t.Errorf("%+v", c)
	}
	// A cluster that the configuration doesn't know of would answer CROSSSLOT.
	y := explain.Explain(e, r, 0)
	if err := y.Ask(t.Context(), look.New(rdb), true); err == nil || !strings.Contains(err.Error(), "topology: cluster") {
		t.Errorf("a cluster taken for one server: %v", err)
	}
}

// On several slots each call is asked by itself, and the engine puts their words
// together: what one slot rejects is rejected, and nothing is charged to find out.
func TestLiveOnSlots(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	policy, _ := parse(t, onSlots)
	e := engine.New(policy)
	r := request(t, "GET", "/x", header("x-user-id", "u1"), header("x-api-key", "k"), from("1.2.3.4"))
	for i := range 5 {
		x := explain.Explain(e, r, 0)
		if err := x.Ask(t.Context(), look.New(rdb), false); err != nil {
			t.Fatal(err)
		}
		if len(x.Calls) != 4 || len(x.Live.Counters) != 7 {
			t.Fatalf("%d calls, %d counters", len(x.Calls), len(x.Live.Counters))
		}
		want, limit := "admitted", "per-ip"
		if i >= 3 {
			want = "rejected"
		}
		if x.Live.Outcome != want || x.Live.Limit != limit || x.Live.AtUS == 0 {
			t.Errorf("request %d: %+v", i, x.Live)
		}
		for _, c := range x.Live.Counters {
			if c.Name == "own" || c.Name == "per-ip" && c.Current != int64(min(i, 3)) && !strings.HasSuffix(c.Key, ":pen1") {
				t.Errorf("request %d: %+v", i, c)
			}
		}
		if want == "admitted" {
			for _, c := range x.Calls {
				run(t, rdb.Do, command(c), e.Script().Source)
			}
		}
	}
}

// command is a call as bytes.
func command(c *explain.Call) []byte {
	words := flat(c)
	b := fmt.Appendf(nil, "*%d\r\n", len(words))
	for _, w := range words {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	return b
}

// What an operator set at run time is said with its end, and followed.
func TestRunTimeOverrides(t *testing.T) {
	rdb := stacktest.Redis(t, stack.RedisOptions{}).Client()
	defer rdb.Close()
	policy, _ := parse(t, levels)
	now, err := rdb.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	until := now.UnixMilli() + 60_000
	explained := func(list string, edits ...func(*explain.Request) error) *explain.Explanation {
		t.Helper()
		base := engine.New(policy)
		field, spec, _ := strings.Cut(list, " ")
		e, _ := base.Overridden(fmt.Sprintf("%s %d %s", field, until, spec), now.UnixMilli(), base.NumRates(), func(_ string, err error) { t.Error(err) })
		x := explain.Explain(e, request(t, "GET", "/api/x", append(edits, from("1.2.3.4"))...), now.UnixMicro())
		if err := x.Ask(t.Context(), look.New(rdb), false); err != nil {
			t.Fatal(err)
		}
		return x
	}
	u1 := header("x-user-id", "u1")
	for _, c := range []struct {
		list    string
		user    string
		runTime bool
		why     string
		rate    string
		key     string
		note    string
		calls   int
		outcome string
	}{
		{"per-user|u1 block", "u1", true, "blocked", "", "", "", 0, "rejected"},
		{"per-user|u1 block", "u2", false, "", "2/min", "rl:{per-user|u2}:log1", "", 1, "admitted"},
		{"per-user|u1 rate 7/min", "u1", true, "", "7/min", "rl:{per-user|u1}:log1", "", 1, "admitted"},
		{"per-user|root rate 7/min", "root", true, "", "7/min", "rl:{per-user|root}:log1", "", 1, "admitted"},
		{"per-user unlimited", "u1", true, "unlimited", "", "", "", 1, "admitted"},
		{"per-user shadow", "u1", true, "", "2/min", "rl:{per-user|u1}:log1", "shadow", 1, "admitted"},
		{"per-user pool 0", "u1", true, "", "pool", "rl:{per-user|u1}:pool1", "degraded", 1, "rejected"},
	} {
		x := explained(c.list, header("x-user-id", c.user))
		l := x.Limits[1]
		if (l.RunTime != nil) != c.runTime || c.runTime && l.RunTime.UntilMS != until {
			t.Errorf("%s: %+v", c.list, l.RunTime)
		}
		if !strings.Contains(l.Why, c.why) || c.why == "" && l.Why != "" || !strings.Contains(strings.Join(l.Notes, " "), c.note) {
			t.Errorf("%s: %+v", c.list, l)
		}
		if c.rate != "" && (len(l.Counters) != 1 || l.Counters[0].Rate != c.rate || l.Counters[0].Key != c.key) {
			t.Errorf("%s: %+v", c.list, l.Counters)
		}
		if len(x.Calls) != c.calls || x.Live.Outcome != c.outcome {
			t.Errorf("%s: %d calls, %+v", c.list, len(x.Calls), x.Live)
		}
		if c.outcome == "rejected" && (x.Live.Limit != "per-user" || x.Live.RetryAfter < 1 || x.Live.RetryAfter > 60) {
			t.Errorf("%s: %+v", c.list, x.Live)
		}
	}
	if x := explained("per-user|u1 block", u1); x.BlockedBy != "per-user" || !strings.Contains(x.Limits[0].Why, "not asked") || *x.Limits[1].RunTime.Key != "u1" {
		t.Errorf("%+v", x)
	}
	if n := rdb.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("%d keys", n)
	}
}
