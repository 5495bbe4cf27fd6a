package simulate

import (
	"context"
	"os"
	"os/exec"

	"sluice/internal/stack"
)

// OwnServer starts a Redis for a run, or, where there is none on this machine,
// the stand-in. The caller calls stop.
func OwnServer(ctx context.Context, say stack.Progress) (s Server, name string, stop func(), err error) {
	_, lookErr := exec.LookPath("redis-server")
	if lookErr != nil && os.Getenv("REDIS_SERVER") == "" {
		standIn, err := stack.StartStandIn(0)
		if err != nil {
			return Server{}, "", nil, err
		}
		say("WARNING: no redis-server on PATH, and REDIS_SERVER isn't set: a stand-in built into this tool runs the scripts, many times slower; --models is fast without Redis")
		return Server{Network: "tcp", Addr: standIn.Addr}, "the built-in stand-in for Redis", standIn.Stop, nil
	}
	binary, err := stack.FindRedis(ctx, say)
	if err != nil {
		return Server{}, "", nil, err
	}
	dir, err := os.MkdirTemp("", "sluice-simulate-redis-*")
	if err != nil {
		return Server{}, "", nil, err
	}
	r, err := stack.StartRedis(stack.RedisOptions{Binary: binary, Dir: dir})
	if err != nil {
		_ = os.RemoveAll(dir)
		return Server{}, "", nil, err
	}
	s = Server{Network: "tcp", Addr: r.Addr}
	name = "a Redis started for this run"
	if v := s.version(ctx); v != "" {
		name = "Redis " + v + ", started for this run"
	}
	return s, name, func() { r.Stop(); _ = os.RemoveAll(dir) }, nil
}
