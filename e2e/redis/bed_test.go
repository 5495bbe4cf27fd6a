package redis

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"sluice/chaos/load"
	"sluice/internal/stack"
)

const debugSecret = "open-sesame"

// m is a JSON object.
type m = map[string]any

// policy is a plugin configuration; fields replaces or adds top-level fields.
func policy(t *testing.T, fields m, limits ...m) string {
	t.Helper()
	p := m{
		"redis":  m{"cluster": "redis_pipe", "timeout": "200ms"},
		"debug":  m{"when": m{"header:x-debug": debugSecret}},
		"limits": limits,
	}
	for name, value := range fields {
		p[name] = value
	}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// answer is what a caller got.
type answer struct {
	status int
	header http.Header
}

func (a answer) mode() string { return a.header.Get("X-Sluice-Mode") }

var client = &http.Client{Timeout: 20 * time.Second}

// get asks a gateway for a path, as the caller k.
func get(t *testing.T, e *stack.Envoy, path, k string) answer {
	t.Helper()
	req, err := http.NewRequest(http.MethodGet, e.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Key", k)
	req.Header.Set("X-Debug", debugSecret)
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return answer{resp.StatusCode, resp.Header}
}

// byRedis waits until a gateway decides by Redis, several times in a row.
func byRedis(t *testing.T, e *stack.Envoy, path string) {
	t.Helper()
	good := 0
	eventually(t, 30*time.Second, func() error {
		for ; good < 5; good++ {
			if a := get(t, e, path, fmt.Sprint("probe", time.Now().UnixNano())); a.status != 200 || a.mode() != "redis" {
				good = 0
				return fmt.Errorf("answered %d in mode %q", a.status, a.mode())
			}
		}
		return nil
	})
}

// eventually polls until ok returns nil, or fails the test with its last error.
func eventually(t *testing.T, within time.Duration, ok func() error) {
	t.Helper()
	deadline := time.Now().Add(within)
	for {
		err := ok()
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("after %v: %v", within, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func mode(a *load.Answer) string { return a.Header.Get("X-Sluice-Mode") }
