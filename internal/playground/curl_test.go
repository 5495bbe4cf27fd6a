package playground

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/engine"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
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

func TestExplain(t *testing.T) {
	e := engine.New(policyOf(t, levels))
	a, err := ParseAsk("curl -X POST http://shop.example/api/orders/7?x=1 -H 'X-User-Id: u1' --ip 203.0.113.9")
	if err != nil {
		t.Fatal(err)
	}
	got, err := Explain(e, a)
	if err != nil {
		t.Fatal(err)
	}
	x := got.(*Explanation)
	if x.Path != "/api/orders/7" || x.Host != "shop.example" || x.Client != "203.0.113.9" {
		t.Errorf("got %+v", x)
	}
	var applies []bool
	for _, l := range x.Limits {
		applies = append(applies, l.Applies)
	}
	if d := cmp.Diff([]bool{true, true, true, false}, applies); d != "" {
		t.Error(d)
	}
	if n := len(x.Limits[1].Counters); n != 2 {
		t.Errorf("orders has %d counters", n)
	}
	if c := x.Limits[2].Counters[0]; c.Op != "shadow" || len(x.Limits[2].Notes) != 1 {
		t.Errorf("quiet: %+v", x.Limits[2])
	}
	if x.Limits[3].Why != "path: /other" {
		t.Errorf("other: %q", x.Limits[3].Why)
	}
	// The keys are those that the plugin's plan has for the same request.
	var plan engine.Plan
	r := sourcetest.New("shop.example/api/orders/7?x=1", ":method", "POST", "x-user-id", "u1", "x-forwarded-for", "203.0.113.9").From("203.0.113.9:40000")
	e.Plan(r.View(&e.Policy().Source), &plan)
	if len(plan.Charges) != 4 || len(x.Call.Keys) != 4 || len(x.Call.Counters) != 4 {
		t.Fatalf("%d charges, %d keys", len(plan.Charges), len(x.Call.Keys))
	}
	for i := range plan.Charges {
		if string(plan.Key(i)) != x.Call.Keys[i] {
			t.Errorf("key %d is %q, and %q in the plan", i, x.Call.Keys[i], plan.Key(i))
		}
	}
}

func TestExplainWhatIsNotCounted(t *testing.T) {
	e := engine.New(policyOf(t, `
limits:
- {name: a, key: header:x-a, missing: skip, rate: 1/s}
- {name: b, key: header:x-b, missing: deny, match: {path: /b}, rate: 1/s}
- {name: c, rate: 1/s, overrides: [{when: {path: /free}, unlimited: true}]}
`))
	explain := func(line string) *Explanation {
		a, err := ParseAsk(line)
		if err != nil {
			t.Fatal(err)
		}
		x, err := Explain(e, a)
		if err != nil {
			t.Fatal(err)
		}
		return x.(*Explanation)
	}
	if x := explain("/free"); x.Call != nil || !strings.Contains(x.Limits[0].Why, "skip") || !strings.Contains(x.Limits[2].Why, "unlimited") {
		t.Errorf("free: %+v", x)
	}
	if x := explain("/b"); x.RefusedBy != "b" || x.Call != nil || !strings.Contains(x.Limits[2].Why, "b refuses") {
		t.Errorf("b: %+v", x)
	}
}
