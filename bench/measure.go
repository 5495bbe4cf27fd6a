package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// figures are one row's in one round. CPU is microseconds a request.
type figures struct {
	RPS  float64 `json:"rps"` // requests a second
	P50  float64 `json:"p50_ms"`
	P99  float64 `json:"p99_ms"`
	P999 float64 `json:"p999_ms"`

	Envoy   float64 `json:"envoy_us"`   // CPU of the gateway
	Redis   float64 `json:"redis_us"`   // CPU of Redis
	Service float64 `json:"service_us"` // CPU of the rate-limit service

	Commands float64 `json:"commands"`     // Redis commands a request, those inside scripts too
	Scripts  float64 `json:"script_calls"` // script calls a request
	RSS      float64 `json:"rss_mb"`       // of the gateway
	RedisRSS float64 `json:"redis_rss_mb"` // of Redis
	Conns    float64 `json:"connections"`  // of the gateway to Redis or the service
	Others   float64 `json:"others_cores"` // cores that programs outside the benchmark used
}

// cpu is all that a request costs, the application aside, microseconds.
func (f figures) cpu() float64 { return f.Envoy + f.Redis + f.Service }

// plan says how long is measured.
type plan struct {
	Rounds int
	Length time.Duration // of one row in one round
	Warm   time.Duration // of load before it that isn't measured
	// Until is when the last round has to be over: a round that wouldn't be is
	// not begun. The first always is.
	Until time.Time
}

// fits says whether another round, as long as those so far, would be over in time.
func (p plan) fits(done int, start time.Time) bool {
	if done == 0 || p.Until.IsZero() {
		return true
	}
	each := time.Since(start) / time.Duration(done)
	return time.Now().Add(each).Before(p.Until)
}

// measure runs the rounds over all rows and returns each row's figures by name.
// Every other round goes backwards, so that no row always follows the same one.
func (b *bed) measure(ctx context.Context, rows []row, p plan, say func(string, ...any)) (map[string][]figures, error) {
	script, err := writeScript(b.dir)
	if err != nil {
		return nil, err
	}
	results := map[string][]figures{}
	order := slices.Clone(rows)
	start := time.Now()
	for round := range p.Rounds {
		if !p.fits(round, start) {
			say("there is no time for round %d of %d", round+1, p.Rounds)
			break
		}
		for _, r := range order {
			f, err := b.one(ctx, r, p, script)
			if err != nil {
				return nil, err
			}
			say("round %d of %d: %-32s %7.0f req/s  p99 %6.2f ms  CPU %5.1f us", round+1, p.Rounds, r.name, f.RPS, f.P99, f.cpu())
			results[r.name] = append(results[r.name], f)
		}
		slices.Reverse(order)
	}
	return results, nil
}

// used is what has been used up to a moment.
type used struct {
	envoy, redis, service, application, busy time.Duration

	commands commands
}

func (b *bed) used(ctx context.Context, r row) (used, error) {
	var u used
	var err error
	for _, server := range b.redises(r) {
		c, err := redisCommands(ctx, server)
		if err != nil {
			return u, err
		}
		t, err := cpuTime(server.Process().Pid())
		if err != nil {
			return u, err
		}
		u.commands.total += c.total
		u.commands.scripts += c.scripts
		u.redis += t
	}
	clocks := map[*stack.Process]*time.Duration{
		b.gateways[r.name].Process(): &u.envoy, b.application.Process(): &u.application,
	}
	if b.service != nil {
		clocks[b.service.proc] = &u.service
	}
	for proc, clock := range clocks {
		if *clock, err = cpuTime(proc.Pid()); err != nil {
			return u, err
		}
	}
	u.busy, err = busyTime()
	return u, err
}

// one measures one row: an empty Redis, some load that brings gateway and Redis
// into their steady state, then the load that counts.
func (b *bed) one(ctx context.Context, r row, p plan, script string) (f figures, err error) {
	err = b.awake(r, func(gateway *stack.Envoy) error {
		f, err = b.loaded(ctx, gateway, r, p, script)
		return err
	})
	return f, err
}

func (b *bed) loaded(ctx context.Context, gateway *stack.Envoy, r row, p plan, script string) (figures, error) {
	if err := b.ready(ctx, r); err != nil {
		return figures{}, err
	}
	if r.prepare != nil {
		if err := probe(ctx, gateway.URL()+"/", r.status); err != nil {
			return figures{}, fmt.Errorf("row %q: %w", r.name, err)
		}
	}
	if _, err := runWrk(ctx, b.tools.wrk, script, gateway.URL(), r.keys, r.busy(), p.Warm); err != nil {
		return figures{}, fmt.Errorf("row %q: %w", r.name, err)
	}
	before, err := b.used(ctx, r)
	if err != nil {
		return figures{}, err
	}
	start := time.Now()
	l, err := runWrk(ctx, b.tools.wrk, script, gateway.URL(), r.keys, r.busy(), p.Length)
	if err != nil {
		return figures{}, fmt.Errorf("row %q: %w", r.name, err)
	}
	took := time.Since(start)
	after, err := b.used(ctx, r)
	if err != nil {
		return figures{}, err
	}
	if err := b.alive(); err != nil {
		return figures{}, err
	}
	if err := l.check(r); err != nil {
		return figures{}, err
	}
	f := difference(before, after, l, took)
	rss, err := memory(gateway.Process().Pid())
	if err != nil {
		return f, err
	}
	f.RSS = float64(rss) / 1e6
	for _, server := range b.redises(r) {
		rss, err := memory(server.Process().Pid())
		if err != nil {
			return f, err
		}
		f.RedisRSS += float64(rss) / 1e6
	}
	f.Conns, err = limiterConnections(ctx, gateway)
	return f, err
}

// limiterConnections is how many connections a gateway has to what decides: Redis,
// the nodes of a cluster, or the rate-limit service.
func limiterConnections(ctx context.Context, gateway *stack.Envoy) (float64, error) {
	stats, err := gateway.Admin.StatsLike(ctx, `^cluster\..*\.upstream_cx_active$`)
	if err != nil {
		return 0, err
	}
	of := func(cluster string) float64 {
		return stats.Sum("envoy_cluster_upstream_cx_active", map[string]string{"envoy_cluster_name": cluster})
	}
	if n := of(envoyconfig.ProxyNodes); n > 0 {
		return n, nil // what goes through the pipe stays inside Envoy then
	}
	return of(envoyconfig.Pipe) + of(serviceCluster), nil
}

// difference is what a load of took seconds cost a request.
func difference(before, after used, l wrkLoad, took time.Duration) figures {
	n := float64(l.Requests)
	each := func(a, b time.Duration) float64 { return float64((b - a).Nanoseconds()) / 1e3 / n }
	ours := after.envoy - before.envoy + after.redis - before.redis + after.service - before.service +
		after.application - before.application + l.cpu
	return figures{
		RPS: n / (float64(l.Micros) / 1e6),
		P50: float64(l.P50) / 1e3, P99: float64(l.P99) / 1e3, P999: float64(l.P999) / 1e3,
		Envoy:   each(before.envoy, after.envoy),
		Redis:   each(before.redis, after.redis),
		Service: each(before.service, after.service),
		// INFO, and the connection that asks for it, are commands too: too few to see.
		Commands: float64(after.commands.total-before.commands.total) / n,
		Scripts:  float64(after.commands.scripts-before.commands.scripts) / n,
		Others:   max(0, (after.busy-before.busy-ours).Seconds()/took.Seconds()),
	}
}
