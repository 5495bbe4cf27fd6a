package simulate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// Wherever a limit is counted, one gateway's figures are the same: by the models and
// by the scripts.
func TestPlacesCountAlike(t *testing.T) {
	const limits = `limits:
- {name: own, rate: 30/s, algorithm: token_bucketSCOPE}
- {name: user, key: header:x-user, rate: [2/s, 40/min]TAG}
- {name: slow, key: ip, rate: 100/min, algorithm: fixed_window, penalty: 5sTAG}
`
	rdb := stacktest.Redis(t, stack.RedisOptions{})
	server, err := ParseServer(rdb.Addr)
	if err != nil {
		t.Fatal(err)
	}
	input := func() Input {
		return loadOf(t, "poisson 50/s", func(o *LoadOptions) {
			o.Keys = 20
			o.Headers = append(o.Headers, "x-user: u{key}")
		})
	}
	var first []byte
	for _, c := range []struct {
		head, scope, tag string
		notes            []string
	}{
		{"", "", "", nil},
		{"", ", scope: gateway", "", []string{"the figures of own are those of one gateway"}},
		{"redis: {topology: cluster}\n", ", scope: gateway", "", []string{"one gateway", "nodes all answer"}},
		{"redis: {topology: cluster}\n", "", ", hash_tag: header:x-user", []string{"nodes all answer"}},
	} {
		cfg := configure(t, c.head+strings.NewReplacer("SCOPE", c.scope, "TAG", c.tag).Replace(limits))
		for _, s := range []*Server{nil, &server} {
			r := simulated(t, cfg, input(), Options{Server: s, RedisGiven: s != nil})
			want := c.notes
			if s != nil {
				want = append(want[:len(want):len(want)], "overrides set at run time are not applied")
			}
			if len(r.Notes) != len(want) {
				t.Errorf("notes %q, expected %q", r.Notes, want)
			}
			for _, says := range want {
				if !strings.Contains(strings.Join(r.Notes, "\n"), says) {
					t.Errorf("no note says %q: %q", says, r.Notes)
				}
			}
			got, err := json.Marshal(r.Runs[0].Limits)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
				if run := r.Runs[0]; run.Admitted == 0 || run.Rejected == 0 {
					t.Fatalf("%+v", run)
				}
			}
			if d := cmp.Diff(string(first), string(got)); d != "" {
				t.Errorf("%+v differs: %s", c, d)
			}
		}
	}
}
