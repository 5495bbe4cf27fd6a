package doctor_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/doctor"
	"sluice/internal/limit"
	"sluice/internal/scan"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
	"sluice/lua"
)

func parse(t *testing.T, text string) *config.Policy {
	t.Helper()
	p, problems := yamlconfig.Parse([]byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return p
}

func examine(t *testing.T, p *doctor.Patient) []doctor.Finding {
	t.Helper()
	p.Pacer = &scan.Pacer{Share: 1}
	found, err := doctor.Examine(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// has returns the finding of a check, of at least this severity.
func has(t *testing.T, all []doctor.Finding, s doctor.Severity, check, says string) doctor.Finding {
	t.Helper()
	var text []string
	for _, f := range all {
		if f.Check == check && f.Severity == s && strings.Contains(f.Text, says) {
			if s != doctor.OK && f.Remedy == "" {
				t.Errorf("%s: nothing is said to do", check)
			}
			return f
		}
		text = append(text, string(f.Severity)+" "+f.Check+": "+f.Text)
	}
	t.Errorf("no %s %s that says %q among\n%s", s, check, says, strings.Join(text, "\n"))
	return doctor.Finding{}
}

func start(t *testing.T, o stack.RedisOptions) (*stack.Redis, *redis.Client) {
	t.Helper()
	server := stacktest.Redis(t, o)
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	return server, rdb
}

const limits = "limits: [{name: a, key: ip, rate: 5/min}, {name: audit, key: ip, rate: 1000000/min, storage: zset}]"

// charge has the script count units, by a clock of ms from now.
func charge(t *testing.T, rdb redis.UniversalClient, algorithm, storage, key string, units int, ms int64) {
	t.Helper()
	a, err := limit.Lookup(algorithm, storage)
	if err != nil {
		t.Fatal(err)
	}
	s := lua.Compose(a.Script)
	now := rdb.Time(t.Context()).Val().UnixMicro() + ms*1000
	pipe := rdb.Pipeline()
	for i := range units {
		pipe.Eval(t.Context(), s.Source, []string{key}, now, fmt.Sprint("id", i), 1, lua.OpDecide, 1, 1_000_000, 60_000)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAHealthyRedis(t *testing.T) {
	_, rdb := start(t, stack.RedisOptions{Args: []string{"--maxmemory", "200mb", "--slowlog-log-slower-than", "-1"}})
	charge(t, rdb, "sliding_log", "compact", "rl:{a|1}:log1", 3, 0)
	rdb.ZAdd(t.Context(), "rl:{gateways}:beat1", redis.Z{Score: float64(time.Now().UnixMilli()), Member: "g1"})
	// An override, and the pool that one left behind.
	rdb.HSet(t.Context(), "rl:{sluice}:set1", "a|1", "4000000000000 block")
	rdb.Set(t.Context(), "rl:{a|2}:pool1", "4000000000000 3", time.Hour)
	all := examine(t, &doctor.Patient{Redis: rdb, Policy: parse(t, "redis: {timeout: 10s}\n"+limits)})
	for _, f := range all {
		if f.Severity != doctor.OK {
			t.Errorf("%+v", f)
		}
	}
	for check, says := range map[string]string{"version": "Redis", "eviction": "noeviction", "memory": "of maxmemory", "latency": "round trip", "clock": "ahead", "rights": "may do", "script": "isn't loaded", "keys": "all as sluice leaves them", "gateways-alive": "1 gateways", "overrides": "1 overrides"} {
		has(t, all, doctor.OK, check, says)
	}
}

// Each row of the troubleshooting table of docs/operations.md, prepared one by
// one.
func TestTroubles(t *testing.T) {
	ctx := context.Background()
	for name, c := range map[string]struct {
		redis    stack.RedisOptions
		config   string
		prepare  func(t *testing.T, rdb *redis.Client)
		patient  func(p *doctor.Patient)
		severity doctor.Severity
		check    string
		says     string
	}{
		"a gateway's clock runs ahead": {prepare: func(t *testing.T, rdb *redis.Client) {
			charge(t, rdb, "sliding_log", "compact", "rl:{a|1}:log1", 1, 30_000)
			charge(t, rdb, "fixed_window", "", "rl:{b|1}:fix1", 1, 90_000)
		}, severity: doctor.Fail, check: "clock-drift", says: "2 keys count from the future"},
		"this machine's clock differs": {patient: func(p *doctor.Patient) {
			p.Now = func() time.Time { return time.Now().Add(-5 * time.Second) }
		}, severity: doctor.Warn, check: "clock", says: "ahead of this machine's"},
		"gateways' clocks count, and differ": {config: "clock: gateway\n" + limits, patient: func(p *doctor.Patient) {
			p.Now = func() time.Time { return time.Now().Add(2 * time.Second) }
		}, severity: doctor.Fail, check: "clock", says: "behind this machine's, and clock is gateway"},
		"a big sorted set": {prepare: func(t *testing.T, rdb *redis.Client) {
			charge(t, rdb, "sliding_log", "zset", "rl:{audit|1}:zlog1", 2000, 0)
		}, severity: doctor.Warn, check: "big-keys", says: "rl:{audit|1}:zlog1"},
		"a key without an expiry": {prepare: func(t *testing.T, rdb *redis.Client) {
			charge(t, rdb, "sliding_log", "compact", "rl:{a|1}:log1", 1, 0)
			rdb.Persist(ctx, "rl:{a|1}:log1")
		}, severity: doctor.Fail, check: "no-ttl", says: "rl:{a|1}:log1"},
		"a key that expires too late": {prepare: func(t *testing.T, rdb *redis.Client) {
			charge(t, rdb, "sliding_log", "compact", "rl:{a|1}:log1", 1, 0)
			rdb.Expire(ctx, "rl:{a|1}:log1", time.Hour)
		}, severity: doctor.Warn, check: "long-ttl", says: "rl:{a|1}:log1"},
		"another program counts with INCR": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Incr(ctx, "rl:{a|1}:fix1")
			rdb.Expire(ctx, "rl:{a|1}:fix1", time.Second*30)
		}, severity: doctor.Fail, check: "non-atomic-writer", says: "several steps"},
		"another program keeps another type": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.ZAdd(ctx, "rl:{a|1}:log1", redis.Z{Score: 1, Member: "uuid"})
			rdb.Expire(ctx, "rl:{a|1}:log1", time.Second*30)
		}, severity: doctor.Fail, check: "non-atomic-writer", says: "is a zset, and sliding_log keeps a string"},
		"a log by ZADD and a pipeline": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.ZAdd(ctx, "rl:{audit|1}:zlog1", redis.Z{Score: 1, Member: "uuid"})
			rdb.Expire(ctx, "rl:{audit|1}:zlog1", time.Second*30)
		}, severity: doctor.Fail, check: "non-atomic-writer", says: "rl:{audit|1}:zlog1"},
		"keys without a hash tag": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Set(ctx, "rl:user:1:daily", "5", time.Minute)
		}, severity: doctor.Fail, check: "cross-slot", says: "rl:user:1:daily"},
		"another program's keys": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Set(ctx, "rl:{user1}:session", "5", time.Minute)
		}, severity: doctor.Warn, check: "foreign-keys", says: "rl:{user1}:session"},
		"eviction": {redis: stack.RedisOptions{Args: []string{"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"}},
			severity: doctor.Fail, check: "eviction", says: "allkeys-lru"},
		"no limit of memory": {severity: doctor.Warn, check: "memory", says: "isn't set"},
		"memory is short": {redis: stack.RedisOptions{Args: []string{"--maxmemory", "3mb"}}, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Set(ctx, "filler", strings.Repeat("x", 1_700_000), 0)
		}, severity: doctor.Fail, check: "memory", says: "soon it refuses"},
		"connections run out": {redis: stack.RedisOptions{Args: []string{"--maxclients", "2"}}, prepare: func(t *testing.T, rdb *redis.Client) {
			c := rdb.Conn()
			t.Cleanup(func() { _ = c.Close() })
			c.Ping(ctx)
		}, severity: doctor.Warn, check: "connections", says: "2 of 2"},
		"the timeout is below the round trip": {config: "redis: {timeout: 1ms}\n" + limits, prepare: func(t *testing.T, rdb *redis.Client) {
			rdb.AddHook(slow{})
		}, severity: doctor.Fail, check: "latency", says: "calls will time out"},
		"a slow script": {redis: stack.RedisOptions{Args: []string{"--slowlog-log-slower-than", "10000"}}, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Eval(ctx, "local t=redis.call('TIME') local s=t[1]*1000000+t[2] repeat t=redis.call('TIME') until t[1]*1000000+t[2]-s>30000 return 1", []string{"rl:{a|1}:log1"})
		}, severity: doctor.Warn, check: "slow-calls", says: "1 script calls"},
		"rights are missing": {config: "redis: {username: limiter, password: pw}\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Do(ctx, "ACL", "SETUSER", "limiter", "on", ">pw", "~rl:*", "+@all", "-setrange", "-evalsha")
		}, severity: doctor.Fail, check: "rights", says: "EVALSHA, SETRANGE"},
		"the right to read overrides is missing": {config: "redis: {username: limiter, password: pw}\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Do(ctx, "ACL", "SETUSER", "limiter", "on", ">pw", "~rl:*", "+@all", "-hscan")
		}, severity: doctor.Fail, check: "rights", says: "may not run HSCAN"},
		"it isn't needed without overrides": {config: "runtime_overrides: false\nredis: {username: limiter, password: pw}\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Do(ctx, "ACL", "SETUSER", "limiter", "on", ">pw", "~rl:*", "+@all", "-hscan")
		}, severity: doctor.OK, check: "rights", says: "may do"},
		"an override of no limit": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.HSet(ctx, "rl:{sluice}:set1", "a", "4000000000000 rate 9/min", "ghost", "4000000000000 block")
		}, severity: doctor.Warn, check: "overrides", says: `gateways skip 1 overrides, such as "ghost": no limit has this name`},
		"a malformed override": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.HSet(ctx, "rl:{sluice}:set1", "a", "4000000000000 rate many", "a|1", "block")
		}, severity: doctor.Warn, check: "overrides", says: "gateways skip 2 overrides"},
		"overrides that nobody reads": {config: "runtime_overrides: false\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.HSet(ctx, "rl:{sluice}:set1", "a", "4000000000000 block")
		}, severity: doctor.Warn, check: "overrides", says: "runtime_overrides: false"},
		"no pool": {prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Set(ctx, "rl:{a|1}:pool1", "never", time.Minute)
		}, severity: doctor.Fail, check: "non-atomic-writer", says: "rl:{a|1}:pool1"},
		"the user isn't there": {config: "redis: {username: limiter, password: pw}\n" + limits,
			severity: doctor.Fail, check: "rights", says: "no user limiter"},
		"other keys only": {config: "redis: {username: limiter, password: pw}\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.Do(ctx, "ACL", "SETUSER", "limiter", "on", ">pw", "~other:*", "+@all")
		}, severity: doctor.Fail, check: "rights", says: "on keys rl:*"},
		"snapshots fail": {redis: stack.RedisOptions{Args: []string{"--dbfilename", "x.rdb"}}, prepare: func(t *testing.T, rdb *redis.Client) {
			rdb.ConfigSet(ctx, "dir", t.TempDir())
			rdb.ConfigSet(ctx, "rdbcompression", "no")
			breakSnapshot(t, rdb)
		}, severity: doctor.Fail, check: "persistence", says: "snapshot failed"},
		"each write waits for the disk": {redis: stack.RedisOptions{Args: []string{"--appendonly", "yes", "--appendfsync", "always"}},
			severity: doctor.Warn, check: "persistence", says: "appendfsync is always"},
		"gateways: N is wrong": {config: "gateways: 3\n" + limits, prepare: func(_ *testing.T, rdb *redis.Client) {
			rdb.ZAdd(ctx, "rl:{gateways}:beat1", redis.Z{Score: float64(time.Now().UnixMilli()), Member: "g1"}, redis.Z{Score: 1, Member: "dead"})
		}, severity: doctor.Warn, check: "gateways-alive", says: "1 gateways live, and the configuration says gateways: 3"},
	} {
		t.Run(name, func(t *testing.T) {
			_, rdb := start(t, c.redis)
			if c.config == "" {
				c.config = limits
			}
			if c.prepare != nil {
				c.prepare(t, rdb)
			}
			p := &doctor.Patient{Redis: rdb, Policy: parse(t, c.config)}
			if c.patient != nil {
				c.patient(p)
			}
			has(t, examine(t, p), c.severity, c.check, c.says)
		})
	}
}

