package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"sluice/chaos/faultproxy"
	"sluice/chaos/load"
	"sluice/internal/pauses"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
)

// The limits that the load meets. It is far above the hot keys' limit, so that
// their windows are full.
const (
	limit  = 40
	window = 500 * time.Millisecond
	// timeout leaves room for a busy machine: only a fault may use it up.
	timeout    = 200 * time.Millisecond
	retryAfter = 50 * time.Millisecond
	// slack is how late the plugin may notice a deadline: two of its ticks.
	slack = 8 * time.Millisecond
	// backoffMax is the longest wait between two attempts to connect, and
	// stallAfter how long the link waits for an overdue reply before it gives a
	// connection up: the link's defaults.
	backoffMax = time.Second
	stallAfter = time.Second
	// idleTimeout is Envoy's: it ends requests that a worker held whose virtual
	// machine died.
	idleTimeout = 2 * time.Second
	// reload is how long Envoy waits before it starts such a machine anew: its
	// default.
	reload = time.Second
	// probeWait is the longest wait between two probes of an open breaker.
	probeWait = 500 * time.Millisecond
)

const debugSecret = "open-sesame"

// m is a JSON object.
type m = map[string]any

// policy is the plugin's configuration: two hot keys that differ in what happens
// when Redis can't answer, and keys that are used once, to see who decides.
func policy(t testing.TB, limit int) string {
	t.Helper()
	hot := fmt.Sprintf("%d/%dms", limit, window.Milliseconds())
	one := func(name, rate, onError string) m {
		return m{"name": name, "match": m{"path": "/" + name}, "key": "header:x-key", "rate": rate, "on_error": onError}
	}
	text, err := json.Marshal(m{
		"redis": m{
			"cluster": envoyconfig.Pipe, "timeout": timeout.String(),
			"retry": m{"times": 1, "after": retryAfter.String()},
		},
		"on_error": "deny",
		"gateways": sharing,
		"debug":    m{"when": m{"header:x-debug": debugSecret}},
		"limits":   []m{one(open, hot, "allow"), one(shut, hot, "deny"), one(share, hot, "local"), one(probe, "1000/s", "deny")},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The limits' names, and the last part of their paths.
const (
	open  = "open"  // on_error: allow
	shut  = "shut"  // on_error: deny
	share = "share" // on_error: local; only some faults have requests for it
	probe = "probe" // on_error: deny, a key of its own for each request
)

// sharing is how many gateways there are before one Redis.
const sharing = 3

// gateway is one Envoy; nil while it is dead.
type gateway struct {
	stacktest.Gateway
	envoy *stack.Envoy
	file  string // that Envoy watches for the plugin's filter
	lives int
}

// faulty is the gateway whose module panics on request: the same source, built
// with the tag faults. The others have the module that is shipped.
const faulty = 2

// bed is what all faults share: gateways, and Redis behind a proxy.
type bed struct {
	t        *testing.T // of the whole suite
	gateways []*gateway
	targets  *load.Targets
	upstream *stack.Upstream
	proxy    *faultproxy.Proxy
	redis    *stack.Redis        // which the proxy leads to
	redises  int                 // started so far
	cluster  *stack.RedisCluster // instead of proxy and redis; nil for one Redis
	waits    *waits
	pauses   *pauses.Log
}

func newBed(t *testing.T) *bed {
	b := &bed{t: t, upstream: stacktest.Upstream(t), waits: watchWaits(t), pauses: watchPauses(t)}
	b.upstream.SetAnswer(stack.Answer{Body: "ok"})
	b.redis = b.newRedis("")
	var err error
	if b.proxy, err = faultproxy.Start(b.redis.Addr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.proxy.Close)
	b.startGateways([]string{"", "", faultyModule(t)}, stacktest.Gateway{Plugin: policy(t, limit), Redis: b.proxy.Addr})
	return b
}

// startGateways starts a gateway as g says for each module, "" for the one that is
// shipped. The first has two workers.
func (b *bed) startGateways(modules []string, common stacktest.Gateway) {
	t := b.t
	none := filepath.Join(t.TempDir(), "listeners.yaml")
	if err := os.WriteFile(none, []byte("resources: []\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var urls []string
	var starting sync.WaitGroup
	for i, module := range modules {
		g := &gateway{file: filepath.Join(t.TempDir(), "filter.yaml")}
		g.Gateway = common
		g.Upstream = b.upstream.Addr
		g.Edit = func(c *envoyconfig.Config) {
			c.Manager(envoyconfig.Gateway, "access_log", nil)
			c.Manager(envoyconfig.Gateway, "stream_idle_timeout", fmt.Sprintf("%.0fs", idleTimeout.Seconds()))
			if module != "" {
				c.Module(module)
			}
			if common.Edit != nil {
				common.Edit(c)
			}
			b.publish(g, c)
			c.PluginFrom(g.file)
			c.AlsoListenersFrom(none) // names the node, which discovery wants
		}
		if i == 0 {
			g.Workers = 2
		}
		b.gateways = append(b.gateways, g)
		starting.Go(func() { g.start(t, i) })
	}
	starting.Wait()
	for i, g := range b.gateways {
		if g.envoy == nil {
			t.FailNow()
		}
		urls = append(urls, g.envoy.URL())
		b.waits.follow(i, g.envoy.Process().Pid())
	}
	b.targets = load.NewTargets(urls...)
}

// start starts the gateway, or fails the test.
func (g *gateway) start(t *testing.T, i int) {
	g.lives++
	g.Name = fmt.Sprintf("gateway-%d-%d", i, g.lives)
	e, err := g.TryStart(t)
	if err != nil {
		t.Error(err)
		return
	}
	g.envoy = e
}

// publish writes the plugin's filter to the file that the gateway watches.
func (b *bed) publish(g *gateway, c *envoyconfig.Config) {
	text, err := c.PluginDiscovery()
	if err == nil {
		err = os.WriteFile(g.file+".new", text, 0o644)
	}
	if err == nil {
		err = os.Rename(g.file+".new", g.file)
	}
	if err != nil {
		b.t.Error(err)
	}
}

// configure gives every gateway another configuration of the plugin.
func (b *bed) configure(plugin string) {
	for _, g := range b.gateways {
		g.Plugin = plugin
		g.Config(b.t) // whose Edit writes the file
	}
}

// newRedis starts another Redis; clock is as startClock has it, "" for the
// machine's.
func (b *bed) newRedis(clock string) *stack.Redis {
	b.t.Helper()
	b.redises++
	o := stack.RedisOptions{
		Name: fmt.Sprintf("redis-%d", b.redises),
		Args: []string{"--repl-diskless-sync-delay", "0"},
	}
	var r *stack.Redis
	if clock == "" {
		r = stacktest.Redis(b.t, o)
	} else {
		r = startClock(b.t, o, clock)
	}
	b.waits.follow(ofRedis, r.Process().Pid())
	return r
}

// use has the proxy lead to another Redis from now on.
func (b *bed) use(r *stack.Redis) {
	b.redis = r
	b.proxy.Target(r.Addr)
	b.proxy.Cut()
}

// settle waits until all gateways decide by Redis and nothing is left of the
// last fault.
func (b *bed) settle(t *testing.T) {
	t.Helper()
	if b.proxy != nil {
		b.proxy.Set(faultproxy.Faults{})
	}
	client := &http.Client{Timeout: hang, Transport: &http.Transport{DisableKeepAlives: true}}
	for i, g := range b.gateways {
		if g.envoy == nil {
			continue
		}
		good := 0 // in a row; each connection may come to another worker
		eventually(t, 15*time.Second, func() error {
			for ; good < 20; good++ {
				status, mode, err := ask(client, g.envoy.URL(), t.Name())
				if err == nil && (status != 200 || mode != "redis") {
					err = errors.New("not by Redis")
				}
				if err != nil {
					good = 0
					return fmt.Errorf("gateway %d answers %d in mode %q: %w", i, status, mode, err)
				}
			}
			s, err := g.envoy.Admin.Stats(t.Context())
			if err != nil {
				return err
			}
			if n := s.Sum("envoy_http_downstream_rq_active", labels{"envoy_http_conn_manager_prefix": "gateway"}); n != 0 {
				return fmt.Errorf("gateway %d has %v requests that never ended", i, n)
			}
			if n := s.Sum("sluice_breaker_open", nil); n != 0 {
				good = 0
				return fmt.Errorf("gateway %d has %v open breakers", i, n)
			}
			return nil
		})
	}
}

// labels pick series of a metric.
type labels = map[string]string

// ask sends one request with a key of its own.
func ask(client *http.Client, url, key string) (status int, mode string, err error) {
	req, err := http.NewRequest(http.MethodPost, url+"/"+probe, nil)
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("X-Key", fmt.Sprintf("%s-%d", key, time.Now().UnixNano()))
	req.Header.Set("X-Debug", debugSecret)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("X-Sluice-Mode"), nil
}

// stats are the metrics of each gateway; none of one that is dead.
func (b *bed) stats(t *testing.T) []stack.Stats {
	t.Helper()
	var all []stack.Stats
	for _, g := range b.gateways {
		if g.envoy == nil {
			all = append(all, nil)
			continue
		}
		s, err := g.envoy.Admin.SettledStats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
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

// faultyModule builds the plugin with the tag faults, unless it is up to date.
func faultyModule(t *testing.T) string {
	t.Helper()
	root := stacktest.Root(t)
	out := filepath.Join(root, "build", "sluice-faults.wasm")
	cmd := exec.Command("go", "build", "-tags", "faults", "-buildmode=c-shared",
		"-ldflags=-s -w", "-o", out, ".")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm")
	err := stack.Locked(filepath.Join(root, ".tools", "faults.lock"), func() error {
		b, err := cmd.CombinedOutput()
		if err != nil {
			return fmt.Errorf("build the module with faults: %w\n%s", err, b)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
