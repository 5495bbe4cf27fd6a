package edges

import (
	"encoding/json"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

var tagDoor = newDoor("tag", policy(nil,
	perKey("soft", "2/hour", m{"tag": m{"header": "x-over", "value": "soft"}}),
	perKey("hard", "4/hour"),
), routes(
	m{"match": m{"prefix": "/", "headers": []any{m{"name": "x-over", "string_match": m{"exact": "soft"}}}},
		"route": m{"cluster": envoyconfig.Upstream, "prefix_rewrite": "/slow-lane"}},
	toUpstream("/", nil),
))

// A tagged request takes the route for tagged ones; nobody can tag himself, and
// limits that reject still do.
func TestTaggedRequestsTakeAnotherRoute(t *testing.T) {
	key := uniqueKey(t)
	for i, want := range []string{"/shop", "/shop", "/slow-lane", "/slow-lane"} {
		a := tagDoor.send(t, call{path: "/shop", key: key, header: map[string]string{"x-over": "soft"}}).must(t, 200).limited(t)
		var saw echo
		if err := json.Unmarshal([]byte(a.body), &saw); err != nil {
			t.Fatal(err)
		}
		if saw.Path[:len(want)] != want {
			t.Errorf("request %d took %s, expected %s", i, saw.Path, want)
		}
		tags := saw.Header.Values("x-over")
		if tagged := i >= 2; tagged != (len(tags) == 1 && tags[0] == "soft") || len(tags) > 1 {
			t.Errorf("request %d has tags %q", i, tags)
		}
	}
	tagDoor.get(t, "/shop", key, 429)
	if got := shared.upstream.count(key); got != 4 {
		t.Errorf("%d requests reached the upstream", got)
	}
}

// However a caller spells the header, it is removed where no limit sets it.
func TestOwnTagIsRemoved(t *testing.T) {
	a := tagDoor.raw(t, "GET / HTTP/1.1\r\nhost: x\r\nX-OVER: soft\r\nx-over: soft\r\nx-Over:\r\nx-key: "+uniqueKey(t)+"\r\n\r\n").must(t, 200)
	var saw echo
	if err := json.Unmarshal([]byte(a.body), &saw); err != nil {
		t.Fatal(err)
	}
	if tags := saw.Header.Values("x-over"); len(tags) > 0 || saw.Path != "/" {
		t.Errorf("%s with tags %q", saw.Path, tags)
	}
}