// breakSnapshot has a snapshot fail: its file can't be renamed onto a folder.
func breakSnapshot(t *testing.T, rdb *redis.Client) {
	t.Helper()
	ctx := t.Context()
	dir := rdb.ConfigGet(ctx, "dir").Val()["dir"]
	mkdir(t, dir+"/x.rdb/full")
	rdb.Do(ctx, "CONFIG", "SET", "save", "3600 1")
	rdb.BgSave(ctx)
	deadline := time.Now().Add(30 * time.Second)
	for !strings.Contains(rdb.Info(ctx, "persistence").Val(), "rdb_last_bgsave_status:err") {
		if time.Now().After(deadline) {
			t.Fatal("the snapshot didn't fail")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// slow makes each call take longer.
type slow struct{}

func (slow) DialHook(next redis.DialHook) redis.DialHook { return next }
func (slow) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		time.Sleep(2 * time.Millisecond)
		return next(ctx, cmd)
	}
}
func (slow) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestReplicas(t *testing.T) {
	primary, rdb := start(t, stack.RedisOptions{Name: "primary"})
	replica, rep := start(t, stack.RedisOptions{Name: "replica", Args: []string{"--replicaof", "127.0.0.1 " + fmt.Sprint(primary.Port), "--repl-diskless-sync-delay", "0"}})
	eventually(t, func() bool { return strings.Contains(rdb.Info(t.Context(), "replication").Val(), "state=online") })
	p := parse(t, limits)
	has(t, examine(t, &doctor.Patient{Redis: rdb, Policy: p}), doctor.OK, "replicas", "none behind")
	f := has(t, examine(t, &doctor.Patient{Redis: rep, Policy: p}), doctor.Fail, "role", "replica")
	if !strings.Contains(f.Remedy, fmt.Sprint(primary.Port)) {
		t.Errorf("the primary isn't named: %+v", f)
	}
	if err := replica.Pause(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = replica.Resume() }()
	rdb.Set(t.Context(), "big", strings.Repeat("x", 3<<20), 0)
	has(t, examine(t, &doctor.Patient{Redis: rdb, Policy: p}), doctor.Warn, "replicas", "bytes and")
}

func TestACluster(t *testing.T) {
	c := stacktest.RedisCluster(t, 3)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{c.Nodes[0].Addr}, Protocol: 2, DisableIdentity: true})
	defer rdb.Close()
	p := parse(t, limits)
	all := examine(t, &doctor.Patient{Redis: rdb, Policy: p})
	has(t, all, doctor.OK, "cluster", "all slots")
	n := 0
	for _, f := range all {
		if f.Check == "eviction" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d nodes were looked at", n)
	}
	one := c.Nodes[0].Client()
	defer one.Close()
	c.Nodes[2].Kill()
	eventually(t, func() bool {
		return !strings.Contains(one.ClusterInfo(t.Context()).Val(), "cluster_slots_ok:16384")
	})
	// Through one node, since the cluster's own client can't reach all.
	has(t, examine(t, &doctor.Patient{Redis: one, Policy: p, Prefix: "none"}), doctor.Fail, "cluster", "of 16384 slots")
}

