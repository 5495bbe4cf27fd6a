package config_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"sluice/internal/config"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

// matching names the limits that apply to a request.
func matching(p *config.Policy, r source.Request) string {
	var v source.View
	v.Reset(r, &p.Source)
	var names []string
	p.Match(&v, func(l *config.Limit) bool {
		names = append(names, l.Name)
		return true
	})
	return strings.Join(names, " ")
}

const choosy = `
except: [{path: /health}, {ip: 10.0.0.0/8, header:x-probe: present}]
limits:
- {name: all, rate: 1/s}
- {name: api, match: {path: /api/*, method: [GET, POST]}, rate: 1/s, except: {header:x-admin: "1"}}
- {name: gold, group: plan, match: {header:x-plan: gold}, rate: 1/s}
- {name: vip, group: plan, match: {header:x-vip: present}, rate: 1/s, except: [{path: /free}, {method: HEAD}]}
- {name: free, group: plan, rate: 1/s}
- {name: ungrouped, match: {header:x-plan: present}, rate: 1/s}
`

func TestMatch(t *testing.T) {
	p := parse(t, choosy)
	for _, c := range []struct {
		req  *sourcetest.Request
		want string
	}{
		{sourcetest.New("h/"), "all free"},
		{sourcetest.New("h/api/x"), "all api free"},
		{sourcetest.New("h//api;x/../API/../api/%78"), "all api free"},
		{sourcetest.New("h/api/x", ":method", "PUT"), "all free"},
		{sourcetest.New("h/api/x", "x-admin", "1"), "all free"},
		{sourcetest.New("h/", "x-plan", "gold"), "all gold ungrouped"},
		{sourcetest.New("h/", "x-plan", "gold", "x-vip", "1"), "all gold ungrouped"},
		{sourcetest.New("h/", "x-vip", "1"), "all vip"},
		{sourcetest.New("h/free", "x-vip", "1"), "all free"},
		{sourcetest.New("h/", "x-vip", "1", ":method", "HEAD"), "all free"},
		{sourcetest.New("h/health"), ""},
		{sourcetest.New("h/health/"), ""},
		{sourcetest.New("h/%68ealth"), ""},
		{sourcetest.New("h/", "x-probe", "1").From("10.1.2.3:1"), ""},
		{sourcetest.New("h/", "x-probe", "1"), "all free"},
		{sourcetest.New("h/").From("10.1.2.3:1"), "all free"},
		{sourcetest.New("h/api/x", ":method", "OPTIONS"), "all free"},
		{sourcetest.New("h/api/x", ":method", "OPTIONS", "origin", "https://a"), "all free"},
		{sourcetest.New("h/api/x", ":method", "OPTIONS", "origin", "https://a", "access-control-request-method", "PUT"), ""},
		{sourcetest.New("h/api/x", "origin", "https://a", "access-control-request-method", "PUT"), "all api free"},
	} {
		if got := matching(p, c.req); got != c.want {
			t.Errorf("%v: %q, want %q", c.req.Headers, got, c.want)
		}
		// What Why says agrees.
		v := c.req.View(&p.Source)
		var names []string
		for _, l := range p.Limits {
			if p.Why(v, l) == "" {
				names = append(names, l.Name)
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v: not refused %q, want %q", c.req.Headers, got, c.want)
		}
	}
}

func TestMatchEndsWhenTold(t *testing.T) {
	p := parse(t, choosy)
	n := 0
	p.Match(sourcetest.New("h/api").View(&p.Source), func(*config.Limit) bool { n++; return n < 2 })
	if n != 2 {
		t.Errorf("called %d times", n)
	}
}

func TestPreflightsCountWhereAsked(t *testing.T) {
	p := parse(t, "preflight: limit\n"+limits("{name: a, rate: 1/s}"))
	r := sourcetest.New("h/", ":method", "OPTIONS", "origin", "https://a", "access-control-request-method", "PUT")
	if got := matching(p, r); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestWhy(t *testing.T) {
	p := parse(t, choosy)
	for _, c := range []struct {
		limit int
		req   *sourcetest.Request
		want  string
	}{
		{0, sourcetest.New("h/health"), "except: path: /health"},
		{0, sourcetest.New("h/", ":method", "OPTIONS", "origin", "https://a", "access-control-request-method", "PUT"), "it is a CORS preflight"},
		{1, sourcetest.New("h/x"), "path: /api/*"},
		{1, sourcetest.New("h/api", ":method", "PUT"), "method: [GET, POST]"},
		{1, sourcetest.New("h/api", "x-admin", "1"), "except: header:x-admin: 1"},
		{4, sourcetest.New("h/", "x-plan", "gold"), "group plan: gold comes first"},
	} {
		if got := p.Why(c.req.View(&p.Source), p.Limits[c.limit]); got != c.want {
			t.Errorf("%s: %q, want %q", p.Limits[c.limit].Name, got, c.want)
		}
	}
}

func TestPathParams(t *testing.T) {
	p := parse(t, limits(
		"{name: a, match: {path: ['/u/{id}', '/o/{org}/u/{id}/*'], path_param:id: ['7', '8']}, key: path_param:id, rate: 1/s}",
		"{name: b, match: {path: '/u/{id}'}, rate: 1/s, overrides: [{when: {path_param:id: '7'}, unlimited: true}], except: {path_param:id: '9'}}"))
	for path, want := range map[string]string{"/u/7": "a b", "/u/6": "b", "/u/9": "", "/o/x/u/8/y": "a", "/o/x/u/1": ""} {
		if got := matching(p, sourcetest.New("h"+path)); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
	k, _, _ := p.Limits[0].AppendKey(nil, &p.Limits[0].Rates[0], sourcetest.New("h/o/x/u/8/y").View(&p.Source))
	if !strings.HasPrefix(string(k), "rl:{a|8}:") {
		t.Errorf("key is %s", k)
	}
	if va := p.Limits[1].Variant(sourcetest.New("h/u/7").View(&p.Source)); !va.Unlimited {
		t.Errorf("variant is %+v", va)
	}
}

// tenLimits is an ordinary configuration.
const tenLimits = `
client_ip: {trusted_hops: 1}
limits:
- {name: per-ip, key: ip, rate: 100/s}
- {name: per-user, match: {path: /api/*}, key: header:x-user-id, rate: 1000/day}
- {name: create-order, match: {method: POST, path: /api/order/create}, rate: 5000/s}
- {name: search, match: {path: /api/search}, key: header:x-user-id or ip, rate: 10/s}
- {name: login, match: {method: POST, path: /login}, key: ip, rate: 5/min}
- {name: admin, match: {host: admin.example.com}, key: ip, rate: 10/s}
- {name: upload, match: {method: PUT, path: "/files/{id}"}, key: [header:x-user-id, path_param:id], rate: 1/s}
- {name: gold, match: {header:x-plan: gold}, key: header:x-user-id, rate: 500/s}
- {name: v1, match: {path: /v1/*}, key: ip/24, rate: 50/s}
- {name: reports, match: {path: /api/reports/*, method: GET}, key: header:x-tenant, rate: 2/s}
`

// order is a request that meets three of them.
func order() *fixed {
	return &fixed{map[string]string{
		":method": "POST", ":path": "/api/order/create?x=1", ":authority": "shop.example.com", "x-user-id": "user-12345",
		"x-forwarded-for": "198.51.100.7, 192.0.2.1", "user-agent": "test",
	}, []byte("192.0.2.1:40000")}
}

// fixed is a request that allocates nothing.
type fixed struct {
	headers map[string]string
	addr    []byte
}

func (r *fixed) Header(name string) (string, bool) { v, ok := r.headers[name]; return v, ok }
func (r *fixed) Attribute(string) ([]byte, bool)   { return r.addr, true }

// decideKeys does what the engine does with a policy for one request.
func decideKeys(p *config.Policy, v *source.View, dst []byte) ([]byte, int) {
	n := 0
	p.Match(v, func(l *config.Limit) bool {
		va := l.Variant(v)
		for i := range va.Rates {
			dst, _, _ = l.AppendKey(dst, &va.Rates[i], v)
			n++
		}
		return true
	})
	return dst, n
}

func TestDecidingAllocatesNothing(t *testing.T) {
	p := parse(t, tenLimits)
	r := order()
	var v source.View
	buf := make([]byte, 0, 1024)
	n := 0
	if a := testing.AllocsPerRun(100, func() {
		v.Reset(r, &p.Source)
		buf, n = decideKeys(p, &v, buf[:0])
	}); a != 0 {
		t.Errorf("%v allocations", a)
	}
	if n != 3 {
		t.Errorf("%d counters: %s", n, buf)
	}
}

// many is a configuration of n limits, of which three match order.
func many(n int) string {
	var b strings.Builder
	b.WriteString("{\"limits\":[{\"name\":\"per-ip\",\"key\":\"ip\",\"rate\":\"100/s\"}," +
		"{\"name\":\"per-user\",\"match\":{\"path\":\"/api/*\"},\"key\":\"header:x-user-id\",\"rate\":\"1000/day\"}," +
		"{\"name\":\"create\",\"match\":{\"method\":\"POST\",\"path\":\"/api/order/create\"},\"rate\":\"5000/s\"}")
	for i := 3; i < n; i++ {
		fmt.Fprintf(&b, ",{\"name\":\"l%d\",\"match\":{\"host\":\"h%d.example.com\",\"path\":\"/p%d/*\"},\"rate\":\"1/s\"}", i, i%100, i)
	}
	b.WriteString("]}")
	return b.String()
}

func BenchmarkDecideKeys(b *testing.B) {
	policies := map[string]*config.Policy{"mixed 10": parse(b, tenLimits)}
	for _, n := range []int{10, 10_000} {
		p, errs := config.Parse([]byte(many(n)))
		if errs != nil {
			b.Fatal(errs)
		}
		policies[strconv.Itoa(n)] = p
	}
	for name, p := range policies {
		b.Run(name, func(b *testing.B) {
			r := order()
			var v source.View
			buf := make([]byte, 0, 1024)
			n := 0
			b.ReportAllocs()
			for b.Loop() {
				v.Reset(r, &p.Source)
				buf, n = decideKeys(p, &v, buf[:0])
			}
			if n != 3 {
				b.Fatalf("%d counters", n)
			}
		})
	}
}

func BenchmarkVariant(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			var s strings.Builder
			s.WriteString(`{"limits":[{"name":"a","rate":"1/s","overrides":[`)
			for i := range n {
				if i > 0 {
					s.WriteByte(',')
				}
				fmt.Fprintf(&s, `{"when":{"header:x-tenant":"t%d"},"rate":"%d/s"}`, i, i+1)
			}
			s.WriteString("]}]}")
			p, errs := config.ParseAll([]byte(s.String()))
			if errs != nil {
				b.Fatal(errs)
			}
			r := &fixed{map[string]string{"x-tenant": "t7"}, nil}
			var v source.View
			b.ReportAllocs()
			for b.Loop() {
				v.Reset(r, &p.Source)
				if va := p.Limits[0].Variant(&v); va.Rates[0].Params.Limit != 8 {
					b.Fatal(va)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{10, 10_000} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			text := []byte(many(n))
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, errs := config.Parse(text); errs != nil {
					b.Fatal(errs)
				}
			}
		})
	}
}
