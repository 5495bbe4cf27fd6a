package redis

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"sluice/internal/config"
	"sluice/internal/config/yamlconfig"
	"sluice/internal/doctor"
	"sluice/internal/inspect"
	algorithms "sluice/internal/limit"
	"sluice/internal/look"
	"sluice/internal/operate"
	"sluice/internal/override"
	"sluice/internal/scan"
	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
	"sluice/internal/stack/stacktest"
	"sluice/lua"
)

// documented is a user's line in docs/redis.md with a password in it.
func documented(t *testing.T, user, password string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "user "+user+" ") {
			return strings.TrimSpace(strings.Replace(line, ">PASSWORD", ">"+password, 1))
		}
	}
	t.Fatalf("docs/redis.md has no line for the user %s", user)
	return ""
}

// everything is a policy that uses each algorithm, and whatever else sends
// commands.
var everything = func() (all []m) {
	for _, a := range []m{
		{"name": "log"}, {"name": "audit", "storage": "zset"}, {"name": "sub", "algorithm": "sliding_counter"},
		{"name": "fixed", "algorithm": "fixed_window"}, {"name": "tokens", "algorithm": "token_bucket"},
		{"name": "leak", "algorithm": "leaky_bucket"},
		{"name": "strict", "penalty": "1min", "count_rejected": true},
		{"name": "own", "on_error": "local"}, // for which gateways count each other
	} {
		a["key"], a["rate"] = "header:x-key", "3/s"
		a["match"] = m{"path": "/" + a["name"].(string)}
		all = append(all, a)
	}
	return append(all,
		m{"name": "flying", "algorithm": "concurrency", "max": 2, "max_hold": "10s", "key": "header:x-key", "match": m{"path": "/flying"}},
		m{"name": "daily", "algorithm": "calendar", "rate": "3/day", "key": "header:x-key", "match": m{"path": "/daily"}},
		m{"name": "settled", "rate": "3/min", "key": "header:x-key", "match": m{"path": "/settled"}, "settle": m{"refund_on": m{"status": []any{"5xx"}}}})
}()

// secured starts a gateway that reaches Redis by TLS alone, as the user gateway.
func secured(t *testing.T, tlsAddr string, c stacktest.Certificates, password string, limits ...m) *stack.Envoy {
	t.Helper()
	return stacktest.Gateway{
		Redis: tlsAddr, Upstream: stacktest.Upstream(t).Addr, Env: []string{"REDIS_PASSWORD=" + password},
		Plugin: policy(t, m{"on_error": "deny", "redis": m{
			"cluster": "redis_pipe", "timeout": "10s", "username": "gateway", "password_env": "REDIS_PASSWORD",
		}}, limits...),
		Edit: func(e *envoyconfig.Config) {
			e.PassEnv("REDIS_PASSWORD")
			e.Cluster(envoyconfig.Pipe, "transport_socket", m{
				"name": "envoy.transport_sockets.tls",
				"typed_config": m{
					"@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
					"sni":   "redis.example",
					"common_tls_context": m{
						"tls_certificates": []any{m{"certificate_chain": m{"filename": c.ClientCert}, "private_key": m{"filename": c.ClientKey}}},
						"validation_context": m{
							"trusted_ca":                    m{"filename": c.CA},
							"match_typed_subject_alt_names": []any{m{"san_type": "DNS", "matcher": m{"exact": "redis.example"}}},
						},
					},
				},
			})
		},
	}.Start(t)
}

// denials are what Redis refused since the last look, by its own log.
func denials(t *testing.T, admin *redis.Client) (refused []string) {
	t.Helper()
	entries, err := admin.ACLLog(t.Context(), 100).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		refused = append(refused, e.Username+": "+e.Reason+" "+e.Object)
	}
	if err := admin.ACLLogReset(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(refused)
	return slices.Compact(refused)
}

