package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"sluice/internal/advice"
)

// serverCheck looks at one server.
type serverCheck struct {
	name string
	run  func(ctx context.Context, r *room, c *redis.Client, i info) error
}

// serverChecks are in the order in which they are reported.
var serverChecks = []serverCheck{
	{"version", version},
	{"role", role},
	{"eviction", eviction},
	{"memory", memory},
	{"connections", connections},
	{"latency", latency},
	{"clock", clocks},
	{"slow-calls", slowCalls},
	{"rights", rights},
	{"script", script},
	{"persistence", persistence},
	{"replicas", replicas},
	{"cluster", clusterState},
}

// unseen notes that INFO doesn't tell.
func (r *room) unseen(field string) {
	r.warn("INFO doesn't tell "+field, "let this user run INFO, or look by hand")
}

func version(_ context.Context, r *room, _ *redis.Client, i info) error {
	v := i["redis_version"]
	name := "Redis"
	if vk := i["valkey_version"]; vk != "" {
		name, v = "Valkey", vk
	}
	major, _, _ := strings.Cut(v, ".")
	n, err := strconv.Atoi(major)
	switch {
	case v == "":
		r.unseen("redis_version")
	case err == nil && n < 5:
		r.fail(name+" "+v+" is too old for the scripts", "use Redis 5 or later, or Valkey")
	default:
		r.ok(name + " " + v)
	}
	return nil
}

func role(_ context.Context, r *room, _ *redis.Client, i info) error {
	switch {
	case i["role"] == "slave":
		r.fail("this is a replica, which refuses to write", "point the gateways' cluster redis_pipe at the primary, "+i["master_host"]+":"+i["master_port"])
	case i["loading"] == "1":
		r.fail("it is still loading its data, and answers nothing until then", "wait, and see on_error for what the gateways do meanwhile")
	}
	return nil
}

func eviction(ctx context.Context, r *room, c *redis.Client, i info) error {
	policy := i["maxmemory_policy"]
	if policy == "" {
		m, err := c.ConfigGet(ctx, "maxmemory-policy").Result()
		if err != nil {
			return err
		}
		policy = m["maxmemory-policy"]
	}
	if policy == "noeviction" {
		r.ok("maxmemory-policy is noeviction")
		return nil
	}
	text := "maxmemory-policy is " + policy + ": when memory is short Redis drops counters, and their limits start anew"
	remedy := "CONFIG SET maxmemory-policy noeviction, in a Redis of the limits' own"
	if n, _ := i.number("evicted_keys"); n > 0 {
		r.fail(text+"; it has dropped "+i["evicted_keys"]+" keys already", remedy)
		return nil
	}
	r.fail(text, remedy)
	return nil
}

// headroom is the part of maxmemory from which on it is short.
const headroom = 0.8

func memory(_ context.Context, r *room, _ *redis.Client, i info) error {
	most, ok := i.number("maxmemory")
	used, ok2 := i.number("used_memory")
	if !ok || !ok2 {
		r.unseen("used_memory and maxmemory")
		return nil
	}
	if most == 0 {
		total, _ := i.number("total_system_memory")
		if total > 0 && float64(used) > headroom*float64(total) {
			r.fail(fmt.Sprintf("it uses %s of the machine's %s, without a limit of its own", advice.Bytes(used), advice.Bytes(total)), "give the machine more memory, and set maxmemory")
			return nil
		}
		r.warn("maxmemory isn't set ("+advice.Bytes(used)+" used): a flood of keys takes all of the machine's memory", "CONFIG SET maxmemory to what the machine can spare; with noeviction a full Redis then refuses, and on_error says what gateways do")
		return nil
	}
	text := advice.Bytes(used) + " of maxmemory " + advice.Bytes(most) + " used"
	if float64(used) > headroom*float64(most) {
		r.fail(text+": soon it refuses to count", "raise maxmemory, or see with `sluice inspect` which limits take it")
		return nil
	}
	r.ok(text)
	return nil
}