func eventually(t *testing.T, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatal("it didn't come true")
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Who may do little is told what couldn't be looked at.
func TestWithFewRights(t *testing.T) {
	server, admin := start(t, stack.RedisOptions{})
	admin.Do(t.Context(), "ACL", "SETUSER", "few", "on", ">pw", "~rl:*", "+@read", "+time", "+ping", "+scan")
	rdb := server.ClientAs("few", "pw", 0)
	defer rdb.Close()
	all := examine(t, &doctor.Patient{Redis: rdb, Policy: parse(t, limits)})
	has(t, all, doctor.Warn, "eviction", "may not look")
	has(t, all, doctor.Fail, "rights", "EVAL")
}

// Nothing is written, whatever is found.
func TestExaminingChangesNothing(t *testing.T) {
	server, rdb := start(t, stack.RedisOptions{})
	charge(t, rdb, "sliding_log", "compact", "rl:{a|1}:log1", 1, 0)
	rdb.Set(t.Context(), "rl:odd", "1", 0)
	stop := stacktest.Monitor(t, server.Addr)
	examine(t, &doctor.Patient{Redis: rdb, Policy: parse(t, limits)})
	for _, name := range stop() {
		switch name {
		case "INFO", "CONFIG", "PING", "TIME", "SLOWLOG", "ACL", "SCRIPT", "CLUSTER", "SCAN", "HSCAN", "TYPE", "PTTL", "MEMORY", "GETRANGE", "ZRANGE", "ZCOUNT", "EVAL", "EVALSHA", "GET", "HELLO":
		default:
			t.Errorf("%s was sent", name)
		}
	}
}

func TestAnUnreachableRedis(t *testing.T) {
	server, rdb := start(t, stack.RedisOptions{})
	server.Kill()
	if _, err := doctor.Examine(t.Context(), &doctor.Patient{Redis: rdb}); err == nil {
		t.Error("no error")
	}
}
