package stack_test

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// policy asks the gateway what limits it has.
func policy(t *testing.T, e *stack.Envoy) string {
	t.Helper()
	resp, err := http.Get(e.URL() + "/")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.Header.Get("ratelimit-policy")
}

// A configuration that is replaced is in force when Replace returns, and one
// that Envoy refuses changes nothing.
func TestReplaceThePlugin(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	var file *stack.PluginFile
	e := stacktest.Gateway{Redis: redis.Addr, Workers: 2, Edit: func(c *envoyconfig.Config) {
		c.Listen(envoyconfig.Sample, 0)
		c.Endpoint(envoyconfig.Upstream, stacktest.Upstream(t).Addr)
		var err error
		if file, err = stack.NewPluginFile(c, filepath.Join(t.TempDir(), "watched", "sluice.yaml")); err != nil {
			t.Fatal(err)
		}
		if err := file.Write(`{"limits":[{"name":"a","rate":"50/min"}]}`); err != nil {
			t.Fatal(err)
		}
	}}.Start(t)
	if got := policy(t, e); !strings.Contains(got, "q=50;") {
		t.Fatalf("at first: %q", got)
	}
	if err := file.Replace(t.Context(), e.Admin, `{"limits":[{"name":"a","rate":"60/min"}]}`); err != nil {
		t.Fatal(err)
	}
	for range 8 { // more than one worker
		if got := policy(t, e); !strings.Contains(got, "q=60;") {
			t.Fatalf("after the change: %q", got)
		}
	}
	err := file.Replace(t.Context(), e.Admin, `{"limits":[{"name":"a","rate":"many"}]}`)
	if !errors.Is(err, stack.ErrRefused) {
		t.Fatalf("a wrong one: %v", err)
	}
	if got := policy(t, e); !strings.Contains(got, "q=60;") {
		t.Fatalf("after the wrong one: %q", got)
	}
}

func TestReplaceWithoutThePlugin(t *testing.T) {
	c, err := envoyconfig.Parse([]byte("admin: {}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stack.NewPluginFile(c, "x"); err == nil {
		t.Error("no error")
	}
}
