package operate

import (
	"strings"
	"testing"

	"sluice/internal/config/yamlconfig"
	"sluice/internal/source"
)

// headers is a request made of headers alone.
type headers map[string]string

func (h headers) Header(name string) (string, bool) { v, ok := h[name]; return v, ok && v != "" }
func (h headers) Attribute(string) ([]byte, bool)   { return nil, false }

// A caller that the tool names is the one whom gateways count, whatever the
// values, plain or hashed.
func TestTargetsAreGatewaysKeys(t *testing.T) {
	const text = `limits: [{name: a, key: [header:x-a, "header:x-b or header:x-c"], rate: 5/s}]`
	for _, x := range []string{text, text + "\nhash_keys: true\nhash_secret_env: SECRET\n"} {
		p, problems := yamlconfig.Parse([]byte(x))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		p.SetHashSecret([]byte("of the gateways"))
		o := &Operator{Prefix: "rl", Policy: p}
		for _, c := range []struct {
			request headers
			parts   []string
		}{
			{headers{"x-a": "u1", "x-b": "1"}, []string{"u1", "header:x-b=1"}},
			{headers{"x-a": "u1", "x-c": "1"}, []string{"u1", "header:x-c=1"}},
			{headers{"x-a": "a|b%{}: \x00é", "x-b": "="}, []string{"a|b%{}: \x00é", "header:x-b=="}},
			{headers{"x-a": strings.Repeat("long", 50), "x-c": strings.Repeat("x", 64)}, []string{strings.Repeat("long", 50), "header:x-c=" + strings.Repeat("x", 64)}},
			{headers{"x-b": "1"}, []string{Missing, "header:x-b=1"}},
			{headers{}, []string{Missing, Missing}},
			{headers{"x-a": "%-", "x-b": "%+b"}, []string{"%-", "header:x-b=%+b"}},
		} {
			var v source.View
			v.Reset(c.request, &p.Source)
			want, _ := p.Limits[0].Key.Append(nil, &v)
			got, err := o.Target("a", c.parts)
			if err != nil || got.Values != string(want) {
				t.Errorf("%q: %q, %v, and gateways count %q", c.parts, got.Values, err, want)
			}
		}
	}
}
