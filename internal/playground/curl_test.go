package playground

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/explain"
	"sluice/internal/operate"
	"sluice/internal/override"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestParseAsk(t *testing.T) {
	for line, want := range map[string]Ask{
		"/hello":                      {Method: "GET", Scheme: "http", Path: "/hello"},
		"POST /a?b=c":                 {Method: "POST", Scheme: "http", Path: "/a?b=c"},
		"curl http://h:1/x#frag":      {Method: "GET", Scheme: "http", Host: "h:1", Path: "/x"},
		"curl -is https://h":          {Method: "GET", Scheme: "https", Host: "h", Path: "/"},
		"curl h.example?q":            {Method: "GET", Scheme: "http", Host: "h.example", Path: "/?q"},
		"curl -XDELETE -I /x":         {Method: "HEAD", Scheme: "http", Path: "/x"},
		"curl /x -d a=b":              {Method: "POST", Scheme: "http", Path: "/x"},
		"curl /x -d a -X PUT":         {Method: "PUT", Scheme: "http", Path: "/x"},
		"curl --request=PUT /x":       {Method: "PUT", Scheme: "http", Path: "/x"},
		"curl \\\n  /x":               {Method: "GET", Scheme: "http", Path: "/x"},
		"/x -H 'Host: a' -H \"B: c\"": {Method: "GET", Scheme: "http", Host: "a", Path: "/x", Headers: []AskHeader{{"b", "c"}}},
		"curl -H 'host: a' http://h/": {Method: "GET", Scheme: "http", Host: "a", Path: "/"},
		`/x -H 'a: it'\''s' -A "u \"v" -b c=d`: {Method: "GET", Scheme: "http", Path: "/x",
			Headers: []AskHeader{{"a", "it's"}, {"user-agent", `u "v`}, {"cookie", "c=d"}}},
	} {
		got, err := ParseAsk(line)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if d := cmp.Diff(want, *got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("%s: %s", line, d)
		}
	}
	a, err := ParseAsk("/x --ip ::ffff:192.0.2.1")
	if err != nil || a.IP.String() != "192.0.2.1" {
		t.Errorf("the address is %v, %v", a, err)
	}
}

func TestParseAskRefuses(t *testing.T) {
	for line, says := range map[string]string{
		"":                               "no path",
		"curl":                           "no path",
		"/a /b":                          "too many",
		"/x 'y":                          "not closed",
		"ftp://h/":                       "neither http",
		"http://":                        "no host",
		"http://u@h/":                    "no host",
		"/x -X":                          "needs a value",
		"/x -X 'A B'":                    "not a method",
		"/x -H novalue":                  "not a header",
		"/x -H 'a\x00: b'":               "not a header",
		"/x -H 'content-length: 4'":      "can't be chosen",
		"/x -H 'Transfer-Encoding: a'":   "can't be chosen",
		"/x -H 'a: b\x01'":               "control character",
		"/x --ip nine":                   "not an address",
		"/x --upload-file y":             "isn't understood",
		"/a\x7fb":                        "no spaces",
		"/é":                             "no spaces",
		"/x" + strings.Repeat("y", 5000): "at most",
	} {
		if _, err := ParseAsk(line); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v, expected %q", line, err, says)
		}
	}
}

func FuzzParseAsk(f *testing.F) {
	f.Add(`curl -X POST 'http://h/a' -H "a: b" --ip 1.2.3.4 -d x`)
	f.Fuzz(func(t *testing.T, line string) {
		a, err := ParseAsk(line)
		if err != nil {
			return
		}
		if !strings.HasPrefix(a.Path, "/") || !source.Token(a.Method) || len(a.Headers) > maxHeaders {
			t.Errorf("%q gives %+v", line, a)
		}
		var headers []header
		for _, h := range a.Headers {
			headers = append(headers, header{h.Name, h.Value})
		}
		if _, err := newRequest("http://127.0.0.1:1", a.Method, a.Path, a.Host, headers); err != nil && a.Method != http.MethodConnect {
			t.Errorf("%q can't be sent: %v", line, err)
		}
	})
}

func policyOf(t *testing.T, text string) *config.Policy {
	t.Helper()
	p, wrong := yamlconfig.Parse([]byte(text))
	if p == nil {
		t.Fatal(wrong)
	}
	return p
}

