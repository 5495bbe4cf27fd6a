package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/limit"
	"sluice/internal/source/sourcetest"
)

// parse reads a configuration in YAML that has to be right.
func parse(t testing.TB, text string) *config.Policy {
	t.Helper()
	p, problems := parseYAML([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

// limits is a configuration of limits, one a line.
func limits(lines ...string) string {
	return "limits:\n- " + strings.Join(lines, "\n- ") + "\n"
}

func TestDefaults(t *testing.T) {
	p := parse(t, "limits: []\n")
	want := config.Redis{Cluster: "redis_pipe", TimeoutUS: 20_000, Retry: config.Retry{Times: 1, AfterUS: 50_000}, Prefix: "rl"}
	if p.Redis != want {
		t.Errorf("redis is %+v, want %+v", p.Redis, want)
	}
	if p.Gateways != 0 || p.Clock != config.ClockRedis || !p.Headers.RateLimit || !p.Headers.XRateLimit || p.XRateLimitResetSeconds ||
		p.Debug != nil || p.CountPreflights || p.HashKeys || p.Source.IgnoreCase || !p.Source.IgnoreTrailingSlash || p.Source.Client.TrustedHops != 0 {
		t.Errorf("got %+v", p)
	}
	if p.Reject.Status != 429 || p.Reject.Body != config.BodyJSON {
		t.Errorf("reject is %+v", p.Reject)
	}
	l := parse(t, limits("{name: a, rate: 5/min}")).Limits[0]
	if l.Algorithm.Name != "sliding_log" || l.Algorithm.Storage != "compact" || l.Missing != config.MissingShare || l.Key != nil ||
		l.Cost != (config.Cost{Fixed: 1}) || l.Shadow || l.HideHeaders || l.Settle != nil || l.Tag != nil || l.Hot != nil || l.Scope != config.ScopeGlobal ||
		l.OnError != p.OnError || !l.Enforced([]byte("any")) {
		t.Errorf("limit is %+v", l)
	}
}

func TestDefaultsAreNotShared(t *testing.T) {
	a := parse(t, "headers: []\nredis: {db: 7}\nlimits: []\n")
	b := parse(t, "limits: []\n")
	if a.Redis.DB != 7 || b.Redis.DB != 0 || a.Headers.RateLimit || !b.Headers.RateLimit {
		t.Errorf("got %+v and %+v", a, b)
	}
}

func TestRates(t *testing.T) {
	for text, want := range map[string]limit.Params{
		"1/s": {Limit: 1, WindowMS: 1000}, "0/s": {Limit: 0, WindowMS: 1000}, "100/min": {Limit: 100, WindowMS: 60_000},
		"5/hour": {Limit: 5, WindowMS: 3_600_000}, "5/day": {Limit: 5, WindowMS: 86_400_000}, "5/week": {Limit: 5, WindowMS: 604_800_000},
		"5/250ms": {Limit: 5, WindowMS: 250}, "20/15min": {Limit: 20, WindowMS: 900_000}, " 7 / 2 hours ": {Limit: 7, WindowMS: 7_200_000},
		"281474976710655/366d": {Limit: 1<<48 - 1, WindowMS: 366 * 86_400_000}, "007/s": {Limit: 7, WindowMS: 1000},
	} {
		r := parse(t, limits("{name: a, rate: '"+text+"'}")).Limits[0].Rates
		if len(r) != 1 || r[0].Params != want || r[0].Text != text || r[0].Name != "a" {
			t.Errorf("%s is %+v, want %+v", text, r, want)
		}
	}
}

func TestRateNamesAndKeys(t *testing.T) {
	p := parse(t, "redis: {prefix: app}\n"+limits(
		"{name: one, rate: 5/s}",
		"{name: two, rate: [5/s, 100/min, 1000/2h, 5000/day, 9/250ms]}",
		"{name: zset, rate: 5/s, storage: zset}",
		"{name: over, rate: 5/s, overrides: [{when: {header:x: a}, rate: [7/s, 8/min]}, {when: {header:x: b}, rate: 9/min}, {when: {header:x: c}, shadow: true}]}",
		"{name: quota, rate: [5/day, 6/month, 7/year], algorithm: calendar}",
		"{name: tagged, rate: 5/s, hash_tag: header:x-tenant}"))
	var got []string
	p.EachRate(func(l *config.Limit, r *config.Rate) {
		if r.ID != len(got) {
			t.Errorf("%s has ID %d, want %d", r.Name, r.ID, len(got))
		}
		got = append(got, fmt.Sprintf("%s %s %s…%s", l.Name, r.Name, r.KeyHead, r.KeyTail))
	})
	log, zset := p.Limits[0].Algorithm.Suffix, p.Limits[2].Algorithm.Suffix
	cal := p.Limits[4].Algorithm.Suffix
	want := []string{
		"one one app:{one|…}:" + log,
		"two two-1s app:{two-1s|…}:" + log, "two two-1min app:{two-1min|…}:" + log, "two two-2h app:{two-2h|…}:" + log,
		"two two-1d app:{two-1d|…}:" + log, "two two-250ms app:{two-250ms|…}:" + log,
		"zset zset app:{zset|…}:" + zset,
		// The window that the limit has keeps its counter, others have their own.
		"over over app:{over|…}:" + log,
		"over over-1s app:{over|…}:" + log, "over over-1min app:{over-1min|…}:" + log, "over over app:{over-1min|…}:" + log,
		"quota quota-1d app:{quota-1d|…}:" + cal, "quota quota-1month app:{quota-1month|…}:" + cal, "quota quota-1year app:{quota-1year|…}:" + cal,
		"tagged tagged app:{…:" + log,
	}
	for i := range max(len(got), len(want)) {
		g, w := "", ""
		if i < len(got) {
			g = got[i]
		}
		if i < len(want) {
			w = want[i]
		}
		if g != w {
			t.Errorf("rate %d is %s, want %s", i, g, w)
		}
	}
}

func TestAppendKey(t *testing.T) {
	p := parse(t, limits(
		"{name: none, rate: 5/s}",
		"{name: user, key: [header:x-user, method], rate: 5/s}",
		"{name: tag, key: header:x-user, rate: 5/s, hash_tag: header:x-tenant}"))
	log := p.Limits[0].Algorithm.Suffix
	for _, c := range []struct {
		limit   int
		headers []string
		want    string
		values  string
		missing bool
	}{
		{0, nil, "rl:{none|}:" + log, "}:" + log, false},
		{1, []string{"x-user", "a}b"}, "rl:{user|a%7Db|GET}:" + log, "a%7Db|GET}:" + log, false},
		{1, nil, "rl:{user|%-|GET}:" + log, "%-|GET}:" + log, true},
		{2, []string{"x-user", "u", "x-tenant", "t|1"}, "rl:{t%7C1}:tag|u:" + log, "u:" + log, false},
		{2, []string{"x-user", "u"}, "rl:{%-}:tag|u:" + log, "u:" + log, false},
		{2, []string{"x-tenant", "t"}, "rl:{t}:tag|%-:" + log, "%-:" + log, true},
	} {
		l := p.Limits[c.limit]
		got, values, missing := l.AppendKey([]byte("x"), &l.Rates[0], sourcetest.New("h/", c.headers...).View(&p.Source))
		if string(got) != "x"+c.want || string(got[values:]) != c.values || missing != c.missing {
			t.Errorf("%s: %q, values %q, missing %v", l.Name, got, got[values:], missing)
		}
	}
}

func TestHashedKeys(t *testing.T) {
	p := parse(t, "hash_keys: true\nhash_secret_env: X\n"+limits("{name: a, key: header:x, rate: 1/s, hash_tag: header:x}", "{name: b, rate: 1/s}"))
	v := sourcetest.New("h/", "x", "secret-value").View(&p.Source)
	key := func() string {
		k, _, _ := p.Limits[0].AppendKey(nil, &p.Limits[0].Rates[0], v)
		return string(k)
	}
	p.SetHashSecret([]byte("one"))
	one := key()
	p.SetHashSecret([]byte("two"))
	if strings.Contains(one, "secret") || one == key() {
		t.Errorf("keys are %q and %q", one, key())
	}
}

func TestOptions(t *testing.T) {
	p := parse(t, string(read(t, testdata+"/configs/algorithms.yaml")))
	params := map[string]limit.Params{}
	for _, l := range p.Limits {
		params[l.Name] = l.Rates[0].Params
	}
	for name, want := range map[string]limit.Params{
		"counter": {Limit: 1000, WindowMS: 60_000}, "counter-fine": {Limit: 1000, WindowMS: 60_000, Buckets: 60},
		"token": {Limit: 100, WindowMS: 1000}, "token-burst": {Limit: 100, WindowMS: 1000, Burst: 500},
		"leaky": {Limit: 10, WindowMS: 1000, Burst: 20}, "queue": {Limit: 10, WindowMS: 1000, WaitMS: 2000},
		"in-flight": {Limit: 10, WindowMS: 1, HoldMS: 300_000}, "in-flight-long": {Limit: 1000, WindowMS: 1, HoldMS: 3_600_000},
	} {
		if params[name] != want {
			t.Errorf("%s is %+v, want %+v", name, params[name], want)
		}
	}
	month, office := params["monthly"].Calendar, params["office"].Calendar
	if month == nil || month.Unit != limit.Month || month.Zone != nil || month.WeekStarts != 1 || month.DayStarts != 0 {
		t.Errorf("monthly is %+v", month)
	}
	if office == nil || office.Unit != limit.Day || office.Zone.Name != "Europe/Berlin" || office.WeekStarts != 0 || office.DayStarts != 6*3600 {
		t.Errorf("office is %+v", office)
	}
	tiered := p.Limits[len(p.Limits)-1]
	gold := tiered.Variant(sourcetest.New("h/", "x-plan", "gold").View(&p.Source))
	if got := gold.Rates[0].Params; got.Limit != 100 || got.Burst != 200 {
		t.Errorf("gold is %+v", got)
	}
}

func TestVariants(t *testing.T) {
	p := parse(t, limits(`{name: a, rate: 10/s, shadow: true, overrides: [
  {when: {header:x: [one, two]}, rate: 100/s}, {when: {header:x: two}, rate: 1/s}, {when: {header:x: free}, unlimited: true},
  {when: {header:x: live}, shadow: false}]}`, "{name: b, rate: 7/s}"))
	for x, want := range map[string]string{
		"one": "100 true false", "two": "100 true false", "free": "0 true true", "live": "10 false false", "": "10 true false", "other": "10 true false",
	} {
		va := p.Limits[0].Variant(sourcetest.New("h/", "x", x).View(&p.Source))
		n := int64(0)
		if !va.Unlimited {
			n = va.Rates[0].Params.Limit
		}
		if got := fmt.Sprint(n, va.Shadow, va.Unlimited); got != want {
			t.Errorf("%s is %s, want %s", x, got, want)
		}
	}
	if va := p.Limits[1].Variant(sourcetest.New("h/").View(&p.Source)); va.Rates[0].Params.Limit != 7 || va.Shadow || va.Unlimited {
		t.Errorf("b is %+v", va)
	}
}

func TestRateFrom(t *testing.T) {
	p := parse(t, limits(
		"{name: a, rate: {from: header:r, default: 100/s, max: 1000/s}}",
		"{name: b, rate: {from: header:r, default: 100/day}, algorithm: calendar}",
		"{name: c, rate: {from: header:r, default: 100/s}, algorithm: token_bucket, burst: 5}"))
	for _, c := range []struct {
		limit int
		r     string
		want  string
		own   bool
	}{
		{0, "", "100/1000 a", false}, {0, "200", "200/1000 a", true}, {0, "100", "100/1000 a", false}, {0, "0", "0/1000 a", true},
		{0, "5000", "1000/1000 a", true}, {0, "99999999999999999999", "100/1000 a", false}, {0, "-5", "100/1000 a", false}, {0, "lots", "100/1000 a", false},
		{0, "600/min", "600/60000 a-1min", true}, {0, "60001/min", "1000/1000 a", true}, {0, "5/month", "100/1000 a", false},
		{0, "1/" + strings.Repeat(" ", 60) + "s", "100/1000 a", false}, {0, "100/s", "100/1000 a", false},
		{1, "200", "200/86400000 b", true}, {1, "200/day", "200/86400000 b", true}, {1, "200/month", "100/86400000 b", false}, {1, "200/s", "100/86400000 b", false},
		{2, "50/min", "50/60000 c-1min", true},
	} {
		l := p.Limits[c.limit]
		r := l.RateFrom.Of(sourcetest.New("h/", "r", c.r).View(&p.Source))
		counter := strings.TrimSuffix(strings.TrimPrefix(r.KeyHead, "rl:{"), "|")
		if got := fmt.Sprintf("%d/%d %s", r.Params.Limit, r.Params.WindowMS, counter); got != c.want || (r.ID == -1) != c.own {
			t.Errorf("%s with %q is %s, ID %d, want %s", l.Name, c.r, got, r.ID, c.want)
		}
		if err := l.Algorithm.Check(&r.Params); err != nil {
			t.Errorf("%s with %q: %v", l.Name, c.r, err)
		}
		if c.limit == 2 && r.Params.Burst != 5 {
			t.Errorf("burst is %d", r.Params.Burst)
		}
	}
}

func TestCosts(t *testing.T) {
	p := parse(t, limits("{name: a, rate: 1/s, cost: 7}", "{name: b, rate: 1/s, cost: header:c}", "{name: c, rate: 1/s, cost: body_bytes}"))
	for c, want := range map[string]string{
		"5": "5 false", "0": "0 false", "": "1 true", "x": "1 true", "-1": "1 true", "1.5": "1 true", "+5": "1 true", " 5": "1 true",
		"281474976710655": "281474976710655 false", "281474976710656": "1 true", "000000000000000000005": "1 true", "00005": "5 false",
	} {
		if cost, odd := p.Limits[1].Cost.Of(sourcetest.New("h/", "c", c).View(nil)); fmt.Sprint(cost, odd) != want {
			t.Errorf("%q costs %d, %v, want %s", c, cost, odd, want)
		}
	}
	if cost, odd := p.Limits[0].Cost.Of(sourcetest.New("h/").View(nil)); cost != 7 || odd {
		t.Errorf("costs %d, %v", cost, odd)
	}
	if !p.Limits[2].Cost.BodyBytes {
		t.Error("no body_bytes")
	}
}

func TestSettle(t *testing.T) {
	p := parse(t, limits(
		"{name: a, rate: 1/s, settle: {charge_on: {status: [401, 5xx, '404']}}}",
		"{name: b, rate: 1/s, settle: {refund_on: {no_answer: true}, cost: response_json:usage.total_tokens}}",
		"{name: c, rate: 1/s, settle: {cost: 'response_header:X-Cost'}}"))
	on := p.Limits[0].Settle.ChargeOn
	for code, want := range map[int]bool{401: true, 400: false, 402: false, 404: true, 500: true, 503: true, 599: true, 600: false, 499: false, 99: false, 0: false, -5: false, 100: false} {
		if on.HasStatus(code) != want {
			t.Errorf("%d is in: %v", code, !want)
		}
	}
	if s := p.Limits[1].Settle; !s.RefundOn.NoAnswer || s.ChargeOn != nil || s.Cost.From != config.SettleJSON || s.Cost.Name != "usage.total_tokens" {
		t.Errorf("b settles by %+v", s)
	}
	if s := p.Limits[2].Settle; s.Cost.From != config.SettleHeader || s.Cost.Name != "x-cost" {
		t.Errorf("c settles by %+v", s.Cost)
	}
}

func TestEnforced(t *testing.T) {
	p := parse(t, limits("{name: a, rate: 1/s, enforce: 25%}", "{name: b, rate: 1/s, enforce: 0%}", "{name: c, rate: 1/s, enforce: 100%}", "{name: d, rate: 1/s, enforce: 60.5%}"))
	n := make([]int, 4)
	for i := range 20_000 {
		k := fmt.Appendf(nil, "10.0.%d.%d", i/256, i%256)
		in := make([]bool, 4)
		for j, l := range p.Limits {
			if in[j] = l.Enforced(k); in[j] {
				n[j]++
			}
		}
		if in[0] && !in[3] {
			t.Fatalf("%s is among 25%% and not among 60.5%%", k)
		}
	}
	if n[1] != 0 || n[2] != 20_000 || n[0] < 4700 || n[0] > 5300 || n[3] < 11_800 || n[3] > 12_400 {
		t.Errorf("of 20,000 keys are enforced %v", n)
	}
}

func TestReject(t *testing.T) {
	p := parse(t, `reject: {status: 420, body: '%LIMIT%: 100%% of %MESSAGE%', content_type: text/x, headers: {X-A: b}}
limits:
- {name: a, rate: 1/s}
- {name: b, rate: 1/s, reject: {body: text}}
- {name: c, rate: 1/s, reject: {status: 503, headers: {}}}
`)
	a, b, c := p.Limits[0].Reject, p.Limits[1].Reject, p.Limits[2].Reject
	want := []config.Piece{{Var: config.VarLimit}, {Text: ": 100% of "}, {Var: config.VarMessage}}
	if a.Status != 420 || a.Body != config.BodyTemplate || fmt.Sprint(a.Template) != fmt.Sprint(want) || a.ContentType != "text/x" || fmt.Sprint(a.Headers) != "[[x-a b]]" {
		t.Errorf("a is %+v", a)
	}
	if b.Status != 420 || b.Body != config.BodyText || b.Template != nil || b.ContentType != "" || len(b.Headers) != 1 {
		t.Errorf("b is %+v", b)
	}
	if c.Status != 503 || c.Body != config.BodyTemplate || c.ContentType != "text/x" || len(c.Headers) != 0 {
		t.Errorf("c is %+v", c)
	}
}

func TestNumbersAsIstioWritesThem(t *testing.T) {
	for raw, want := range map[string]int64{"3": 3, "3.0": 3, "3e0": 3, "30e-1": 3, "0.3E+1": 3, "1000.000": 1000, "0": 0, "-0": 0} {
		p, errs := config.Parse([]byte(`{"redis":{"db":` + raw + `},"limits":[]}`))
		if errs != nil || p.Redis.DB != want {
			t.Errorf("%s: %v", raw, errs)
		}
	}
	for _, raw := range []string{"3.5", "-1", "1e9", "1e400", "9007199254740993", `"3"`, "true", "null", "[]"} {
		if _, errs := config.Parse([]byte(`{"redis":{"db":` + raw + `},"limits":[]}`)); errs == nil || errs[0].Path != "redis.db" {
			t.Errorf("%s is accepted: %v", raw, errs)
		}
	}
}

func TestBadJSON(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "the configuration is empty",
		" \n":                               "the configuration is empty",
		"{":                                 "1: not valid JSON: expected a field's name in quotes",
		`{"limits":[]`:                      "12: not valid JSON: expected , or } in an object",
		`{"limits":[1 2]}`:                  "13: not valid JSON: expected , or ] in a list",
		`{"limits":[],}`:                    "13: not valid JSON: expected a field's name in quotes",
		`{"limits":[],"a" 1}`:               "17: not valid JSON: expected : after a field's name",
		`{"limits":[]} x`:                   "14: not valid JSON: text after the end of the configuration",
		`{'limits':[]}`:                     "1: not valid JSON: expected a field's name in quotes",
		`{"a":01}`:                          "6: not valid JSON: expected , or } in an object",
		`{"a":-}`:                           "6: not valid JSON: a bad number",
		`{"a":1.}`:                          "7: not valid JSON: a bad number",
		`{"a":1e}`:                          "7: not valid JSON: a bad number",
		`{"a":tru}`:                         "5: not valid JSON: expected a value",
		`{"a":NaN}`:                         "5: not valid JSON: expected a value",
		`{"a":"x`:                           "7: not valid JSON: a text without its closing quote",
		"{\"a\":\"x\ny\"}":                  "7: not valid JSON: a control character in a text",
		`{"a":"\x"}`:                        "7: not valid JSON: a bad escape in a text",
		`{"a":"\u12g4"}`:                    "10: not valid JSON: a bad escape in a text",
		"{\"a\":\"\xff\"}":                  "6: not valid JSON: a byte that isn't UTF-8",
		`{"a":`:                             "5: not valid JSON: it ends too early",
		`{"limits":[],"limits":[]}`:         "13: limits: given twice",
		`{"limits":[],"limit\u0073":[]}`:    "13: limits: given twice",
		`{"limits":[],"":1}`:                `13: [""]: unknown field`,
		`{"limits":[{"name":1,"name":2}]}`:  "21: limits[0].name: given twice",
		strings.Repeat("[", 1_000_000):      "33: nested more than 32 deep",
		strings.Repeat(`{"a":`, 200_000):    "165: nested more than 32 deep",
		`{"a":` + strings.Repeat("[", 5000): "37: nested more than 32 deep",
	} {
		_, errs := config.Parse([]byte(text))
		if len(errs) != 1 {
			t.Errorf("%.40q: %v", text, errs)
			continue
		}
		got := errs[0].Error()
		if errs[0].Offset > 0 {
			got = fmt.Sprintf("%d: %s", errs[0].Offset, got)
		}
		if got != want {
			t.Errorf("%.40q: %s, want %s", text, got, want)
		}
	}
}

func TestErrorsAreInTheOrderOfTheText(t *testing.T) {
	text := "{\"limits\":[{\"rate\":5,\n\"name\":\"a\"}],\n \"redis\":{\"db\":\"x\"},\n\"ä\":1, \"on_error\":5}"
	_, errs := config.Parse([]byte(text))
	var got []string
	for _, e := range errs {
		line, column := config.Position([]byte(text), e.Offset)
		got = append(got, fmt.Sprintf("%d:%d %s", line, column, e.Path))
	}
	if want := `1:20 limits[0].rate|3:16 redis.db|4:1 ["ä"]|4:19 on_error`; strings.Join(got, "|") != want {
		t.Errorf("got %s, want %s", strings.Join(got, "|"), want)
	}
}

func TestErrorsAreCounted(t *testing.T) {
	fields := map[string]int{}
	for i := range 250 {
		fields[fmt.Sprintf("nonsense_%03d", i)] = i
	}
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	_, errs := config.Parse(text)
	if len(errs) != 101 || errs[100].Message != "and 151 more errors" {
		t.Errorf("%d errors, the last is %v", len(errs), errs[len(errs)-1])
	}
}

func TestAttributes(t *testing.T) {
	p := parse(t, "debug: {when: {attr:connection.mtls: true}}\nexcept: {filter_state:x: present}\n"+limits(
		"{name: a, key: [header:x, ip or jwt:sub], rate: 1/s, match: {route: r}, except: {metadata:a.b: c}}",
		"{name: b, rate: {from: attr:xds.cluster_name, default: 1/s}, cost: attr:request.size, hash_tag: attr:connection.id, overrides: [{when: {attr:source.port: 1}, shadow: true}]}"))
	got := strings.ReplaceAll(strings.Join(p.Attributes, " "), "\x00", ".")
	if want := "connection.id connection.mtls filter_state.x metadata request.size source.address source.port xds.cluster_name xds.route_name"; got != want {
		t.Errorf("attributes are %s, want %s", got, want)
	}
	if p := parse(t, limits("{name: a, key: [header:x, path, const:y], match: {host: a, cookie:b: c}, rate: 1/s}")); len(p.Attributes) != 0 {
		t.Errorf("attributes are %q", p.Attributes)
	}
}

func TestNotSupportedYet(t *testing.T) {
	for _, f := range config.SoonFields() {
		_, errs := config.Parse([]byte(`{"limits":[{"name":"a","rate":"1/s","` + f + `":{}}]}`))
		if len(errs) != 1 || errs[0].Path != "limits[0]."+f || errs[0].Message != "not supported yet" {
			t.Errorf("%s: %v", f, errs)
		}
		for _, row := range config.Describe().Fields {
			if row.Name == "limits" {
				for _, known := range row.Type.Items.Object.Fields {
					if known.Name == f {
						t.Errorf("%s is described", f)
					}
				}
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, folder := range []string{"configs", "invalid"} {
		for _, file := range samples(f, folder) {
			if doc, _ := yamlDoc(read(f, file)); doc != nil {
				f.Add(doc)
			}
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, errs := config.ParseAll(text)
		if (p == nil) == (len(errs) == 0) {
			t.Fatalf("a policy %v and %d errors", p != nil, len(errs))
		}
		last := 0
		for _, e := range errs {
			if e.Message == "" || e.Offset < last || e.Offset > len(text) {
				t.Fatalf("bad error %+v", e)
			}
			last = e.Offset
		}
		if p == nil {
			return
		}
		v := sourcetest.New("example.com/api/x?q=1", "x-user-id", "u").View(&p.Source)
		p.Match(v, func(l *config.Limit) bool {
			for i := range l.Variant(v).Rates {
				l.AppendKey(nil, &l.Variant(v).Rates[i], v)
			}
			return true
		})
	})
}
