// Package scan walks the keys of a Redis, or of every primary of a cluster, in
// small steps with pauses between, so that others hardly notice. It never uses
// KEYS. It is for the tool only.
package scan

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// Share is the part of Redis's time that a walk may take unless told otherwise.
const Share = 0.1

// Node is one server that has keys of its own.
type Node struct {
	Addr string
	*redis.Client
}

// Nodes calls f for the server, or for each primary of a cluster in turn.
func Nodes(ctx context.Context, rdb redis.UniversalClient, f func(Node) error) error {
	switch c := rdb.(type) {
	case *redis.Client:
		return f(Node{c.Options().Addr, c})
	case *redis.ClusterClient:
		var nodes []Node
		// ForEachMaster runs its calls at once; here they are only collected.
		found := make(chan Node, 1024)
		err := c.ForEachMaster(ctx, func(_ context.Context, m *redis.Client) error {
			found <- Node{m.Options().Addr, m}
			return nil
		})
		close(found)
		if err != nil {
			return err
		}
		for n := range found {
			nodes = append(nodes, n)
		}
		for _, n := range nodes {
			if err := f(n); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a %T is no client that keys can be scanned with", rdb)
}

// Pacer makes pauses so that what it runs takes no more than a share of the time.
type Pacer struct {
	Share float64                                          // from above 0 to 1
	Sleep func(ctx context.Context, d time.Duration) error // nil: a real one
	Now   func() time.Time                                 // nil: the real one
}

// Do runs f, which asks Redis, and then pauses. It returns how long f took: no
// less than what Redis spent on it.
func (p *Pacer) Do(ctx context.Context, f func() error) (time.Duration, error) {
	now, sleep := time.Now, pause
	if p.Now != nil {
		now = p.Now
	}
	if p.Sleep != nil {
		sleep = p.Sleep
	}
	start := now()
	if err := f(); err != nil {
		return 0, err
	}
	took := now().Sub(start)
	if p.Share >= 1 {
		return took, ctx.Err()
	}
	return took, sleep(ctx, time.Duration(float64(took)*(1/p.Share-1)))
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// Sizes of a step, keys, and the time that one should take.
const (
	first    = 50
	least    = 10
	greatest = 1000
	longest  = 3 * time.Millisecond
)

// Keys calls f with the keys of a node that fit a pattern, some at a time, and
// counts both its own time and f's. Like SCAN it may bring a key twice.
func Keys(ctx context.Context, n Node, pattern string, p *Pacer, f func(keys []string) error) error {
	count, cursor := int64(first), uint64(0)
	for {
		took, err := p.Do(ctx, func() error {
			keys, next, err := n.Scan(ctx, cursor, pattern, count).Result()
			if err != nil {
				return err
			}
			cursor = next
			if len(keys) == 0 {
				return nil
			}
			return f(keys)
		})
		if err != nil {
			return err
		}
		switch {
		case took > 2*longest:
			count = max(count/2, least)
		case took < longest/2:
			count = min(count*2, greatest)
		}
		if cursor == 0 {
			return nil
		}
	}
}

// Literal is a text as part of a pattern that fits nothing else.
func Literal(s string) string {
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '*', '?', '[', ']', '\\', '^', '-':
			out = append(out, '\\')
		}
		out = append(out, s[i])
	}
	return string(out)
}
