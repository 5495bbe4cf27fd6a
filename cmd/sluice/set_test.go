package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

const limitsFile = `
redis: {prefix: shop, username: tool, password_env: SHOP_PASSWORD}
limits:
- {name: per-ip, key: ip, rate: 10/s}
- {name: per-user, key: header:x-user, rate: [5/s, 100/hour]}
`

func TestAnOperatorsDay(t *testing.T) {
	server := stacktest.Redis(t, stack.RedisOptions{ACL: []string{
		"user default off",
		// What set, unset, reset and --list need, and no more.
		"user tool on >s3cret ~shop:* -@all +eval +evalsha +time +hlen +hscan +hset +hdel +pexpireat +exists +unlink +scan",
		"user test on >s3cret ~* +@all",
	}})
	t.Setenv("SHOP_PASSWORD", "s3cret")
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(limitsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		t.Helper()
		out, err := sluice(t, append(args, "--config", file, "--redis", server.Addr)...)
		if err != nil {
			t.Fatalf("sluice %q: %v\n%s", args, err, out)
		}
		if strings.Contains(out, "s3cret") {
			t.Errorf("the password is in the output: %s", out)
		}
		return out
	}
	says := func(out, want string) {
		t.Helper()
		if !strings.Contains(out, want) {
			t.Errorf("got %q, want …%s…", out, want)
		}
	}
	says(run("set", "--list"), "no overrides")
	says(run("set", "per-ip", "203.0.113.7", "--block", "--for", "1h"), "per-ip 203.0.113.7: block for 1h, until ")
	says(run("set", "per-ip", "203.0.113.7", "--rate", "2 / s", "--for", "90s"), "before: block")
	says(run("set", "per-user", "--rate", "9/s", "--rate", "500/hour", "--for", "7d"), "per-user: rate 9/s 500/hour for 168h")
	says(run("set", "per-user-1h", "--rate", "200/hour", "--for", "30min"), "per-user-1h: rate 200/hour for 30m,")
	says(run("set", "per-user", "u1", "--degraded", "--tokens", "50", "--for", "1m"), "pool 50 for 1m,")
	list := run("set", "--list")
	for _, want := range []string{"LIMIT ", "203.0.113.7  rate 2/s ", "per-user     all          rate 9/s 500/hour", "per-user     u1           pool 50"} {
		says(list, want)
	}
	var all []overrideJSON
	if err := json.Unmarshal([]byte(run("set", "--list", "--json")), &all); err != nil || len(all) != 4 || all[0].Limit != "per-ip" || *all[0].Key != "203.0.113.7" || all[0].Seconds > 90 || all[0].Seconds < 60 {
		t.Errorf("%+v, %v", all, err)
	}
	says(run("unset", "per-ip", "203.0.113.7"), "override removed")
	says(run("unset", "per-ip", "203.0.113.7"), "there was no override")
	says(run("unset", "--all", "--json"), `"removed": true`)
	says(run("set", "--list"), "no overrides")

	c := server.Client()
	defer c.Close()
	ctx := context.Background()
	if err := c.Do(ctx, "AUTH", "test", "s3cret").Err(); err == nil {
		c.Do(ctx, "SET", "shop:{per-user-1s|u1}:log1", "x")
		c.Do(ctx, "SET", "shop:{per-user-1h|u1}:log1", "x")
	} else {
		t.Fatal(err)
	}
	says(run("reset", "per-user", "u1", "--dry-run"), "per-user u1: 2 counters would be deleted")
	says(run("reset", "per-user-1h", "u1"), "1 counter deleted")
	says(run("reset", "per-user", "--json"), `"counters": 1`)
}

func TestMistakesOfAnOperator(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sluice.yaml")
	if err := os.WriteFile(file, []byte(limitsFile), 0o644); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("limits: [{name: a, rate: 5}]"), 0o644); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct {
		code int
		says string
	}{
		"set":                                                 {exitUsage, "needs the name of a limit"},
		"set per-ip --block":                                  {exitUsage, "--for is required"},
		"set per-ip --for 1h":                                 {exitUsage, "say what to set"},
		"set per-ip --block --for soon":                       {exitUsage, "no duration"},
		"set per-ip --block --for 31d":                        {exitUsage, "from 1s to 30d"},
		"set per-ip --block --for 10ms":                       {exitUsage, "from 1s to 30d"},
		"set per-ip --block --for -1h":                        {exitUsage, "from 1s to 30d"},
		"set per-ip --block --shadow --for 1h":                {exitUsage, "one thing"},
		"set per-ip --degraded --for 1h":                      {exitUsage, "--tokens"},
		"set per-ip --block --tokens 5 --for 1h":              {exitUsage, "--degraded"},
		"set per-ip --block --burst 5 --for 1h":               {exitUsage, "--burst goes with --rate"},
		"set per-ip --rate 5 --for 1h":                        {exitUsage, "is not a rate"},
		"set per-ip --rate 5/s --burst 0 --for 1h":            {exitUsage, "1 or more"},
		"set per-ip --degraded --tokens -1 --for 1h":          {exitUsage, "a number goes from 0"},
		"set per-ip a --raw-key b --block --for 1h":           {exitUsage, "--raw-key"},
		"set --list per-ip":                                   {exitUsage, "leave the limit out"},
		"set per-ipp --block --for 1h --config " + file:       {exitUsage, "did you mean per-ip?"},
		"set per-ip nobody --block --for 1h --config " + file: {exitUsage, "no address"},
		"set per-ip --block --for 1h --config " + bad:         {exitRefused, "1:"},
		"set per-ip --block --for 1h --config /nonexistent":   {exitRefused, "/nonexistent"},
		"set per-ip --block --for 1h --redis 127.0.0.1:1":     {exitFailed, "nothing listens"},
		"set per-ip --block --for 1h --redis x":               {exitUsage, "no host:port"},
		"unset":                                               {exitUsage, "needs the name"},
		"unset --all per-ip":                                  {exitUsage, "leave the limit out"},
		"unset per-ip --redis 127.0.0.1:1":                    {exitFailed, "nothing listens"},
		"reset":                                               {exitUsage, "needs the name"},
		"reset per-ip --redis 127.0.0.1:1":                    {exitFailed, "nothing listens"},
		"reset per-ip --password s3cret":                      {exitUsage, "unknown flag"},
		"reset ghost --config " + file:                        {exitUsage, "it has per-ip, per-user"},
		"set per-ip --rate 5/s --for 1h --config " + file:     {exitUsage, "SHOP_PASSWORD"},
	} {
		_, err := sluice(t, strings.Fields(line)...)
		if code := exitCode(err); err == nil || !strings.Contains(err.Error(), want.says) || code != want.code {
			t.Errorf("sluice %s: exit code %d, %v; want %d, …%s…", line, code, err, want.code, want.says)
		}
	}
}
