package stack

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack/envoyconfig"
)

// bareGateway is envoy.yaml without the plugin, on free ports.
func bareGateway(t *testing.T) *envoyconfig.Config {
	t.Helper()
	c, err := envoyconfig.Load("../../envoy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.RemovePlugin()
	c.AdminPort(0)
	c.Listen(envoyconfig.Gateway, 0)
	c.RemoveListener(envoyconfig.Sample)
	return c
}

func startEnvoy(t *testing.T, c *envoyconfig.Config) (*Envoy, error) {
	t.Helper()
	binary, err := FindEnvoy(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	e, err := StartEnvoy(t.Context(), EnvoyOptions{Binary: binary, Dir: t.TempDir(), Config: c, Workers: 1})
	if err == nil {
		t.Cleanup(e.Stop)
	}
	return e, err
}

func TestEnvoyServes(t *testing.T) {
	u, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Stop()
	c := bareGateway(t)
	c.Endpoint(envoyconfig.Upstream, u.Addr)
	e, err := startEnvoy(t, c)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Get(e.URL() + "/path")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(body), `"path":"/path"`) {
		t.Errorf("%s %s %v", resp.Status, body, err)
	}
	if u.Count("/path") != 1 {
		t.Error("the upstream has seen nothing")
	}
	stats, err := e.Admin.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := stats.Sum("envoy_http_downstream_rq_total", map[string]string{"envoy_http_conn_manager_prefix": "gateway"}); got != 1 {
		t.Errorf("%v requests were counted", got)
	}
	dump, err := e.Admin.ConfigDump(t.Context())
	if err != nil || !strings.Contains(string(dump), u.Addr[strings.LastIndexByte(u.Addr, ':')+1:]) {
		t.Errorf("the configuration doesn't name the upstream's port (%v)", err)
	}
	if _, err := e.Admin.Get(t.Context(), "/no-such-page"); err == nil {
		t.Error("an admin page that isn't there was read")
	}
	if e.Listener("ghost") != "" {
		t.Error("a listener that isn't there has an address")
	}
	e.Stop()
	if !e.Process().Ended() {
		t.Error("it still runs")
	}
}

func TestEnvoySaysThatItsPortIsTaken(t *testing.T) {
	u, err := StartUpstream()
	if err != nil {
		t.Fatal(err)
	}
	defer u.Stop()
	for name, take := range map[string]func(*envoyconfig.Config){
		"listener": func(c *envoyconfig.Config) { c.Listen(envoyconfig.Gateway, portOf(t, u.Addr)) },
		"admin":    func(c *envoyconfig.Config) { c.AdminPort(portOf(t, u.Addr)) },
	} {
		c := bareGateway(t)
		take(c)
		if _, err := startEnvoy(t, c); !errors.Is(err, ErrPortTaken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Two Envoys would share a port, each with a listener of its own: whoever calls
// OwnPorts is told instead.
func TestEnvoysShareNoPort(t *testing.T) {
	for range 2 { // another program may be faster to take the port
		port, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		start := func() error {
			c := bareGateway(t)
			c.Listen(envoyconfig.Gateway, port)
			c.OwnPorts()
			_, err := startEnvoy(t, c)
			return err
		}
		if err := start(); errors.Is(err, ErrPortTaken) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		if err := start(); !errors.Is(err, ErrPortTaken) {
			t.Errorf("a second Envoy on the port: %v", err)
		}
		return
	}
	t.Fatal("no free port")
}

func TestClaim(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	release, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Claim(dir); !errors.Is(err, ErrInUse) {
		t.Errorf("claimed twice: %v", err)
	}
	release()
	again, err := Claim(dir)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestEnvoyThatRefusesItsConfiguration(t *testing.T) {
	c := bareGateway(t)
	c.Cluster(envoyconfig.Upstream, "no_such_field", 1)
	_, err := startEnvoy(t, c)
	var ended *EndedError
	if !errors.As(err, &ended) || !strings.Contains(ended.Tail, "no_such_field") || errors.Is(err, ErrPortTaken) {
		t.Errorf("got %v", err)
	}
}

func TestEnvoyStartCanBeInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	binary, err := FindEnvoy(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	_, err = StartEnvoy(ctx, EnvoyOptions{Binary: binary, Dir: dir, Config: bareGateway(t), Workers: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir("/proc"); err == nil {
		for _, p := range left {
			args, _ := os.ReadFile("/proc/" + p.Name() + "/cmdline")
			if strings.Contains(string(args), dir) {
				t.Errorf("process %s is still there: %q", p.Name(), args)
			}
		}
	}
}
