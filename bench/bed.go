package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/bench/tinywasm"
	"sluice/internal/emulator"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

//go:embed application.yaml
var applicationYAML []byte

//go:embed ratelimit.yaml
var rateLimitYAML []byte

// bed is every process that the rows share, and a gateway for each row. All are
// started at once, so that rounds can alternate; who isn't measured is stopped.
type bed struct {
	root  string // the checkout
	dir   string // where logs go
	tools tools

	redis       *stack.Redis
	cluster     *stack.RedisCluster // nil when no row needs it
	modules     map[string]string   // paths of modules other than the plugin
	application *stack.Envoy
	service     *service // nil when no row needs it
	gateways    map[string]*stack.Envoy

	stops []func()
}

// tools are the paths of what is run.
type tools struct {
	envoy, redis, wrk, ab, rateLimit string
}

// service is a running envoyproxy/ratelimit.
type service struct {
	proc *stack.Process
	grpc string // host:port
}

// stop ends what was started, the last first.
func (b *bed) stop() {
	for i := len(b.stops) - 1; i >= 0; i-- {
		b.stops[i]()
	}
}

// start starts everything for these rows; the caller stops it, also after an
// error.
func (b *bed) start(ctx context.Context, rows []row) error {
	var err error
	if b.redis, err = stack.StartRedis(stack.RedisOptions{Binary: b.tools.redis, Dir: b.dir}); err != nil {
		return err
	}
	b.stops = append(b.stops, b.redis.Stop)
	c, err := envoyconfig.Parse(applicationYAML)
	if err != nil {
		return err
	}
	if b.application, err = b.envoy(ctx, "application", c); err != nil {
		return err
	}
	if b.tools.rateLimit != "" {
		if err := b.startService(); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(rows, func(r row) bool { return r.cluster }) {
		if b.cluster, err = stack.StartRedisCluster(stack.RedisOptions{Binary: b.tools.redis, Dir: filepath.Join(b.dir, "cluster")}, 3); err != nil {
			return err
		}
		b.stops = append(b.stops, b.cluster.Stop)
	}
	if b.modules, err = writeModules(b.dir, rows); err != nil {
		return err
	}
	b.gateways = map[string]*stack.Envoy{}
	for i, r := range rows {
		if b.gateways[r.name], err = b.startGateway(ctx, fmt.Sprintf("gateway-%02d", i), r); err != nil {
			return fmt.Errorf("row %q: %w", r.name, err)
		}
	}
	return nil
}

func (b *bed) startGateway(ctx context.Context, name string, r row) (*stack.Envoy, error) {
	c, err := b.config(r)
	if err != nil {
		return nil, err
	}
	e, err := b.envoy(ctx, name, c)
	if err != nil {
		return nil, err
	}
	if err := b.ready(ctx, r); err != nil {
		return nil, err
	}
	return e, probe(ctx, e.URL()+"/", r.status)
}

// redises are the Redis servers that a row uses.
func (b *bed) redises(r row) []*stack.Redis {
	if r.cluster {
		return b.cluster.Nodes
	}
	return []*stack.Redis{b.redis}
}

// ready empties a row's Redis and prepares it.
func (b *bed) ready(ctx context.Context, r row) error {
	for _, server := range b.redises(r) {
		err := withClient(server, func(client *redis.Client) error { return client.FlushAll(ctx).Err() })
		if err != nil {
			return err
		}
	}
	if r.prepare == nil {
		return nil
	}
	return withClient(b.redis, func(client *redis.Client) error { return r.prepare(ctx, client) })
}

// writeModules puts the modules that rows need, other than the plugin, into files.
func writeModules(dir string, rows []row) (map[string]string, error) {
	paths := map[string]string{}
	for _, r := range rows {
		if r.module == "" || paths[r.module] != "" {
			continue
		}
		var code []byte
		var err error
		switch r.module {
		case handWritten:
			code = tinywasm.Module(0)
		case handWritten429:
			code = tinywasm.Module(rejected)
		case handCalls:
			code = tinywasm.Calls()
		case goNoop:
			code, err = emulator.Build("sluice/bench/noop")
		default:
			err = fmt.Errorf("row %q: there is no module %q", r.name, r.module)
		}
		if err != nil {
			return nil, err
		}
		paths[r.module] = filepath.Join(dir, r.module+".wasm")
		if err := os.WriteFile(paths[r.module], code, 0o644); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

func (b *bed) envoy(ctx context.Context, name string, c *envoyconfig.Config) (*stack.Envoy, error) {
	e, err := stack.StartEnvoy(ctx, stack.EnvoyOptions{
		Binary: b.tools.envoy, Dir: b.dir, Name: name, Config: c, Workers: 1, Level: "error",
	})
	if err != nil {
		return nil, err
	}
	b.stops = append(b.stops, e.Stop)
	return e, nil
}

func (b *bed) startService() error {
	limits := filepath.Join(b.dir, "runtime", "ratelimit", "config")
	if err := os.MkdirAll(limits, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(limits, "bench.yaml"), rateLimitYAML, 0o644); err != nil {
		return err
	}
	var ports [3]string
	for i := range ports {
		port, err := stack.FreePort()
		if err != nil {
			return err
		}
		ports[i] = fmt.Sprint(port)
	}
	health := "http://" + stack.Host + ":" + ports[0] + "/healthcheck"
	proc, err := stack.StartService(stack.ServiceOptions{
		Name: "ratelimit", Binary: b.tools.rateLimit, Dir: b.dir,
		Env: []string{
			"USE_STATSD=false", "LOG_LEVEL=warn",
			"REDIS_SOCKET_TYPE=tcp", "REDIS_URL=" + b.redis.Addr,
			"RUNTIME_ROOT=" + filepath.Join(b.dir, "runtime"), "RUNTIME_SUBDIRECTORY=ratelimit",
			"RUNTIME_WATCH_ROOT=false", "RUNTIME_IGNOREDOTFILES=true",
			"HOST=" + stack.Host, "GRPC_HOST=" + stack.Host, "DEBUG_HOST=" + stack.Host,
			"PORT=" + ports[0], "GRPC_PORT=" + ports[1], "DEBUG_PORT=" + ports[2],
		},
		Ready: func() error { return probe(context.Background(), health, http.StatusOK) },
	})
	if err != nil {
		return err
	}
	b.stops = append(b.stops, proc.Stop)
	b.service = &service{proc: proc, grpc: stack.Host + ":" + ports[1]}
	return nil
}

// probe asks until the answer has the status that is expected: a limit of 10
// rejects only after some requests.
func probe(ctx context.Context, url string, want int) error {
	client := http.Client{Timeout: 5 * time.Second}
	defer client.CloseIdleConnections()
	var err error
	// An override that rejects is followed within 2 seconds, on a busy machine later.
	for deadline, n := time.Now().Add(10*time.Second), 0; n < 20 || time.Now().Before(deadline); n++ {
		var got int
		if got, err = get(ctx, &client, url); err != nil {
			break
		}
		if got == want {
			return nil
		}
		err = fmt.Errorf("%s answers %d, not %d", url, got, want)
		if n >= 20 {
			time.Sleep(50 * time.Millisecond)
		}
	}
	return err
}

func get(ctx context.Context, client *http.Client, url string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	// As the callers that load.lua makes up.
	req.Header.Set("x-user-id", "user-00001")
	resp, err := client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, err
}

// alive reports a process that ended by itself.
func (b *bed) alive() error {
	procs := []*stack.Process{b.redis.Process(), b.application.Process()}
	if b.service != nil {
		procs = append(procs, b.service.proc)
	}
	if b.cluster != nil {
		for _, node := range b.cluster.Nodes {
			procs = append(procs, node.Process())
		}
	}
	for _, e := range b.gateways {
		procs = append(procs, e.Process())
	}
	var errs []error
	for _, p := range procs {
		if p.Ended() {
			errs = append(errs, fmt.Errorf("%s ended by itself; the end of its log:\n%s", p.Name, stack.Tail(p.Log, 15)))
		}
	}
	return errors.Join(errs...)
}