func connections(ctx context.Context, r *room, c *redis.Client, i info) error {
	now, ok := i.number("connected_clients")
	most, ok2 := i.number("maxclients")
	if !ok2 {
		if m, err := c.ConfigGet(ctx, "maxclients").Result(); err == nil {
			most, _ = strconv.ParseInt(m["maxclients"], 10, 64)
		}
	}
	if !ok || most == 0 {
		return nil
	}
	text := fmt.Sprintf("%d of %d connections", now, most)
	if float64(now) > headroom*float64(most) {
		r.warn(text, "raise maxclients, or find who holds them with CLIENT LIST")
		return nil
	}
	r.ok(text)
	return nil
}

func script(ctx context.Context, r *room, c *redis.Client, _ info) error {
	if len(r.Policy.Limits) == 0 {
		return nil
	}
	there, err := c.ScriptExists(ctx, scriptOf(r.Policy)).Result()
	if err != nil {
		return err
	}
	if len(there) == 1 && there[0] {
		r.ok("the configuration's script is loaded")
		return nil
	}
	r.ok("the configuration's script isn't loaded yet; the first request does that")
	return nil
}

func persistence(ctx context.Context, r *room, c *redis.Client, i info) error {
	if i["rdb_last_bgsave_status"] == "err" {
		m, err := c.ConfigGet(ctx, "stop-writes-on-bgsave-error").Result()
		if err != nil {
			return err
		}
		if m["stop-writes-on-bgsave-error"] == "yes" {
			r.fail("its last snapshot failed, so it refuses to write", "make room on its disk, or CONFIG SET stop-writes-on-bgsave-error no")
			return nil
		}
	}
	if i["aof_enabled"] == "1" {
		m, err := c.ConfigGet(ctx, "appendfsync").Result()
		if err != nil {
			return err
		}
		if m["appendfsync"] == "always" {
			r.warn("appendfsync is always: each decision waits for the disk", "CONFIG SET appendfsync everysec, or no persistence: counters that are lost cost one window")
			return nil
		}
	}
	r.ok("persistence holds up no decision")
	return nil
}

// Lag of a replica: bytes and seconds from which on a failover loses counts that
// matter.
const (
	lagBytes   = 1 << 20
	lagSeconds = 3
)

func replicas(_ context.Context, r *room, _ *redis.Client, i info) error {
	offset, ok := i.number("master_repl_offset")
	n, _ := i.number("connected_slaves")
	if !ok || i["role"] != "master" {
		return nil
	}
	behind := 0
	for s := range n {
		f := fields(i["slave"+strconv.FormatInt(s, 10)])
		name := f["ip"] + ":" + f["port"]
		at, err := strconv.ParseInt(f["offset"], 10, 64)
		lag, _ := strconv.Atoi(f["lag"])
		switch {
		case f["state"] != "online":
			behind++
			r.warn("replica "+name+" is "+f["state"]+", not online", "see its log; a failover to it would lose all counts")
		case err == nil && offset-at > lagBytes || lag > lagSeconds:
			behind++
			r.warn(fmt.Sprintf("replica %s is %d bytes and %d s behind: a failover forgets what was counted meanwhile", name, offset-at, lag), "look at the network between them, and the replica's CPU")
		}
	}
	if behind == 0 && n > 0 {
		r.ok(fmt.Sprintf("%d replicas, none behind", n))
	}
	return nil
}

func clusterState(ctx context.Context, r *room, c *redis.Client, i info) error {
	if i["cluster_enabled"] != "1" {
		return nil
	}
	text, err := c.ClusterInfo(ctx).Result()
	if err != nil {
		return err
	}
	state := info{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			state[k] = v
		}
	}
	const slots = "16384"
	switch {
	case state["cluster_state"] != "ok":
		r.fail("the cluster is "+state["cluster_state"]+", with "+state["cluster_slots_ok"]+" of "+slots+" slots served", "see CLUSTER NODES for the node that is missing, and CLUSTER ADDSLOTS or failover for its slots")
	case state["cluster_slots_ok"] != slots:
		r.fail("only "+state["cluster_slots_ok"]+" of "+slots+" slots are served", "see CLUSTER SLOTS for what nobody serves")
	default:
		r.ok("cluster state ok, all slots served by " + state["cluster_size"] + " primaries")
	}
	return nil
}
