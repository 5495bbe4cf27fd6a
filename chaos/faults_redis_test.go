package chaos

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/chaos/faultproxy"
	"sluice/internal/stack"
)

// client connects to Redis itself, not through the proxy.
func (r *run) client(server *stack.Redis) *redis.Client {
	c := server.Client()
	r.Cleanup(func() { _ = c.Close() })
	return c
}

// do fails the test unless a command succeeds.
func (r *run) do(c *redis.Client, args ...any) any {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
	defer cancel()
	v, err := c.Do(ctx, args...).Result()
	if err != nil {
		r.Fatalf("%v: %v", args, err)
	}
	return v
}

// timed runs commands inside a script and returns the time in Redis, us, at
// which they ran: no decision comes between.
func (r *run) timed(c *redis.Client, commands string) int64 {
	r.Helper()
	v := r.do(c, "EVAL", "local t = redis.call('TIME') local now = string.format('%.0f', t[1] * 1000000 + t[2]) "+commands+" return now", 0)
	return r.number(v)
}

func (r *run) number(v any) int64 {
	r.Helper()
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if err != nil {
		r.Fatal(err)
	}
	return n
}

// killRedis kills Redis, leaves it dead for a while and starts it again, empty.
func killRedis(r *run, dead time.Duration) {
	r.bed.redis.Kill()
	time.Sleep(dead)
	r.forget(us(time.Now()))
	if err := r.bed.redis.Start(); err != nil {
		r.Error(err)
		return
	}
	r.bed.waits.follow(ofRedis, r.bed.redis.Process().Pid())
}

// stopRedis makes Redis hang.
func stopRedis(r *run, d time.Duration) {
	if err := r.bed.redis.Pause(); err != nil {
		r.Fatal(err)
	}
	time.Sleep(d)
	if err := r.bed.redis.Resume(); err != nil {
		r.Fatal(err)
	}
}

// pauseClients has Redis hold all commands.
func pauseClients(r *run, d time.Duration) {
	r.do(r.client(r.bed.redis), "CLIENT", "PAUSE", d.Milliseconds(), "ALL")
	time.Sleep(d)
}

// slowScript runs a script without end; after a while Redis answers everybody
// BUSY, and then the script is killed.
func slowScript(r *run, silent, busy time.Duration) {
	c := r.client(r.bed.redis)
	r.do(c, "CONFIG", "SET", "lua-time-limit", silent.Milliseconds())
	ended := make(chan error, 1)
	endless := r.client(r.bed.redis)
	go func() {
		ctx, cancel := context.WithTimeout(r.Context(), 10*time.Second)
		defer cancel()
		ended <- endless.Do(ctx, "EVAL", "while true do end", 0).Err()
	}()
	time.Sleep(silent + busy)
	r.do(c, "SCRIPT", "KILL")
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
		r.Errorf("the endless script ended with %v", err)
	}
	r.do(c, "CONFIG", "SET", "lua-time-limit", 5000)
}

// flushScripts forgets Redis's scripts again and again.
func flushScripts(r *run, times int, pause time.Duration) {
	c := r.client(r.bed.redis)
	for range times {
		r.do(c, "SCRIPT", "FLUSH")
		time.Sleep(pause)
	}
}

// flushAll forgets Redis's data.
func flushAll(r *run) {
	r.forget(r.timed(r.client(r.bed.redis), "redis.call('FLUSHALL')"))
}

// promotion replaces Redis by a replica.
type promotion struct {
	lost     time.Duration // writes of this long before the master dies don't reach the replica
	readonly time.Duration // gateways meet the replica this long before it is promoted
	ahead    time.Duration // the replica's clock, compared with the master's
}

// promote makes a replica, kills the master and promotes the replica.
func promote(r *run, p promotion) {
	clock := ""
	if p.ahead != 0 {
		clock = fmt.Sprintf("%+.3f", p.ahead.Seconds())
		r.clocks = append(r.clocks, p.ahead)
		r.mend = append(r.mend, r.bed.renew)
	}
	master, replica := r.bed.redis, r.bed.newRedis(clock)
	link, err := faultproxy.Start(master.Addr)
	if err != nil {
		r.Fatal(err)
	}
	defer link.Close()
	host, port, _ := strings.Cut(link.Addr, ":")
	onReplica, onMaster := r.client(replica), r.client(master)
	r.do(onReplica, "REPLICAOF", host, port)
	// The last of these marks that the replica has tells which writes came.
	const mark = "chaos:mark"
	eventually(r.T, 10*time.Second, func() error {
		r.timed(onMaster, "redis.call('SET', '"+mark+"', now)")
		time.Sleep(4 * time.Millisecond)
		return onReplica.Get(r.Context(), mark).Err()
	})
	link.Set(faultproxy.Faults{Hold: true})
	time.Sleep(p.lost)
	r.begun = time.Now()
	master.Kill()
	died := us(time.Now())
	r.bed.use(replica)
	time.Sleep(p.readonly)
	replicated := r.number(r.do(onReplica, "GET", mark))
	r.do(onReplica, "REPLICAOF", "NO", "ONE")
	r.end()
	r.wiped(replicated, died)
	r.stepped(p.ahead)
}

// stepped notes that the clock that decides changed.
func (r *run) stepped(ahead time.Duration) {
	switch {
	case ahead > 0:
		r.jumps = append(r.jumps, ahead)
	case ahead < 0:
		r.stepsBack = true
	}
}

// renew replaces a Redis whose clock is off by one whose clock isn't.
func (b *bed) renew() {
	if b.cluster != nil {
		return
	}
	old := b.redis
	b.use(b.newRedis(""))
	old.Stop()
}
