package match_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"sluice/internal/match"
	"sluice/internal/source"
	"sluice/internal/source/sourcetest"
)

// words are few, so that conditions and requests meet.
var (
	pathTexts   = []string{"/", "/*", "/a", "/a/*", "/a/b", "/a/{x}", "/{y}/b", "/{y}/*", "/a/b/*", "/b", "~^/a", "present"}
	hostTexts   = []string{"a.com", "*.com", "b.a.com", "*.a.com", "absent", "~^b"}
	ipTexts     = []string{"10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "::/0", "2001:db8::/32", "absent", "~^10"}
	methodTexts = []string{"GET", "POST", "PUT", "present"}
	valueTexts  = []string{"1", "2", "3", "present", "absent", "~[12]"}
)

// matcherOf draws a matcher.
func matcherOf(t *rapid.T) *match.Matcher {
	var all []match.Condition
	for _, c := range []struct {
		src   string
		texts []string
	}{
		{"path", pathTexts}, {"host", hostTexts}, {"ip", ipTexts}, {"method", methodTexts},
		{"header:x", valueTexts}, {"header:y", valueTexts}, {"route", valueTexts},
	} {
		if rapid.IntRange(0, 2).Draw(t, "has "+c.src) != 0 {
			continue
		}
		texts := rapid.SliceOfNDistinct(rapid.SampledFrom(c.texts), 1, 3, rapid.ID[string]).Draw(t, c.src)
		s, err := source.Parse(c.src)
		if err != nil {
			t.Fatal(err)
		}
		cond, err := match.Parse(s, texts, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, cond)
	}
	return match.New(all...)
}

func requestOf(t *rapid.T) *sourcetest.Request {
	pick := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(t, name) }
	r := sourcetest.New(pick("host", "a.com", "b.a.com", "c.b.a.com", "com", "x.org", "") + pick("path", "/", "/a", "/a/", "/a/b", "/b", "/b/b", "/a/b/c", "/a/x"))
	r.From(pick("ip", "10.1.2.3:1", "10.1.9.9:1", "10.9.9.9:1", "11.0.0.1:1", "[2001:db8::1]:1", "1.1.1.1:0"))
	r.Headers[":method"] = pick("method", "GET", "post", "PUT", "PATCH")
	r.Headers["x"] = pick("x", "1", "2", "3", "4", "")
	r.Headers["y"] = pick("y", "1", "2", "")
	if route := pick("route", "1", "2", ""); route != "" {
		r.Attributes["xds.route_name"] = []byte(route)
	}
	return r
}

func TestIndexFindsWhatTryingAllFinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		matchers := rapid.SliceOfN(rapid.Custom(matcherOf), 0, 60).Draw(t, "matchers")
		x := match.NewIndex(matchers)
		for range 5 {
			r := requestOf(t)
			v := r.View(nil)
			var want []int
			for i, m := range matchers {
				if m.Matches(v) {
					want = append(want, i)
				}
			}
			got := x.Append([]int{-7}, r.View(nil))
			if got[0] != -7 || !slices.Equal(got[1:], want) {
				t.Fatalf("found %v, want %v, for %v", got, want, r.Headers)
			}
			first := -1
			if len(want) > 0 {
				first = want[0]
			}
			v.Hits = append(v.Hits, 5, 6)
			if got := x.First(v); got != first || !slices.Equal(v.Hits, []int{5, 6}) {
				t.Fatalf("first is %d, want %d; hits are %v", got, first, v.Hits)
			}
		}
	})
}

// spread makes n matchers that tell requests apart in one way.
func spread(t testing.TB, kind string, n int) []*match.Matcher {
	var all []*match.Matcher
	for i := range n {
		id := strconv.Itoa(i)
		var conds []match.Condition
		add := func(src string, texts ...string) { conds = append(conds, condition(t, src, nil, texts...)) }
		switch kind {
		case "path":
			add("path", "/api/r"+id+"/*")
			add("method", "GET")
		case "template":
			add("path", "/tenants/{t}/r"+id)
		case "host":
			add("host", "h"+id+".example.com")
			add("path", "/api/*")
		case "wildcard host":
			add("host", "*.h"+id+".example.com")
		case "host and path":
			add("host", "h"+strconv.Itoa(i/100)+".example.com")
			add("path", "/api/r"+strconv.Itoa(i%100)+"/*")
		case "header":
			add("path", "/api/*")
			add("header:x-tenant", "t"+id)
		case "many headers":
			add("header:x-"+strconv.Itoa(i/100), "t"+strconv.Itoa(i%100))
		case "ip":
			add("ip", fmt.Sprintf("10.%d.%d.0/24", i/256, i%256))
		}
		all = append(all, match.New(conds...))
	}
	return all
}

// hit is a request that one of spread's matchers holds for.
func hit(kind string) *sourcetest.Request {
	switch kind {
	case "path":
		return sourcetest.New("h/api/r7/x")
	case "template":
		return sourcetest.New("h/tenants/a/r7")
	case "host":
		return sourcetest.New("h7.example.com/api/a")
	case "wildcard host":
		return sourcetest.New("a.h7.example.com/")
	case "host and path":
		return sourcetest.New("h0.example.com/api/r7/x")
	case "header":
		return sourcetest.New("h/api/a", "x-tenant", "t7")
	case "many headers":
		return sourcetest.New("h/", "x-0", "t7")
	}
	return sourcetest.New("h/").From("10.0.7.9:1")
}

var spreads = []string{"path", "template", "host", "wildcard host", "host and path", "header", "many headers", "ip"}

func TestIndexTriesFew(t *testing.T) {
	for _, kind := range spreads {
		matchers := spread(t, kind, 10_000)
		tried := 0
		counting := make([]*match.Matcher, len(matchers))
		for i, m := range matchers {
			counting[i] = match.New(append([]match.Condition{count{&tried}}, m.Conditions()...)...)
		}
		got := match.NewIndex(counting).Append(nil, hit(kind).View(nil))
		if !slices.Equal(got, []int{7}) {
			t.Errorf("%s: found %v, want [7]", kind, got)
		}
		if tried > 8 {
			t.Errorf("%s: %d of 10,000 matchers tried for one that holds", kind, tried)
		}
	}
}

// count is a condition that always holds and counts how often it is asked.
type count struct{ n *int }

func (c count) Holds(*source.View) bool { *c.n++; return true }
func (c count) Source() source.Source   { return source.Const{} }
func (c count) String() string          { return "counted" }

func TestIndexAllocatesNothing(t *testing.T) {
	for _, kind := range spreads {
		x := match.NewIndex(spread(t, kind, 1000))
		r := hit(kind)
		v := r.View(nil)
		v.ClientIP() // the test's own attribute map allocates
		v.Hits = make([]int, 0, 16)
		dst := make([]int, 0, 16)
		if n := testing.AllocsPerRun(100, func() {
			dst = x.Append(dst[:0], v)
			x.First(v)
		}); n != 0 {
			t.Errorf("%s: %v allocations", kind, n)
		}
	}
}

func BenchmarkIndex(b *testing.B) {
	for _, kind := range spreads {
		for _, n := range []int{10, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, n), func(b *testing.B) {
				x := match.NewIndex(spread(b, kind, n))
				r := hit(kind)
				var v source.View
				var dst []int
				b.ReportAllocs()
				for b.Loop() {
					v.Reset(r, nil)
					dst = x.Append(dst[:0], &v)
				}
				if len(dst) != 1 {
					b.Fatalf("found %v", dst)
				}
			})
		}
	}
}