// Over TLS and as the documented user everything works, and Redis has refused
// nothing. With a right less, callers get what on_error says, and the log says why.
func TestTLSAndLeastPrivilege(t *testing.T) {
	certs := stacktest.NewCertificates(t, "redis.example")
	server, tlsAddr := stacktest.TLSRedis(t, stack.RedisOptions{ACL: []string{
		"user default on >admin ~* &* +@all", documented(t, "gateway", "sesame"),
	}}, certs, true)
	admin := server.ClientAs("default", "admin", 0)
	defer admin.Close()
	e := secured(t, tlsAddr, certs, "sesame", everything...)
	byRedis(t, e, "/log")
	for _, l := range everything {
		path := "/" + l["name"].(string)
		for i := range 3 {
			if a := get(t, e, path, "k"); a.status != 200 || a.mode() != "redis" {
				t.Errorf("%s %d: %d in mode %q", path, i, a.status, a.mode())
			}
		}
		// flying holds no one for long; a second isn't over yet for the others.
		if a := get(t, e, path, "k"); path != "/flying" && a.status != 429 {
			t.Errorf("%s: the fourth got %d", path, a.status)
		}
	}
	// Heartbeats and polls come by themselves.
	eventually(t, 20*time.Second, func() error {
		if n := admin.ZCard(t.Context(), "rl:{gateways}:beat1").Val(); n != 1 {
			return fmt.Errorf("%d gateways beat", n)
		}
		return nil
	})
	stats := func() string {
		text, err := admin.Info(t.Context(), "commandstats").Result()
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	eventually(t, 20*time.Second, func() error {
		if text := stats(); !strings.Contains(text, "cmdstat_hscan:") {
			return fmt.Errorf("nobody asked for overrides yet")
		}
		return nil
	})
	if refused := denials(t, admin); len(refused) > 0 {
		t.Errorf("Redis refused %q", refused)
	}

	if err := admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "-evalsha").Err(); err != nil {
		t.Fatal(err)
	}
	if a := get(t, e, "/log", "refused"); a.status != 503 || a.mode() != "none" {
		t.Errorf("without EVALSHA: %d in mode %q", a.status, a.mode())
	}
	s, err := e.Admin.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if s.Sum("sluice_redis_errors_total", map[string]string{"kind": "auth"}) == 0 {
		t.Error("no error of the kind auth was counted")
	}
	text, err := os.ReadFile(e.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	if want := "Redis didn't decide (auth): NOPERM"; !strings.Contains(string(text), want) {
		t.Errorf("the log doesn't say %q", want)
	}
	if strings.Contains(string(text), "sesame") {
		t.Error("the log holds the password")
	}
	if err := admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "+evalsha").Err(); err != nil {
		t.Fatal(err)
	}
	byRedis(t, e, "/log")

	wrong := secured(t, tlsAddr, certs, "wrong", everything...)
	if a := get(t, wrong, "/log", "k"); a.status != 503 {
		t.Errorf("with a wrong password: %d", a.status)
	}
}

