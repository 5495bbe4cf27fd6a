package edges

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dunglas/httpsfv"
)

// draftLimits are limits of every kind, each for one path.
var draftLimits = func() []m {
	limits := []m{
		{"rate": "0/s"}, {"rate": "1/s"}, {"rate": "5/250ms"}, {"rate": "10/1500ms"}, {"rate": "100/min"}, {"rate": "7/day"}, {"rate": "281474976710655/hour"},
		{"rate": "1000/366days"}, {"rate": []any{"3/250ms", "5/s", "100/hour", "1000/day"}}, {"rate": "50/min", "storage": "zset"}, {"rate": "10/min", "cost": 3},
		{"rate": "10/min", "cost": 11}, {"rate": "100/min", "cost": "header:x-cost"}, {"rate": "1000/min", "cost": "body_bytes"},
		{"rate": "10/min", "algorithm": "fixed_window"}, {"rate": "10/s", "algorithm": "token_bucket", "burst": 20}, {"rate": "3/min", "algorithm": "token_bucket", "burst": 1},
		{"rate": "3/min", "algorithm": "leaky_bucket"}, {"rate": "20/s", "algorithm": "leaky_bucket", "burst": 3, "max_wait": "200ms"},
		{"rate": "10/min", "algorithm": "sliding_counter", "buckets": 5}, {"algorithm": "concurrency", "max": 3},
		{"rate": "100/day", "algorithm": "calendar", "timezone": "Europe/Berlin"}, {"rate": "5/month", "algorithm": "calendar"}, {"rate": "5/hour", "algorithm": "calendar", "timezone": "Asia/Kathmandu"},
		{"rate": m{"from": "header:x-rate", "default": "5/min"}}, {"rate": "3/min", "penalty": "30s"}, {"rate": "3/min", "count_rejected": true},
		{"rate": "2/min", "shadow": true}, {"rate": "2/min", "headers": false}, {"rate": "2/min", "tag": m{"header": "x-over"}}, {"rate": "5/min", "enforce": "50%"},
		{"rate": "5/min", "overrides": []any{m{"when": m{"header:x-tier": "gold"}, "rate": "50/s"}, m{"when": m{"header:x-tier": "free"}, "unlimited": true}}},
	}
	for i, l := range limits {
		l["name"] = fmt.Sprintf("d%d", i)
		l["key"] = "header:x-key"
		l["match"] = m{"header:x-limits": "~,d" + strconv.Itoa(i) + ","}
	}
	return limits
}()

var draftDoor = newDoor("draft", policy(nil, draftLimits...))

// member is an item of one of the two headers.
type member struct {
	name   string
	params *httpsfv.Params
}

// members parses a header's lines as RFC 9651 says a List.
func members(t *testing.T, h http.Header, name string) []member {
	t.Helper()
	list, err := httpsfv.UnmarshalList(h.Values(name))
	if err != nil {
		t.Fatalf("%s: %v\n%q", name, err, h.Values(name))
	}
	var out []member
	for _, item := range list {
		i, ok := item.(httpsfv.Item)
		if !ok {
			t.Fatalf("%s has a member that is no item: %q", name, h.Values(name))
		}
		text, ok := i.Value.(string)
		if !ok || text == "" {
			t.Fatalf("%s has a member whose value is no string: %q", name, h.Values(name))
		}
		out = append(out, member{text, i.Params})
	}
	return out
}

// whole reads a parameter that has to be an integer of at least least.
func (p member) whole(t *testing.T, name string, least int64) (int64, bool) {
	t.Helper()
	v, ok := p.params.Get(name)
	if !ok {
		return 0, false
	}
	n, ok := v.(int64)
	if !ok || n < least {
		t.Errorf("%q: parameter %s is %v (%T)", p.name, name, v, v)
	}
	return n, true
}

// checkDraft checks an answer's headers by the rules of
// draft-ietf-httpapi-ratelimit-headers-10, and returns the policies' names.
func checkDraft(t *testing.T, a answer) []string {
	t.Helper()
	quota := map[string]int64{}
	var names []string
	for _, p := range members(t, a.header, "ratelimit-policy") {
		if _, twice := quota[p.name]; twice {
			t.Errorf("policy %q is there twice", p.name)
		}
		q, ok := p.whole(t, "q", 0) // required
		if !ok {
			t.Errorf("policy %q has no q", p.name)
		}
		quota[p.name] = q
		names = append(names, p.name)
		p.whole(t, "w", 1)
		if qu, ok := p.params.Get("qu"); ok {
			switch qu {
			case "requests", "content-bytes", "concurrent-requests":
			default:
				t.Errorf("policy %q has the unknown quota unit %v", p.name, qu)
			}
		}
		for _, name := range p.params.Names() {
			if !strings.Contains(" q w qu pk ", " "+name+" ") {
				t.Errorf("policy %q has the unknown parameter %s", p.name, name)
			}
		}
	}
	limits := members(t, a.header, "ratelimit")
	for _, l := range limits {
		q, known := quota[l.name]
		if !known {
			t.Errorf("ratelimit %q is no policy of %v", l.name, names)
		}
		r, ok := l.whole(t, "r", 0) // required
		if !ok {
			t.Errorf("ratelimit %q has no r", l.name)
		}
		l.whole(t, "t", 0)
		for _, name := range l.params.Names() {
			if !strings.Contains(" r t pk ", " "+name+" ") {
				t.Errorf("ratelimit %q has the unknown parameter %s", l.name, name)
			}
		}
		if got := a.header.Get("x-ratelimit-remaining"); got != fmt.Sprint(r) {
			t.Errorf("r is %d and x-ratelimit-remaining %s", r, got)
		}
		if got := a.header.Get("x-ratelimit-limit"); got != fmt.Sprint(q) {
			t.Errorf("q is %d and x-ratelimit-limit %s", q, got)
		}
	}
	if (len(names) > 0) != (len(limits) == 1) {
		t.Errorf("%d policies and %d limits", len(names), len(limits))
	}
	return names
}

