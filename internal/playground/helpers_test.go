package playground

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

func listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

// pluginFile is a file that no Envoy watches.
func pluginFile(t *testing.T) (file *stack.PluginFile, path string) {
	t.Helper()
	c, err := envoyconfig.Load("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "watched", "sluice.yaml")
	if file, err = stack.NewPluginFile(c, path); err != nil {
		t.Fatal(err)
	}
	return file, path
}

// opened are settings with a configuration.
func opened(t *testing.T, text string) *Settings {
	t.Helper()
	file, _ := pluginFile(t)
	s := NewSettings("test.yaml", file, true)
	if wrong, err := s.Open(text); err != nil || len(wrong) > 0 {
		t.Fatal(wrong, err)
	}
	return s
}

// readFile reads a file in which JSON stands in a quoted YAML text.
func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), `\"`, `"`)
}

// noRedis is a client of a Redis that isn't there.
func noRedis(t *testing.T) *redis.Client {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	t.Cleanup(func() { _ = rdb.Close() })
	return rdb
}