// Doctor names each right that gateways need and lack.
func TestDoctorNamesTheMissingRight(t *testing.T) {
	line := documented(t, "gateway", "sesame")
	server := stacktest.Redis(t, stack.RedisOptions{ACL: []string{"user default on >admin ~* &* +@all", line}})
	admin := server.ClientAs("default", "admin", 0)
	defer admin.Close()
	p, problems := yamlconfig.Parse([]byte("redis: {username: gateway, password_env: X}\nlimits: [{name: a, key: ip, rate: 5/min}]\n"))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	rights := func() (found []doctor.Finding) {
		all, err := doctor.Examine(t.Context(), &doctor.Patient{Redis: admin, Policy: p, Pacer: &scan.Pacer{Share: 1}, Pings: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range all {
			if f.Check == "rights" && f.Severity == doctor.Fail {
				found = append(found, f)
			}
		}
		return found
	}
	if f := rights(); len(f) != 0 {
		t.Errorf("with all rights: %v", f)
	}
	for _, r := range strings.Fields(line)[4:] {
		name, is := strings.CutPrefix(r, "+")
		if !is {
			continue
		}
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "gateway", "-"+name).Err(); err != nil {
			t.Fatal(err)
		}
		f := rights()
		if len(f) != 1 || !strings.Contains(f[0].Text, " "+strings.ToUpper(name)+" ") {
			t.Errorf("without %s: %v", name, f)
		}
		if err := admin.Do(t.Context(), "ACL", "SETUSER", "gateway", r).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

// toolPolicy is what the operator's tool is told that gateways run.
const toolPolicy = `
limits:
- {name: log, key: ip, rate: 5/min}
- {name: audit, key: ip, rate: 5/min, storage: zset}
- {name: sub, key: ip, rate: 5/min, algorithm: sliding_counter}
- {name: tokens, key: ip, rate: 5/min, algorithm: token_bucket}
- {name: flying, key: ip, algorithm: concurrency, max: 2, max_hold: 10s}
`

// The user that docs/redis.md has operators' tools log in as may do all that they
// do, and without any one of its rights something is refused.
func TestTheOperatorsRights(t *testing.T) {
	line := documented(t, "operator", "sesame")
	// With an append-only file there is more to look at.
	server := stacktest.Redis(t, stack.RedisOptions{
		ACL: []string{"user default on >admin ~* &* +@all", line}, Args: []string{"--appendonly", "yes"},
	})
	admin := server.ClientAs("default", "admin", 0)
	defer admin.Close()
	rdb := server.ClientAs("operator", "sesame", 0)
	defer rdb.Close()
	p, problems := yamlconfig.Parse([]byte(toolPolicy))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if err := useTool(t.Context(), admin, rdb, p); err != nil {
		t.Fatal(err)
	}
	if refused := denials(t, admin); len(refused) > 0 {
		t.Fatalf("the operator isn't allowed %q", refused)
	}
	rights := strings.Fields(line)[4:]
	for i, r := range rights {
		if r[0] != '+' && r[0] != '~' {
			continue
		}
		args := []any{"ACL", "SETUSER", "operator", "reset", "on", ">sesame"}
		for j, other := range rights {
			if j != i {
				args = append(args, other)
			}
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatal(err)
		}
		failed := useTool(t.Context(), admin, rdb, p)
		if refused := denials(t, admin); len(refused) == 0 && failed == nil {
			t.Errorf("nothing is refused without %s: it isn't needed", r)
		}
	}
}

// charge charges 1 of 5 a minute, as a gateway does.
func charge(ctx context.Context, admin *redis.Client, key string, alg *algorithms.Algorithm) error {
	script := lua.Compose(alg.Script)
	args := []any{"", "id", script.Index(alg.Script), lua.OpDecide, 1}
	for _, n := range alg.Args(nil, &algorithms.Params{Limit: 5, WindowMS: 60_000}, time.Now().UnixMicro()) {
		args = append(args, n)
	}
	return admin.Eval(ctx, script.Source, []string{key}, args...).Err()
}

// useTool does what the tool's commands do, and returns the first error; each is
// made whatever became of those before.
func useTool(ctx context.Context, admin, rdb *redis.Client, p *config.Policy) error {
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	now := time.Now()
	admin.FlushAll(ctx)
	admin.ScriptFlush(ctx)
	// Counters as gateways leave them, of each type.
	for key, alg := range map[string]*algorithms.Algorithm{"log|1}:log1": algorithms.SlidingLog, "tokens|1}:tok1": algorithms.TokenBucket} {
		note(charge(ctx, admin, "rl:{"+key, alg))
	}
	admin.ZAdd(ctx, "rl:{audit|1}:zlog1", redis.Z{Score: float64(now.UnixMilli()), Member: fmt.Sprintf("%d:%d:a", now.UnixMilli(), now.UnixMicro())})
	admin.PExpire(ctx, "rl:{audit|1}:zlog1", time.Minute)
	admin.ZAdd(ctx, "rl:{flying|1}:hold1", redis.Z{Score: float64(now.UnixMilli() + 9000), Member: "1:a"})
	admin.PExpire(ctx, "rl:{flying|1}:hold1", time.Minute)
	admin.ZAdd(ctx, "rl:{flying|1}:hold1", redis.Z{Score: float64(now.UnixMilli() + 9000), Member: "1:b"})
	// Holds from before a clock was set back.
	admin.ZAdd(ctx, "rl:{flying|2}:hold1", redis.Z{Score: float64(now.UnixMilli() + 900_000), Member: "1:a"})
	admin.PExpire(ctx, "rl:{flying|2}:hold1", time.Minute)
	admin.ZAdd(ctx, "rl:{gateways}:beat1", redis.Z{Score: float64(now.UnixMilli()), Member: "a"})
	admin.PExpire(ctx, "rl:{gateways}:beat1", time.Minute)

	o := &operate.Operator{Redis: rdb, Prefix: "rl", Policy: p}
	block := override.Spec{Kind: override.Block}
	_, _, _, err := o.Set(ctx, override.Target{Name: "log"}, block, time.Minute)
	note(err)
	admin.HSet(ctx, override.Key("rl"), "nonsense", "1 block")
	_, _, _, err = o.Set(ctx, override.Target{Name: "audit"}, block, time.Minute)
	note(err)
	_, _, _, err = o.List(ctx)
	note(err)
	_, err = o.Unset(ctx, override.Target{Name: "log"})
	note(err)
	r, err := inspect.New(inspect.Options{Policy: p, Top: 10, Pacer: &scan.Pacer{Share: 1}}).All(ctx, rdb)
	note(err)
	if err == nil && len(r.Unseen) > 0 {
		note(fmt.Errorf("inspect may not use %q", r.Unseen))
	}
	// As explain does.
	for _, k := range []string{"1", "2"} {
		_, err = look.New(rdb).Decide(ctx, "", "explained", []look.Counter{{
			Key: "rl:{flying|" + k + "}:hold1", Algorithm: algorithms.Concurrency, Op: lua.OpDecide, Cost: 1,
			Args: algorithms.Concurrency.Args(nil, &algorithms.Params{Limit: 2, HoldMS: 10_000}, now.UnixMicro()),
		}})
		note(err)
	}
	_, err = doctor.Examine(ctx, &doctor.Patient{Redis: rdb, Policy: p, Pacer: &scan.Pacer{Share: 1}, Pings: 2})
	note(err)
	_, _, err = o.Reset(ctx, override.Target{Name: "audit"}, true)
	note(err)
	_, _, err = o.Reset(ctx, override.Target{Name: "audit"}, false)
	note(err)
	_, err = o.UnsetAll(ctx)
	note(err)
	return first
}
