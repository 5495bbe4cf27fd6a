package envoyconfig

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What docs/redis-cluster.md tells users to add is what the tests on a real
// cluster run.
func TestDocumentedClusterIsTheTestedOne(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "redis-cluster.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/redis-cluster.md has no YAML")
	}
	doc, err := Parse([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	c, err := Load(filepath.Join(root, "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.ThroughRedisProxy([]string{"127.0.0.1:7000", "127.0.0.1:7001", "127.0.0.1:7002"}, true, "0.015s")
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if c, err = Parse(out); err != nil { // numbers as the document's are read
		t.Fatal(err)
	}
	for _, x := range [][2]string{{"listeners", ProxyListener}, {"clusters", ProxyNodes}} {
		if d := cmp.Diff(entry(t, c, x[0], x[1]), entry(t, doc, x[0], x[1])); d != "" {
			t.Errorf("%s %s (-tested +documented):\n%s", x[0], x[1], d)
		}
	}
	sameWith(t, c, doc)
	if d := cmp.Diff(c.root["bootstrap_extensions"], doc.root["bootstrap_extensions"]); d != "" {
		t.Errorf("bootstrap_extensions (-tested +documented):\n%s", d)
	}
}

func entry(t *testing.T, c *Config, kind, name string) M {
	t.Helper()
	list, _ := c.root["static_resources"].(M)[kind].([]any)
	for _, item := range list {
		if m, _ := item.(M); m["name"] == name {
			return m
		}
	}
	t.Fatalf("no %s named %s", kind, name)
	return nil
}

// So it is with the health check of docs/redis.md.
func TestDocumentedFailoverIsTheTestedOne(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "redis.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/redis.md has no YAML")
	}
	doc, err := Parse([]byte(block))
	if err != nil {
		t.Fatal(err)
	}
	c := load(t)
	c.FollowMaster([]string{"127.0.0.1:6379", "127.0.0.1:6380"}, "", "")
	sameWith(t, again(t, c), doc)
}

// sameWith checks that the tested pipe is that of envoy.yaml with the fields that a
// document says to give it.
func sameWith(t *testing.T, tested, doc *Config) {
	t.Helper()
	want := entry(t, again(t, load(t)), "clusters", Pipe)
	for field, value := range entry(t, doc, "clusters", Pipe) {
		want[field] = value
	}
	if d := cmp.Diff(entry(t, tested, "clusters", Pipe), want); d != "" {
		t.Errorf("%s (-tested +documented):\n%s", Pipe, d)
	}
}

func TestFollowMasterLogsIn(t *testing.T) {
	for _, x := range []struct{ user, password, want string }{
		{"", "", "ROLE\r\n"}, {"", "p", "AUTH p\r\nROLE\r\n"}, {"u", "p", "AUTH u p\r\nROLE\r\n"},
	} {
		c := load(t)
		c.Cluster(Pipe, "transport_socket", M{"name": "kept"})
		c.FollowMaster([]string{"127.0.0.1:1"}, x.user, x.password)
		c = again(t, c)
		got, _ := at(c.cluster(Pipe), "health_checks", 0, "tcp_health_check", "send", "text").(string)
		if text, err := hex.DecodeString(got); err != nil || string(text) != x.want {
			t.Errorf("it sends %q (%v), expected %q", text, err, x.want)
		}
		if at(c.cluster(Pipe), "transport_socket", "name") != "kept" {
			t.Error("TLS is gone")
		}
	}
	c := load(t)
	c.FollowMaster([]string{"nowhere"}, "", "")
	if _, err := c.YAML(); err == nil {
		t.Error("an address without a port was taken")
	}
}
