package usage

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

const events = "event: message\r\ndata: {\"choices\":[{\"delta\":\"hi\"}]}\r\n\r\n" +
	"data: {\"usage\":{\"total_tokens\":3}}\n\n" +
	": comment\n" +
	"data:{\"usage\":{\"total_tokens\":41}}\n\ndata: [DONE]\n\n"

func TestValue(t *testing.T) {
	for _, c := range []struct {
		name, contentType, body, path string
		want                          int64
		ok                            bool
	}{
		{"json", "application/json", `{"usage":{"total_tokens":17}}`, "usage.total_tokens", 17, true},
		{"a list", "application/json", `{"a":[{"n":1},{"n":2}]}`, "a.1.n", 2, true},
		{"missing", "application/json", `{"usage":{}}`, "usage.total_tokens", 0, false},
		{"a text", "application/json", `{"n":"5"}`, "n", 0, false},
		{"negative", "application/json", `{"n":-5}`, "n", 0, false},
		{"a fraction", "application/json", `{"n":1.5}`, "n", 0, false},
		{"huge", "application/json", `{"n":1e300}`, "n", 0, false},
		{"not JSON", "text/html", `<html>`, "n", 0, false},
		{"empty", "application/json", ``, "n", 0, false},
		{"too long", "application/json", `{"n":1,"x":"` + strings.Repeat("x", MaxBytes) + `"}`, "n", 0, false},
		{"too deep", "application/json", `{"n":1,"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, "n", 0, false},
		{"the last event that has it", "text/event-stream; charset=utf-8", events, "usage.total_tokens", 41, true},
		{"an event without its line feed", "Text/Event-Stream", `data: {"n":4}`, "n", 4, true},
		{"a long event is passed over", "text/event-stream", "data: {\"n\":4}\n\ndata: {\"n\":5,\"x\":\"" + strings.Repeat("x", MaxBytes) + "\"}\n\n", "n", 4, true},
	} {
		for _, step := range []int{1, 7, 1 << 30} {
			r := New(c.path, c.contentType)
			for rest := c.body; rest != ""; {
				n := min(step, len(rest))
				r.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got, ok := r.Value(); got != c.want || ok != c.ok {
				t.Errorf("%s, %d bytes at a time: %d, %v", c.name, step, got, ok)
			}
			if len(r.buf) > MaxBytes {
				t.Errorf("%s: keeps %d bytes", c.name, len(r.buf))
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add([]byte(events), true, 3)
	f.Add([]byte(`{"usage":{"total_tokens":2}}`), false, 1)
	f.Fuzz(func(t *testing.T, body []byte, stream bool, cut int) {
		contentType := "application/json"
		if stream {
			contentType = "text/event-stream"
		}
		whole := New("usage.total_tokens", contentType)
		whole.Write(body)
		parts := New("usage.total_tokens", contentType)
		cut = min(max(cut, 0), len(body))
		parts.Write(body[:cut])
		parts.Write(body[cut:])
		a, aok := whole.Value()
		b, bok := parts.Value()
		if a != b || aok != bok {
			t.Errorf("whole: %d, %v; cut at %d: %d, %v", a, aok, cut, b, bok)
		}
	})
}

// What a path leads to is what a reader with a longer language of paths finds.
func TestPathsAsOthersReadThem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "x-y", "0", "1"}
	var value func(depth int) string
	value = func(depth int) string {
		kind := r.IntN(7)
		if depth == 0 {
			kind = r.IntN(3)
		}
		var parts []string
		switch kind {
		case 0, 1:
			return []string{"0", "7", "-3", "1.5", "2e3", "17.0", "281474976710656", "281474976710657"}[r.IntN(8)]
		case 2:
			return []string{`"7"`, `"}"`, `"\"]"`, "true", "null", `"\\"`}[r.IntN(6)]
		case 3, 4:
			for range r.IntN(4) {
				parts = append(parts, value(depth-1))
			}
			return "[" + strings.Join(parts, ", ") + "]"
		}
		for i, at := range r.Perm(len(names)) {
			if i < r.IntN(5) {
				parts = append(parts, `"`+names[at]+`" : `+value(depth-1))
			}
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	found := 0
	for range 50_000 {
		body := value(4)
		var path []string
		for range 1 + r.IntN(3) {
			path = append(path, names[r.IntN(len(names))])
		}
		reader := New(strings.Join(path, "."), "application/json")
		reader.Write([]byte(body))
		got, ok := reader.Value()
		v := gjson.Get(body, strings.Join(path, "."))
		want := v.Type == gjson.Number && v.Num >= 0 && v.Num <= 1<<48 && v.Num == float64(int64(v.Num)) && strings.ContainsAny(body[:1], "{[")
		if ok != want || ok && got != int64(v.Num) {
			t.Fatalf("%s of %s is %d, %v, want %s", strings.Join(path, "."), body, got, ok, v.Raw)
		}
		if ok {
			found++
		}
	}
	if found < 500 {
		t.Errorf("only %d paths led anywhere", found)
	}
}

func TestPositions(t *testing.T) {
	for path, want := range map[string]int64{"0": 1, "00": 1, "2": 3, "3": -1, "-1": -1, "99999999999999999999999999": -1, "x": -1, "1.0": -1} {
		r := New(path, "application/json")
		r.Write([]byte(`[1,2,3]`))
		if got, ok := r.Value(); ok != (want >= 0) || ok && got != want {
			t.Errorf("%s is %d, %v", path, got, ok)
		}
	}
}
