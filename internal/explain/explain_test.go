package explain_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/proxy-wasm-go-sdk/proxywasm/types"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/explain"
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
	ctx  types.PluginContext
	next uint32
}

func newGateway(t *testing.T, json []byte, env map[string]string) *gateway {
	t.Helper()
	h := hosttest.New()
	h.Config, h.Environ = json, env
	vm := plugin.NewVM(h)
	h.Streams.OnMessage, h.Streams.OnClose = vm.StreamMessage, vm.StreamClosed
	g := &gateway{host: h, ctx: vm.NewPluginContext(hosttest.RootID), next: 100}
	if s := g.ctx.OnPluginStart(len(json)); s != types.OnPluginStartStatusOK {
		t.Fatalf("the plugin refuses the configuration: %v", h.Logs)
	}
	return g
}

// attributes are those that a request has beside headers.
var attributes = []string{"source\x00address", "xds\x00route_name", "metadata", "filter_state\x00tenant"}

// call is what the plugin sends to Redis for a request; nil for nothing. held
// says whether the request waits.
func (g *gateway) call(t *testing.T, r *explain.Request) (words []string, answered bool) {
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
	st := g.host.Streams.Last()
	if st == nil {
		return nil, req.Answer != nil
	}
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
			words = cmd
		}
	}
	return words, req.Answer != nil
}

var shard = regexp.MustCompile(`\|%s[0-9a-v]\}`)

// What explain says is what the plugin does, for every recipe and many requests.
func TestExplainAgreesWithThePlugin(t *testing.T) {
	files, err := filepath.Glob("../../testdata/cookbook/*.yaml")
	if err != nil || len(files) < 30 {
		t.Fatal(len(files), err)
	}
	all := requests(t)
	calls, refused := 0, 0
	for _, file := range files {
		if strings.HasSuffix(file, ".test.yaml") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		policy, json := parse(t, string(text))
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
			words, answered := g.call(t, r)
			if (got.RefusedBy != "") != answered {
				t.Fatalf("%s, request %d: explained %q, answered %v", file, i, got.RefusedBy, answered)
			}
			if answered {
				refused++
			}
			if (words != nil) != (got.Call != nil) {
				t.Fatalf("%s, request %d: explained %+v, sent %v", file, i, got.Call, words)
			}
			if words == nil {
				continue
			}
			calls++
			for i, w := range words { // a worker's turn may be at another of a key's counters
				words[i] = shard.ReplaceAllString(w, "|%s0}")
			}
			if want := flat(got.Call, words[4+len(got.Call.Keys)]); !slices.Equal(words, want) {
				t.Fatalf("%s, request %d:\nsent      %v\nexplained %v", file, i, words, want)
			}
		}
	}
	if calls < 1000 {
		t.Errorf("only %d calls compared, %d refusals", calls, refused)
	}
}

// flat is a call as it is sent, with the request's id.
func flat(c *explain.Call, id string) []string {
	out := append([]string{"EVALSHA", c.SHA, itoa(len(c.Keys))}, c.Keys...)
	out = append(out, c.Common[0].Value, id)
	for _, row := range c.Counters {
		for _, a := range row {
			out = append(out, a.Value)
		}
	}
	return out
}

func itoa(n int) string {
	if n > 9 {
		return itoa(n/10) + itoa(n%10)
	}
	return string(rune('0' + n))
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
	for _, cluster := range []bool{false, true} {
		x := ask(cluster)
		if x.Live.Outcome != "rejected" || x.Live.Limit != "per-user" || x.Live.RetryAfter < 58 || x.Live.RetryAfter > 61 {
			t.Errorf("cluster %v: %+v", cluster, x.Live)
		}
		if c := x.Live.Counters; c[0].Current != 2 || c[0].Rejects || c[1].Current != 2 || !c[1].Rejects {
			t.Errorf("cluster %v: %+v", cluster, c)
		}
	}
}
