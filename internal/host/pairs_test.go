package host

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func readAll(raw []byte) [][2]string {
	var got [][2]string
	p := ReadPairs(raw)
	for name, value, ok := p.Next(); ok; name, value, ok = p.Next() {
		got = append(got, [2]string{name, value})
	}
	return got
}

var samplePairs = [][2]string{{":path", "/a"}, {"x-empty", ""}, {"", "nameless"}, {"x-a", "1"}, {"x-a", "2"}}

func TestPairsFormat(t *testing.T) {
	want := "\x02\x00\x00\x00" +
		"\x01\x00\x00\x00\x07\x00\x00\x00" + "\x03\x00\x00\x00\x00\x00\x00\x00" +
		"a\x00ABCDEFG\x00" + "@AB\x00\x00"
	got := AppendPairs(nil, [][2]string{{"a", "ABCDEFG"}, {"@AB", ""}})
	if string(got) != want {
		t.Errorf("got %q", got)
	}
	if got := AppendPairs([]byte("before"), nil); string(got) != "before\x00\x00\x00\x00" {
		t.Errorf("got %q", got)
	}
}

func TestPairsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var pairs [][2]string
		for range rapid.IntRange(0, 20).Draw(t, "n") {
			pairs = append(pairs, [2]string{rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")})
		}
		raw := AppendPairs(nil, pairs)
		p := ReadPairs(raw)
		if p.Len() != len(pairs) {
			t.Fatalf("%d fields", p.Len())
		}
		if got := readAll(raw); !slices.Equal(got, pairs) {
			t.Fatalf("got %q, want %q", got, pairs)
		}
	})
}

// A buffer cut anywhere yields a prefix of its fields.
func TestPairsCutShort(t *testing.T) {
	raw := AppendPairs(nil, samplePairs)
	for n := range raw {
		got := readAll(raw[:n])
		if len(got) >= len(samplePairs) || !slices.Equal(got, samplePairs[:len(got)]) {
			t.Errorf("cut at %d: %q", n, got)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add(AppendPairs(nil, samplePairs))
	f.Add([]byte("\xff\xff\xff\xff"))
	f.Add([]byte("\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xffab"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		total := 0
		for _, p := range readAll(raw) {
			total += len(p[0]) + len(p[1])
		}
		if total > len(raw) {
			t.Errorf("%d bytes out of %d", total, len(raw))
		}
		NewHeaders(raw).Get("x-a")
	})
}

func TestHeaders(t *testing.T) {
	h := NewHeaders(AppendPairs(nil, [][2]string{
		{"host", "a"}, {"x", "1"}, {"y", ""}, {"x", ""}, {"x", "3"}, {"z", ""}, {"z", "2"},
	}))
	for name, want := range map[string]string{"host": "a", "x": "1,,3", "y": "", "z": ",2"} {
		if got, ok := h.Get(name); !ok || got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	for _, name := range []string{"none", "Host", ""} {
		if got, ok := h.Get(name); ok || got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got, ok := h.First("x"); !ok || got != "1" {
		t.Errorf("first x: %q, %v", got, ok)
	}
	if _, ok := h.First("none"); ok {
		t.Error("first of none")
	}
	if _, ok := (Headers{}).Get("x"); ok {
		t.Error("a field of no headers")
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	h := NewHeaders(AppendPairs(nil, samplePairs))
	if n := testing.AllocsPerRun(100, func() {
		h.Get(":path")
		h.Get("none")
		h.First("x-a")
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() { h.Get("x-a") }); n != 1 {
		t.Errorf("%v allocations to join", n)
	}
}

func TestGrpcService(t *testing.T) {
	if got := string(appendGrpcService(nil, "redis_pipe")); got != "\x0a\x0c\x0a\x0aredis_pipe" {
		t.Errorf("got %q", got)
	}
	// Lengths above 127 take two bytes.
	long := strings.Repeat("c", 200)
	if got := string(appendGrpcService([]byte("x"), long)); got != "x\x0a\xcb\x01\x0a\xc8\x01"+long {
		t.Errorf("got %q", got)
	}
}

func BenchmarkHeadersGet(b *testing.B) {
	pairs := [][2]string{{":method", "GET"}, {":path", "/api/order/create?id=1"}, {":authority", "a.test"}}
	for _, n := range []string{"user-agent", "accept", "accept-encoding", "x-request-id", "cookie", "x-forwarded-for", "x-user-id"} {
		pairs = append(pairs, [2]string{n, "some value of a usual length"})
	}
	h := NewHeaders(AppendPairs(nil, pairs))
	b.ReportAllocs()
	for b.Loop() {
		h.Get("x-user-id")
	}
}
