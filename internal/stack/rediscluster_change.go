package stack

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Replicate starts a replica for each master, as o says, and waits until each
// follows its master. One whose master dies takes over by itself, after the
// nodes' timeout.
func (c *RedisCluster) Replicate(o RedisOptions) error {
	ctx, cancel := context.WithTimeout(context.Background(), clusterReady)
	defer cancel()
	for i, master := range c.Nodes {
		r, err := startClusterNode(o, fmt.Sprintf("replica-%d", i))
		if err != nil {
			return err
		}
		c.Replicas = append(c.Replicas, r)
		id, err := master.nodeID(ctx)
		if err != nil {
			return err
		}
		err = r.do(func(client *redis.Client) error {
			if err := client.ClusterMeet(ctx, Host, strconv.Itoa(master.Port)).Err(); err != nil {
				return err
			}
			// The master is known once the two have spoken.
			return r.proc.waitReady(ctx, clusterReady, func() error { return client.ClusterReplicate(ctx, id).Err() })
		})
		if err != nil {
			return fmt.Errorf("have %s follow %s: %w", r.opts.Name, master.opts.Name, err)
		}
	}
	for i, r := range c.Replicas {
		err := r.proc.waitReady(ctx, clusterReady, func() error { return r.follows(ctx, c.Nodes[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

// follows succeeds when r is in sync with a master, and that knows it.
func (r *Redis) follows(ctx context.Context, master *Redis) error {
	info, err := r.info(ctx, "replication")
	if err != nil {
		return err
	}
	for _, want := range []string{"role:slave", "master_link_status:up", fmt.Sprintf("master_port:%d", master.Port)} {
		if !strings.Contains(info, want+"\r\n") {
			return fmt.Errorf("INFO replication doesn't say %s", want)
		}
	}
	if info, err = master.info(ctx, "replication"); err == nil && !strings.Contains(info, "state=online") {
		err = errors.New("the master doesn't count its replica yet")
	}
	return err
}

func (r *Redis) info(ctx context.Context, section string) (text string, err error) {
	err = r.do(func(client *redis.Client) (err error) {
		text, err = client.Info(ctx, section).Result()
		return err
	})
	return text, err
}

func (r *Redis) nodeID(ctx context.Context) (id string, err error) {
	err = r.do(func(client *redis.Client) (err error) {
		id, err = client.ClusterMyID(ctx).Result()
		return err
	})
	return id, err
}

// MoveSlot moves a hash slot with its keys from one master to another while both
// serve, as redis-cli --cluster reshard does. between, unless nil, runs when some
// keys may be here and some there.
func (c *RedisCluster) MoveSlot(ctx context.Context, slot int, from, to *Redis, between func()) error {
	fromID, err := from.nodeID(ctx)
	if err != nil {
		return err
	}
	toID, err := to.nodeID(ctx)
	if err != nil {
		return err
	}
	set := func(r *Redis, args ...any) error {
		return r.do(func(client *redis.Client) error {
			return client.Do(ctx, append([]any{"CLUSTER", "SETSLOT", slot}, args...)...).Err()
		})
	}
	if err := set(to, "IMPORTING", fromID); err != nil {
		return err
	}
	if err := set(from, "MIGRATING", toID); err != nil {
		return err
	}
	err = from.do(func(client *redis.Client) error {
		for {
			keys, err := client.ClusterGetKeysInSlot(ctx, slot, 10).Result()
			if err != nil || len(keys) == 0 {
				return err
			}
			for _, key := range keys {
				if err := client.Migrate(ctx, Host, strconv.Itoa(to.Port), key, 0, clusterReady).Err(); err != nil {
					return err
				}
				if between != nil {
					between()
				}
			}
		}
	})
	if err != nil {
		return fmt.Errorf("move the keys of slot %d: %w", slot, err)
	}
	// The new owner first, so that no one points to a node that disowns the slot.
	if err := set(to, "NODE", toID); err != nil {
		return err
	}
	for _, r := range c.Nodes {
		if r == to {
			continue
		}
		if err := set(r, "NODE", toID); err != nil {
			return err
		}
	}
	return nil
}
