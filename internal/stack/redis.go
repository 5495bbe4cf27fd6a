package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// redisReady is how long a Redis may take to answer its first PING.
const redisReady = 20 * time.Second

// RedisOptions say how a Redis is started. Only Binary and Dir must be set.
type RedisOptions struct {
	Binary   string   // path of redis-server, from FindRedis
	Dir      string   // where its log and files go; it is made
	Name     string   // names the log; "redis" when empty
	Port     int      // 0 for a free one
	Password string   // of the default user; "" for none
	ACL      []string // lines of an ACL file, for example "user u on >secret ~* +@all"
	Args     []string // further arguments, for example "--maxmemory", "1mb"
}

// Redis is one server without persistence: what it held is lost when it ends.
type Redis struct {
	Port int
	Addr string // host:port

	opts RedisOptions
	proc *Process
}

// StartRedis starts a Redis and waits until it answers.
func StartRedis(o RedisOptions) (*Redis, error) {
	if o.Name == "" {
		o.Name = "redis"
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	if len(o.ACL) > 0 {
		path := filepath.Join(o.Dir, o.Name+".acl")
		if err := os.WriteFile(path, []byte(strings.Join(o.ACL, "\n")+"\n"), 0o600); err != nil {
			return nil, err
		}
		o.Args = append([]string{"--aclfile", path}, o.Args...)
	}
	if o.Port != 0 {
		return startRedisOn(o, o.Port)
	}
	for try := 1; ; try++ {
		port, err := FreePort()
		if err != nil {
			return nil, err
		}
		r, err := startRedisOn(o, port)
		if !errors.Is(err, ErrPortTaken) || try == portTries {
			return r, err
		}
	}
}

func startRedisOn(o RedisOptions, port int) (*Redis, error) {
	r := &Redis{Port: port, Addr: Addr(port), opts: o}
	if err := r.Start(); err != nil {
		return nil, err
	}
	return r, nil
}

// Start starts a Redis that was killed or stopped again, empty, on its port.
func (r *Redis) Start() error {
	if r.proc != nil && !r.proc.Ended() {
		return fmt.Errorf("%s runs already", r.opts.Name)
	}
	args := []string{
		"--bind", Host, "--port", strconv.Itoa(r.Port),
		"--save", "", "--appendonly", "no",
		"--dir", r.opts.Dir, "--dbfilename", r.opts.Name + ".rdb",
		"--daemonize", "no",
	}
	if r.opts.Password != "" {
		args = append(args, "--requirepass", r.opts.Password)
	}
	log := filepath.Join(r.opts.Dir, r.opts.Name+".log")
	said := logSize(log)
	proc, err := command{
		name: r.opts.Name, bin: r.opts.Binary, args: append(args, r.opts.Args...), log: log,
	}.start()
	if err != nil {
		return err
	}
	r.proc = proc
	err = proc.waitReady(context.Background(), redisReady, func() error {
		// Another server may answer on a port that this one couldn't have.
		if !logSays(log, said, "eady to accept connections") {
			return errors.New("its log doesn't say that it is ready")
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

// Kill ends Redis as a crash would (kill -9) and waits until it is gone.
func (r *Redis) Kill() { r.proc.Kill() }

// Stop ends Redis in order.
func (r *Redis) Stop() { r.proc.Stop() }

// Pause makes Redis hang: connections stay open and nothing is answered.
func (r *Redis) Pause() error { return r.proc.Signal(syscall.SIGSTOP) }

// Resume ends a Pause.
func (r *Redis) Resume() error { return r.proc.Signal(syscall.SIGCONT) }

// Process is the running server.
func (r *Redis) Process() *Process { return r.proc }

// Client connects to Redis as the default user. The caller closes it.
func (r *Redis) Client() *redis.Client { return r.ClientAs("", r.opts.Password, 0) }

// ClientAs connects as some user, "" for the default one, to some database. The
// caller closes it.
func (r *Redis) ClientAs(user, password string, db int) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                  r.Addr,
		Username:              user,
		Password:              password,
		DB:                    db,
		Protocol:              2,
		DisableIdentity:       true,
		MaxRetries:            -1,
		ContextTimeoutEnabled: true,
	})
}

// ping succeeds when Redis answers commands, or would with the right password.
func (r *Redis) ping() error {
	c := r.Client()
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := c.Ping(ctx).Err()
	var refused redis.Error
	if errors.As(err, &refused) && !strings.HasPrefix(refused.Error(), "LOADING") {
		return nil
	}
	return err
}
