package call

import (
	"slices"
	"strings"
	"testing"

	"sluice/redisproto"
)

// words are a command's.
func words(t *testing.T, cmd []byte) (out []string) {
	t.Helper()
	d := redisproto.NewDecoder(redisproto.Limits{})
	d.Feed(cmd)
	v, ok, err := d.Next()
	if err != nil || !ok {
		t.Fatalf("%q: %v", cmd, err)
	}
	if _, more, _ := d.Next(); more {
		t.Fatalf("%q is more than one command", cmd)
	}
	for _, e := range v.Elems {
		out = append(out, string(e.Str))
	}
	return out
}

func is(t *testing.T, cmd []byte, want string) {
	t.Helper()
	if got := strings.Join(words(t, cmd), " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

var script = NewScript("return 1", "abc")

// asks is a request with so many keys, and as many arguments as its id has letters.
func asks(id string, clock int64, keys ...string) *Request {
	r := &Request{}
	r.Begin(script, []byte(id))
	r.Clock = clock
	for _, k := range keys {
		r.Key([]byte(k))
	}
	for i := range int64(len(id)) {
		r.Number(100 + i)
	}
	return r
}

func TestARequestAlone(t *testing.T) {
	r := asks("id", -1, "k1", "k2")
	is(t, r.AppendCall(nil, false), "EVALSHA abc 2 k1 k2  id 100 101")
	is(t, r.AppendCall(nil, true), "EVAL return 1 2 k1 k2  id 100 101")
	r.Clock = 1_700_000_000_000_000
	r.Encoded([]byte("$1\r\n7\r\n$1\r\n8\r\n"), 2)
	is(t, r.AppendCall(nil, false), "EVALSHA abc 2 k1 k2 1700000000000000 id 100 101 7 8")
	if got := r.AppendCall([]byte("before"), false); !strings.HasPrefix(string(got), "before*") {
		t.Errorf("%q", got)
	}
	r.Begin(script, []byte("x")) // nothing of the last one is left
	r.Clock = -1
	is(t, r.AppendCall(nil, false), "EVALSHA abc 0  x")
}

func TestRequestsTogether(t *testing.T) {
	var c Shared
	first, second := asks("a", 5, "k1"), asks("bc", 9, "k2", "k3")
	c.Add(first)
	if c.Len() != 1 || !c.Takes(second) || c.Takes(asks("d", -1)) {
		t.Error("requests go by one clock")
	}
	other := asks("d", 5)
	other.Script = NewScript("return 2", "def")
	if c.Takes(other) {
		t.Error("requests ask one script")
	}
	c.Add(second)
	c.Add(asks("e", 7))
	is(t, c.Flush(nil), "EVALSHA abc 3 k1 k2 k3 9 + 1 1 a 100 2 2 bc 100 101 0 1 e 100")
	if c.Len() != 0 || c.Size() != 0 {
		t.Error("it isn't empty after that")
	}
	// One by itself is called as if alone.
	c.Add(first)
	if got, want := c.Flush(nil), first.AppendCall(nil, false); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	c.Add(first)
	c.Drop()
	c.Add(second)
	c.Add(first)
	is(t, c.Flush(nil), "EVALSHA abc 3 k2 k3 k1 9 + 2 2 bc 100 101 1 1 a 100")
}
