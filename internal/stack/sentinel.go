package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// SentinelMaster is what sentinels call the master that they watch.
const SentinelMaster = "limits"

// SentinelOptions say what sentinels watch. Binary, Dir and Master must be set.
type SentinelOptions struct {
	Binary string // path of redis-server
	Dir    string // where configurations and logs go; it is made
	Master *Redis
	Down   time.Duration // without an answer for so long a server counts as down; 1 s when 0
	// Script is run with the arguments of a client-reconfig-script when the master
	// has changed; "" for none.
	Script string
}

// Sentinels are three sentinels, two of which decide.
type Sentinels struct {
	Nodes []*Redis
}

// sentinels is how many there are, and quorum how many must agree.
const (
	sentinels = 3
	quorum    = 2
)

// StartSentinels starts sentinels for a master whose replicas are in sync, and
// waits until they know each other and the replicas.
func StartSentinels(o SentinelOptions, replicas int) (*Sentinels, error) {
	if o.Down == 0 {
		o.Down = time.Second
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	s := &Sentinels{}
	err := func() error {
		for i := range sentinels {
			node, err := startSentinel(o, fmt.Sprintf("sentinel-%d", i))
			if err != nil {
				return err
			}
			s.Nodes = append(s.Nodes, node)
		}
		for _, node := range s.Nodes {
			ready := func() error { return node.watches(replicas) }
			if err := node.proc.waitReady(context.Background(), clusterReady, ready); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

// Stop ends all sentinels.
func (s *Sentinels) Stop() {
	for _, node := range s.Nodes {
		node.Stop()
	}
}

// startSentinel starts one sentinel: a Redis server whose configuration it writes
// itself while it runs.
func startSentinel(o SentinelOptions, name string) (*Redis, error) {
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		r := &Redis{Port: port, Addr: Addr(port), opts: RedisOptions{Binary: o.Binary, Dir: o.Dir, Name: name}}
		err = r.startSentinel(o)
		if err == nil {
			return r, nil
		}
		if !errors.Is(err, ErrPortTaken) || try == portTries {
			return nil, err
		}
	}
}

func (r *Redis) startSentinel(o SentinelOptions) error {
	m := SentinelMaster
	lines := []string{
		"bind " + Host, fmt.Sprintf("port %d", r.Port), "daemonize no", "dir " + o.Dir, "sentinel resolve-hostnames no",
		fmt.Sprintf("sentinel monitor %s %s %d %d", m, Host, o.Master.Port, quorum),
		fmt.Sprintf("sentinel down-after-milliseconds %s %d", m, o.Down.Milliseconds()),
		fmt.Sprintf("sentinel failover-timeout %s 5000", m),
		fmt.Sprintf("sentinel parallel-syncs %s 1", m),
	}
	if o.Master.opts.Password != "" {
		lines = append(lines, fmt.Sprintf("sentinel auth-pass %s %s", m, o.Master.opts.Password))
	}
	if o.Script != "" {
		lines = append(lines, fmt.Sprintf("sentinel client-reconfig-script %s %s", m, o.Script))
	}
	conf := filepath.Join(o.Dir, r.opts.Name+".conf")
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		return err
	}
	log := filepath.Join(o.Dir, r.opts.Name+".log")
	said := logSize(log)
	proc, err := command{name: r.opts.Name, bin: o.Binary, args: []string{conf, "--sentinel"}, log: log}.start()
	if err != nil {
		return err
	}
	r.proc = proc
	err = proc.waitReady(context.Background(), redisReady, func() error {
		if !logSays(log, said, "+monitor master") {
			return errors.New("its log doesn't say that it watches the master")
		}
		return r.ping()
	})
	if err == nil {
		return nil
	}
	proc.Kill()
	var ended *EndedError
	if errors.As(err, &ended) && strings.Contains(ended.Tail, "already in use") {
		return fmt.Errorf("%s on port %d: %w", r.opts.Name, r.Port, ErrPortTaken)
	}
	return err
}

// watches succeeds when a sentinel knows the others and all replicas.
func (r *Redis) watches(replicas int) error {
	text, err := r.info(context.Background(), "sentinel")
	if err != nil {
		return err
	}
	want := fmt.Sprintf(",slaves=%d,sentinels=%d", replicas, sentinels)
	if !strings.Contains(text, want) || !strings.Contains(text, "status=ok") {
		return fmt.Errorf("it doesn't know %d replicas and %d sentinels yet", replicas, sentinels)
	}
	return nil
}

// Follow has r replicate a master, and waits until it is in sync.
func (r *Redis) Follow(ctx context.Context, master *Redis) error {
	err := r.do(func(c *redis.Client) error {
		return c.ReplicaOf(ctx, Host, fmt.Sprint(master.Port)).Err()
	})
	if err != nil {
		return err
	}
	return r.proc.waitReady(ctx, clusterReady, func() error { return r.follows(ctx, master) })
}

// IsMaster reports whether r takes writes.
func (r *Redis) IsMaster(ctx context.Context) (bool, error) {
	text, err := r.info(ctx, "replication")
	return strings.Contains(text, "role:master\r\n"), err
}
