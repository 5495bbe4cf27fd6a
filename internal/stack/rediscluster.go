package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// slots is how many hash slots a Redis Cluster has.
const slots = 16384

// busOffset is how far above its port a node's cluster bus listens.
const busOffset = 10000

// clusterReady is how long nodes may take to agree on who has which slot.
const clusterReady = 30 * time.Second

// RedisCluster is several masters that share the hash slots evenly, each with a
// replica or none.
type RedisCluster struct {
	Nodes    []*Redis // masters
	Replicas []*Redis // Replicas[i] follows Nodes[i]
}

// StartRedisCluster starts masters nodes, each as o says, and waits until all
// of them serve. o.Port and o.Name are chosen here.
func StartRedisCluster(o RedisOptions, masters int) (*RedisCluster, error) {
	c := &RedisCluster{}
	err := c.start(o, masters)
	if err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

func (c *RedisCluster) start(o RedisOptions, masters int) error {
	for i := range masters {
		node, err := startClusterNode(o, fmt.Sprintf("redis-%d", i))
		if err != nil {
			return err
		}
		c.Nodes = append(c.Nodes, node)
	}
	ctx, cancel := context.WithTimeout(context.Background(), clusterReady)
	defer cancel()
	if err := c.join(ctx); err != nil {
		return err
	}
	for _, node := range c.Nodes {
		if err := node.proc.waitReady(ctx, clusterReady, func() error { return node.serves(masters) }); err != nil {
			return err
		}
	}
	return nil
}

// Stop ends every node.
func (c *RedisCluster) Stop() {
	for _, node := range slices.Concat(c.Nodes, c.Replicas) {
		node.Stop()
	}
}

func startClusterNode(o RedisOptions, name string) (*Redis, error) {
	o.Name = name
	o.Args = append([]string{
		"--cluster-enabled", "yes",
		"--cluster-config-file", name + "-nodes.conf",
		"--cluster-node-timeout", "2000",
		// A node that is gone takes down no slots but its own.
		"--cluster-require-full-coverage", "no",
		"--repl-diskless-sync-delay", "0",
	}, o.Args...)
	for try := 1; ; try++ {
		port, err := freeBusPort()
		if err != nil {
			return nil, err
		}
		o.Port = port
		node, err := StartRedis(o)
		if !errors.Is(err, ErrPortTaken) || try == portTries {
			return node, err
		}
	}
}

// freeBusPort returns a free port whose cluster bus port is free as well.
func freeBusPort() (int, error) {
	for range 100 {
		port, err := FreePort()
		if err != nil {
			return 0, err
		}
		if port+busOffset <= 65535 && PortFree(port+busOffset) {
			return port, nil
		}
	}
	return 0, errors.New("no free port for a cluster node: its port + 10000 must be free too")
}

// join gives each node its share of the slots and introduces them to each other.
func (c *RedisCluster) join(ctx context.Context) error {
	n := len(c.Nodes)
	for i, node := range c.Nodes {
		err := node.do(func(client *redis.Client) error {
			var share []int
			for slot := i * slots / n; slot < (i+1)*slots/n; slot++ {
				share = append(share, slot)
			}
			if err := client.ClusterAddSlots(ctx, share...).Err(); err != nil {
				return err
			}
			// Distinct epochs from the start: nothing is left to vote on.
			if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err(); err != nil {
				return err
			}
			if i == 0 {
				return nil
			}
			return client.ClusterMeet(ctx, Host, strconv.Itoa(c.Nodes[0].Port)).Err()
		})
		if err != nil {
			return fmt.Errorf("join %s to the cluster: %w", node.opts.Name, err)
		}
	}
	return nil
}

// serves succeeds when a node knows all masters and answers for its slots.
func (r *Redis) serves(masters int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return r.do(func(client *redis.Client) error {
		info, err := client.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		for _, want := range []string{"cluster_state:ok", fmt.Sprintf("cluster_size:%d", masters)} {
			if !strings.Contains(info, want+"\r\n") {
				return fmt.Errorf("CLUSTER INFO doesn't say %s", want)
			}
		}
		return nil
	})
}

// do runs f with a client of r.
func (r *Redis) do(f func(*redis.Client) error) error {
	client := r.Client()
	defer client.Close()
	return f(client)
}
