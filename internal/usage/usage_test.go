package usage

import (
	"strings"
	"testing"
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
