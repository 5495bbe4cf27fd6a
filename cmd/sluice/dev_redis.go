package main

import (
	"context"
	"os"

	"sluice/internal/playground"
	"sluice/internal/stack"
)

// startRedis returns the host:port of the Redis to use.
func (d *dev) startRedis(ctx context.Context) (string, error) {
	if d.redis != "" {
		return d.redis, nil
	}
	port, err := d.port("Redis", 6379)
	if err != nil {
		return "", err
	}
	binary, err := stack.FindRedis(ctx, d.say)
	if stack.IsMissing(err) && os.Getenv("REDIS_SERVER") == "" {
		d.say("WARNING: %v", err)
		d.say("WARNING: a stand-in built into this tool takes the place of Redis: good for a first look, for nothing else")
		standIn, err := stack.StartStandIn(port)
		if err != nil {
			return "", err
		}
		d.stop = append(d.stop, standIn.Stop)
		return standIn.Addr, nil
	}
	if err != nil {
		return "", err
	}
	redis, err := stack.StartRedis(stack.RedisOptions{Binary: binary, Dir: d.logs, Port: port})
	if err != nil {
		return "", err
	}
	d.server = playground.NewOwnRedis(redis, d.ended)
	d.stop = append(d.stop, d.server.End)
	return redis.Addr, nil
}