// ask asks for some of the limits to apply.
func askDraft(t *testing.T, key string, limits []int, header map[string]string) answer {
	t.Helper()
	h := map[string]string{"x-limits": ",", "x-cost": "2"}
	for _, i := range limits {
		h["x-limits"] += fmt.Sprintf("d%d,", i)
	}
	for name, value := range header {
		h[name] = value
	}
	a := draftDoor.send(t, call{method: "POST", key: key, header: h, body: strings.NewReader("twenty bytes of body")})
	if a.err != nil || (a.status != 200 && a.status != 429) {
		t.Fatalf("limits %v: answered %d (%v)\n%s", limits, a.status, a.err, a.body)
	}
	return a
}

// Each kind of limit alone, until it rejects.
func TestDraftHeadersOfEachLimit(t *testing.T) {
	key := uniqueKey(t)
	for i, l := range draftLimits {
		for range 4 {
			a := askDraft(t, key, []int{i}, nil)
			names := checkDraft(t, a)
			hidden := l["shadow"] == true || l["headers"] == false || l["tag"] != nil
			if list, windows := l["rate"].([]any); windows {
				if want := fmt.Sprintf("[d%[1]d-250ms d%[1]d-1s d%[1]d-1h d%[1]d-1d]", i); fmt.Sprint(names) != want {
					t.Errorf("%d windows are %v, expected %s", len(list), names, want)
				}
			} else if l["enforce"] == nil && (len(names) == 0) != hidden {
				t.Errorf("limit %v: policies %v", l, names)
			}
			if t.Failed() {
				t.Fatalf("limit %v was answered %d %v", l, a.status, a.header)
			}
		}
	}
}

// The parameters that depend on the kind.
func TestDraftParameters(t *testing.T) {
	key := uniqueKey(t)
	for i, l := range draftLimits {
		a := askDraft(t, key, []int{i}, nil)
		policies := members(t, a.header, "ratelimit-policy")
		if len(policies) == 0 {
			continue
		}
		p := policies[0]
		w, hasW := p.whole(t, "w", 1)
		qu, _ := p.params.Get("qu")
		switch {
		case l["algorithm"] == "concurrency":
			if hasW || qu != "concurrent-requests" {
				t.Errorf("concurrency: w=%d, qu=%v", w, qu)
			}
		case l["cost"] == "body_bytes":
			if qu != "content-bytes" {
				t.Errorf("bytes: qu=%v", qu)
			}
		case l["rate"] == "5/250ms":
			if hasW {
				t.Errorf("a window of 250 ms has w=%d", w)
			}
		case l["rate"] == "5/month":
			now := time.Now().UTC()
			first := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
			if want := first.AddDate(0, 1, 0).Sub(first); w != int64(want.Seconds()) {
				t.Errorf("this month has %d s, expected %v", w, want)
			}
		case l["algorithm"] == "calendar" && l["rate"] == "100/day":
			if w < 23*3600 || w > 25*3600 {
				t.Errorf("a day in Berlin has %d s", w)
			}
		case l["rate"] == "100/min":
			if w != 60 || qu != nil {
				t.Errorf("w=%d, qu=%v", w, qu)
			}
		}
	}
	// The request's own rate, and an override's.
	own := members(t, askDraft(t, key, []int{24}, map[string]string{"x-rate": "77/hour"}).header, "ratelimit-policy")
	if q, _ := own[0].whole(t, "q", 0); q != 77 {
		t.Errorf("of a rate of 77/hour q is %d", q)
	}
	gold := members(t, askDraft(t, key, []int{31}, map[string]string{"x-tier": "gold"}).header, "ratelimit-policy")
	if q, _ := gold[0].whole(t, "q", 0); q != 50 {
		t.Errorf("of 50/s for gold q is %d", q)
	}
	askDraft(t, key, []int{31}, map[string]string{"x-tier": "free"}).unlimited(t)
}

// What remains of a policy is part of its quota: a client that shows how much it
// has used would say nonsense otherwise. So a bucket's quota is its capacity.
func TestRemainingIsWithinTheQuota(t *testing.T) {
	key := uniqueKey(t)
	for i, l := range draftLimits {
		for range 3 {
			a := askDraft(t, key, []int{i}, nil)
			for _, limit := range members(t, a.header, "ratelimit") {
				for _, p := range members(t, a.header, "ratelimit-policy") {
					r, _ := limit.whole(t, "r", 0)
					if q, _ := p.whole(t, "q", 0); p.name == limit.name && r > q {
						t.Errorf("limit %v: q is %d and r %d", l, q, r)
					}
				}
			}
		}
	}
}

// Several limits at once, of any kinds.
func TestDraftHeadersOfMixtures(t *testing.T) {
	key := uniqueKey(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 150 {
		some := r.Perm(len(draftLimits))[:1+r.IntN(6)]
		a := askDraft(t, key+fmt.Sprint(r.IntN(4)), some, nil)
		checkDraft(t, a)
		if t.Failed() {
			t.Fatalf("limits %v: %d %v", some, a.status, a.header)
		}
	}
}
