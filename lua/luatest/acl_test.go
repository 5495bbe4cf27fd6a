package luatest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"sluice/internal/limit"
	"sluice/internal/override"
)

// The user that docs/redis.md has gateways log in as may do all that they do, and
// nothing that they don't: without any one of its rights something fails.
func TestTheDocumentedUserIsEnoughAndLeast(t *testing.T) {
	admin := client(t)
	if admin.Do(ctx, "ACL", "WHOAMI").Err() != nil {
		t.Log("this Redis has no users: they came with 6.0")
		return
	}
	rights := documentedRights(t, "gateway")
	if !slices.Contains(rights, "~rl:*") || !slices.Contains(rights, "resetchannels") || !slices.Contains(rights, "-@all") {
		t.Fatalf("the line begins from other rights: %q", rights)
	}
	setUser := func(rights []string) {
		args := []any{"ACL", "SETUSER", "gateway", "reset", "on", ">secret"}
		for _, r := range rights {
			args = append(args, r)
		}
		if err := admin.Do(ctx, args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	setUser(rights)
	rdb := redis.NewClient(&redis.Options{Addr: addr, Protocol: 2, DisableIdentity: true, Username: "gateway", Password: "secret", PoolSize: 1})
	t.Cleanup(func() { _ = rdb.Close() })
	all := gatewayCalls(t, admin)
	run := func() error {
		if err := admin.FlushAll(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		const most = 1000 // calls in one round trip
		for some := range slices.Chunk(all, most) {
			_, err := rdb.Pipelined(ctx, func(p redis.Pipeliner) error {
				for _, args := range some {
					p.Do(ctx, args...)
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := run(); err != nil {
		t.Fatalf("%q isn't enough: %v", rights, err)
	}
	for i, r := range rights {
		if r[0] != '+' && r[0] != '~' {
			continue
		}
		setUser(slices.Delete(slices.Clone(rights), i, i+1))
		if err := run(); err == nil {
			t.Errorf("nothing fails without %s: it isn't needed", r)
		}
	}
	setUser(rights)
	if err := run(); err != nil {
		t.Error(err)
	}
	for _, refused := range [][]any{
		{"GET", "other"}, {"EVAL", "return redis.call('GET', KEYS[1])", 1, "other"}, {"KEYS", "*"}, {"FLUSHALL"},
		{"CONFIG", "GET", "*"}, {"PUBLISH", "rl:x", "y"}, {"SCRIPT", "FLUSH"}, {"ACL", "LIST"}, {"DEBUG", "SLEEP", "0"},
	} {
		if err := rdb.Do(ctx, refused...).Err(); err == nil || err == redis.Nil {
			t.Errorf("%v isn't refused", refused)
		}
	}
}

// gatewayCalls are calls of every kind that gateways make, with every algorithm
// on every path through its script.
func gatewayCalls(t *testing.T, admin *redis.Client) (calls [][]any) {
	t.Helper()
	add := func(args ...any) { calls = append(calls, args) }
	add("PING")
	add("EVAL", override.ReadScript, 1, override.Key("rl"), "")
	add("EVAL", pluginText(t, "gateways.go", "beatScript"), 1, "rl:{gateways}:beat1", "a gateway", "10000")
	keyPrefix = "rl"
	defer func() { keyPrefix = "test" }()
	for _, alg := range append(limit.Algorithms(), limit.Pool) {
		c := newCaller(t, admin, alg)
		schedule := rapid.Custom(func(t *rapid.T) (calls [][]any) {
			k := counter{alg: alg, key: freshKey(alg.Suffix), p: drawParams(t, alg)}
			now := int64(epoch)
			for i := range 60 {
				now += clockStep(t, k.p.WindowMS)
				if rapid.IntRange(0, 9).Draw(t, "change?") == 0 {
					k.p = changeParams(t, alg, k.p)
				}
				k.op = rapid.IntRange(0, 5).Draw(t, "op")
				k.cost = drawCost(t, min(k.p.Limit, 100))
				keys, argv := c.args(now, fmt.Sprint("id", i%16), k)
				calls = append(calls, append([]any{"EVALSHA", c.script.SHA, len(keys), keys[0]}, argv...))
			}
			return calls
		})
		for seed := range 10 {
			calls = append(calls, schedule.Example(seed)...)
		}
		// By Redis's own clock keys change in place.
		k := counter{alg: alg, key: freshKey(alg.Suffix), p: fivePerMinute, cost: 1}
		for range 4 {
			keys, argv := c.args(-1, "id", k)
			add(append([]any{"EVALSHA", c.script.SHA, len(keys), keys[0]}, argv...)...)
		}
		// As a gateway does where the script is unknown: by its text.
		last := calls[len(calls)-1]
		add(append([]any{"EVAL", c.script.Source}, last[2:]...)...)
	}
	return calls
}

// documentedRights are those of a user in docs/redis.md, without its password.
func documentedRights(t *testing.T, user string) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/redis.md")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 4 && words[0] == "user" && words[1] == user {
			return words[4:] // behind on and the password
		}
	}
	t.Fatalf("docs/redis.md has no line for the user %s", user)
	return nil
}

// pluginText is a constant text that the plugin keeps to itself.
func pluginText(t *testing.T, file, name string) string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "../../plugin/"+file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		g, _ := d.(*ast.GenDecl)
		if g == nil {
			continue
		}
		for _, s := range g.Specs {
			v, _ := s.(*ast.ValueSpec)
			if v == nil || v.Names[0].Name != name || len(v.Values) != 1 {
				continue
			}
			lit, _ := v.Values[0].(*ast.BasicLit)
			if lit == nil {
				continue
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
	t.Fatalf("plugin/%s has no constant %s", file, name)
	return ""
}
