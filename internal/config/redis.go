package config

import (
	"strings"

	"sluice/internal/jsontext"
)

// Redis is how Redis is reached.
type Redis struct {
	// Cluster is the Envoy cluster that the plugin calls.
	Cluster  string
	Link     Link
	Topology Topology
	// Username of an ACL user; "" for the default one.
	Username string
	// Password as given in the text.
	Password string
	// PasswordEnv names the environment variable with the password.
	PasswordEnv string
	DB          int64
	// TimeoutUS is the longest wait for one attempt, microseconds.
	TimeoutUS int64
	Retry     Retry
	// Prefix is what every key begins with.
	Prefix string
}

// Retry says what happens after a lost connection or a failover error; a
// timeout is never tried again.
type Retry struct {
	Times   int64
	AfterUS int64 // how long to wait before, microseconds
}

// Link is the way from the plugin to Redis.
type Link byte

// Links.
const (
	PipeLink Link = iota // one persistent pipelined stream a worker
	HTTPLink             // one connection a call
	HostLink             // the proxy's own Redis call
)

// Topology is the shape of the Redis behind the cluster.
type Topology byte

// Topologies.
const (
	SingleRedis Topology = iota
	RedisCluster
)

var defaultRetry Retry

var retryTable = newTable("retry", "After a lost connection or a failover error, never after a timeout.", &defaultRetry, []*field{
	row("times", &defaultRetry.Times, integer(0, 3), "1", "How often a call is tried again."),
	row("after", &defaultRetry.AfterUS, durationUS(0, 1000), `"50ms"`, "How long to wait before."),
}, nil)

var defaultRedis Redis

var redisTable = newTable("redis", "How Redis is reached.", &defaultRedis, []*field{
	row("cluster", &defaultRedis.Cluster, text(clusterName).as(Type{Pattern: "^[^?\\x00-\\x20]{1,128}$"}), `"redis_pipe"`, "The Envoy cluster that the plugin calls; with `link: http` by default `redis_tcp`, with `link: host` to be given: the service as Higress names it."),
	row("link", &defaultRedis.Link, enum[Link]("pipe", "http", "host"), `"pipe"`, "The way to Redis: `pipe` is one persistent pipelined stream a worker; `http` a connection for each call, for trials; `host` the proxy's own Redis calls, which Higress has."),
	row("topology", &defaultRedis.Topology, enum[Topology]("single", "cluster"), `"single"`, "`single` is one Redis, whatever its replicas; `cluster` a Redis Cluster behind Envoy's redis_proxy: one script call per hash slot."),
	row("username", &defaultRedis.Username, text(nil), `""`, "ACL user; empty for the default one."),
	row("password_env", &defaultRedis.PasswordEnv, variable(), `""`, "Environment variable with the password."),
	row("password", &defaultRedis.Password, text(nil), `""`, "The password itself; `password_env` keeps it out of the configuration."),
	row("db", &defaultRedis.DB, integer(0, 65535), "0", "The database's number."),
	row("timeout", &defaultRedis.TimeoutUS, durationUS(1, 10_000), `"20ms"`, "The longest wait for one attempt."),
	row("retry", &defaultRedis.Retry, retryTable.kind(), "{}", "When a call is tried again."),
	row("prefix", &defaultRedis.Prefix, text(keyPrefix).as(Type{Pattern: "^[A-Za-z0-9._-]{1,64}$"}), `"rl"`, "What every key in Redis begins with."),
}, func(p *parser, v *jsontext.Value, given givenFields, t *Redis) {
	if t.Password != "" && t.PasswordEnv != "" {
		p.failField(given("password"), "password", "can't be given together with password_env", "")
	}
	if t.Username != "" && t.Password == "" && t.PasswordEnv == "" {
		p.failField(given("username"), "username", "needs password_env or password", "")
	}
	if t.Topology == RedisCluster {
		t.checkCluster(p, given)
	}
	t.checkLink(p, v, given)
})

// variable is the name of an environment variable, or "".
func variable() kind[string] {
	return text(envName).as(Type{Pattern: "^([A-Za-z_][A-Za-z0-9_]*)?$"})
}

// checkCluster reports what Envoy's redis_proxy answers by itself: it would never
// reach Redis.
func (t *Redis) checkCluster(p *parser, given givenFields) {
	if t.Username != "" {
		p.failField(given("username"), "username", "can't be used with topology: cluster, where Envoy's redis_proxy answers AUTH itself: give user and password to the cluster that it leads to, as auth_username and auth_password in its RedisProtocolOptions", "")
	}
	if t.DB != 0 {
		p.failField(given("db"), "db", "can't be used with topology: cluster: a Redis Cluster has only database 0", "")
	}
}

// checkLink reports what doesn't go with the link, and names the cluster that it
// calls where the text doesn't.
func (t *Redis) checkLink(p *parser, v *jsontext.Value, given givenFields) {
	named := given("cluster").Exists()
	if t.Link != PipeLink && t.Topology == RedisCluster {
		p.failField(given("link"), "link", "can't be used with topology: cluster, which needs the pipe through Envoy's redis_proxy", "")
	}
	switch {
	case t.Link == HTTPLink && !named:
		t.Cluster = httpCluster
	case t.Link == HostLink && !named:
		p.failField(v, "cluster", "is required with link: host: the service as Higress names it, such as outbound|6379||redis.static", "")
	case t.Link != HostLink && strings.IndexByte(t.Cluster, '|') >= 0:
		p.failField(given("cluster"), "cluster", "a cluster that the plugin calls has no | in its name, except with link: host", "")
	}
}

// httpCluster is what manifests call the cluster whose requests become bytes on a TCP
// connection each.
const httpCluster = "redis_tcp"

func clusterName(s string) string {
	if s == "" || len(s) > 128 {
		return "a cluster's name has 1 to 128 characters"
	}
	for i := 0; i < len(s); i++ {
		if s[i] <= ' ' || s[i] == '?' {
			return "a cluster that the plugin calls has no space and no ? in its name"
		}
	}
	return ""
}

func envName(s string) string {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || i > 0 && '0' <= c && c <= '9') {
			return quote(s) + " is not an environment variable's name"
		}
	}
	return ""
}

func keyPrefix(s string) string {
	if s == "" || len(s) > 64 {
		return "a prefix has 1 to 64 characters"
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("._-", c) >= 0) {
			return "a prefix has only letters, digits, and . _ -"
		}
	}
	return ""
}