const levels = `
limits:
- {name: per-ip, key: ip, rate: 100/s}
- {name: orders, match: {method: POST, path: "/api/orders/*"}, key: header:x-user-id, missing: skip, rate: [5/s, 100/hour]}
- {name: quiet, match: {path: "/api/*"}, rate: 10/s, shadow: true}
- {name: other, match: {path: /other}, rate: 1/s}
`

// A typed request is what the gateway would get.
func TestExplain(t *testing.T) {
	e := engine.New(policyOf(t, levels))
	a, err := ParseAsk("curl -X POST http://shop.example/api/orders/7?x=1 -H 'X-User-Id: u1' -H 'X-Forwarded-For: 10.0.0.1' --ip 203.0.113.9 -b a=1 -b c=2")
	if err != nil {
		t.Fatal(err)
	}
	typed, err := a.request()
	if err != nil {
		t.Fatal(err)
	}
	x := explain.Explain(e, typed, 0)
	if x.Path != "/api/orders/7" || x.Host != "shop.example" || x.Client != "203.0.113.9" {
		t.Errorf("got %+v", x)
	}
	if c, _ := typed.Header("cookie"); c != "a=1; c=2" {
		t.Errorf("cookies %q", c)
	}
	if f, _ := typed.Header("x-forwarded-for"); f != "10.0.0.1, 203.0.113.9" {
		t.Errorf("x-forwarded-for %q", f)
	}
	// The keys are those that the plugin's plan has for the same request.
	var plan engine.Plan
	r := sourcetest.New("shop.example/api/orders/7?x=1", ":method", "POST", "x-user-id", "u1", "x-forwarded-for", "203.0.113.9").From("203.0.113.9:40000")
	e.Plan(r.View(&e.Policy().Source), &plan)
	if len(plan.Charges) != 4 || len(x.Calls) != 1 || len(x.Calls[0].Keys) != 4 {
		t.Fatalf("%d charges, %d calls", len(plan.Charges), len(x.Calls))
	}
	for i := range plan.Charges {
		if string(plan.Key(i)) != x.Calls[0].Keys[i] {
			t.Errorf("key %d is %q, and %q in the plan", i, x.Calls[0].Keys[i], plan.Key(i))
		}
	}
	// Without a host and an address it is this machine's own.
	if a, err = ParseAsk("/x"); err != nil {
		t.Fatal(err)
	}
	if typed, err = a.request(); err != nil {
		t.Fatal(err)
	}
	if x := explain.Explain(e, typed, 0); x.Client != "127.0.0.1" || x.Host != "127.0.0.1" {
		t.Errorf("got %+v", x)
	}
}

// What an operator set and what Redis says are shown; without Redis the rest is.
func TestExplainAsksRedis(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{})
	rdb := server.Client()
	defer rdb.Close()
	policy := policyOf(t, levels)
	e := engine.New(policy)
	s := &Server{o: Options{Redis: rdb}}
	a, err := ParseAsk("/free --ip 203.0.113.9")
	if err != nil {
		t.Fatal(err)
	}
	decide(t, rdb, e, sourcetest.New("h/free").From("203.0.113.9:40000"))
	x, err := s.explained(t.Context(), e, a)
	if err != nil || x.Live == nil || x.Live.Outcome != "admitted" || x.Live.Counters[0].Current != 1 {
		t.Errorf("%+v, %v", x, err)
	}
	op := operate.Operator{Redis: rdb, Prefix: "rl", Policy: policy}
	if _, _, _, err := op.Set(t.Context(), override.Target{Name: "per-ip"}, override.Spec{Kind: override.Block}, time.Minute); err != nil {
		t.Fatal(err)
	}
	if x, err = s.explained(t.Context(), e, a); err != nil || x.BlockedBy != "per-ip" || x.Live.Outcome != "rejected" {
		t.Errorf("%+v, %v", x, err)
	}
	server.Stop()
	if x, err = s.explained(t.Context(), e, a); err != nil || x.Live != nil || len(x.Limits) != 4 || len(x.Calls) != 1 {
		t.Errorf("%+v, %v", x, err)
	}
}
