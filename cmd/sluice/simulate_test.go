package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sluice/internal/simulate"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

const perIP = "limits:\n- {name: per-ip, key: ip, rate: 5/min}\n"

// simulateIn goes to an empty folder with these files and a limits.yaml.
func simulateIn(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if files == nil {
		files = map[string]string{}
	}
	if files["limits.yaml"] == "" {
		files["limits.yaml"] = perIP
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// typed splits a command line as a shell does with single quotes.
func typed(line string) (args []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			args = append(args, part)
		} else {
			args = append(args, strings.Fields(part)...)
		}
	}
	return args
}

func accessLog(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "192.0.2.%d - - [04/Mar/2026:05:%02d:%02d +0000] \"GET / HTTP/1.1\" 200 1\n", i%2, i/60%60, i%60)
	}
	return b.String()
}

func TestSimulateRefuses(t *testing.T) {
	simulateIn(t, map[string]string{"access.log": accessLog(3), "odd.log": "hello\nworld\n", "empty.log": "", "wrong.yaml": "limits:\n- {name: a, rate: 5/parsec}\n"})
	for _, c := range []struct {
		line string
		code int
		says string
	}{
		{"simulate", exitUsage, "one configuration file"},
		{"simulate a b", exitUsage, "got 2 arguments"},
		{"simulate limits.yaml", exitUsage, "--load"},
		{"simulate limits.yaml --load 'constant 1/s' --log access.log", exitUsage, "together"},
		{"simulate limits.yaml --load 'constant 1'", exitUsage, "not a rate"},
		{"simulate limits.yaml --load 'often'", exitUsage, "expected constant"},
		{"simulate limits.yaml --load 'constant 1/s' --for 0s", exitUsage, "lasts"},
		{"simulate limits.yaml --load 'constant 1/s' --keys 0", exitUsage, "callers"},
		{"simulate limits.yaml --load 'constant 1/s' --spread normal", exitUsage, "no spread"},
		{"simulate limits.yaml --load 'constant 1/s' --with x", exitUsage, "SOURCE=VALUE"},
		{"simulate limits.yaml --load 'constant 1/s' --models --redis h:1", exitUsage, "redis"},
		{"simulate limits.yaml --load 'constant 1/s' --redis nowhere", exitUsage, "host:port"},
		{"simulate limits.yaml --load 'constant 1/s' --redis 127.0.0.1:1", exitFailed, "no Redis at 127.0.0.1:1"},
		{"simulate limits.yaml --load 'constant 1/s' --algorithms fast", exitUsage, "no algorithm"},
		{"simulate limits.yaml --load 'constant 1/s' --algorithms calendar --models", exitUsage, "calendar"},
		{"simulate limits.yaml --load 'constant 1/s' --plot x.gif", exitUsage, ".svg or a .png"},
		{"simulate limits.yaml --load 'constant 1/s' --top -1", exitUsage, "--top"},
		{"simulate limits.yaml --load 'constant 1/s' --format common", exitUsage, "belongs to --log"},
		{"simulate limits.yaml --log access.log --keys 5", exitUsage, "belongs to --load"},
		{"simulate limits.yaml --log access.log --format odd", exitUsage, "unknown format"},
		{"simulate limits.yaml --log access.log --format common --fields ip=x", exitUsage, "JSON lines"},
		{"simulate limits.yaml --log access.log --whole-seconds no", exitUsage, "--whole-seconds"},
		{"simulate limits.yaml --log access.log --memory 0", exitUsage, "--memory"},
		{"simulate limits.yaml --log ghost.log", exitFailed, "ghost.log"},
		{"simulate limits.yaml --log odd.log", exitFailed, "--format"},
		{"simulate limits.yaml --log odd.log --format common", exitFailed, "line 1: doesn't fit the format: hello"},
		{"simulate limits.yaml --log empty.log", exitFailed, "it is empty"},
		{"simulate ghost.yaml --load 'constant 1/s'", exitRefused, "ghost.yaml"},
		{"simulate wrong.yaml --load 'constant 1/s'", exitRefused, "wrong.yaml:2:19: limits[0].rate"},
		{"simulate limits.yaml --load 'constant 1/s' --models --plot ghost/x.svg", exitFailed, "ghost/x.svg"},
	} {
		_, err := sluice(t, typed(c.line)...)
		if exitCode(err) != c.code || err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("sluice %s: code %d, %v; want %d and %q", c.line, exitCode(err), err, c.code, c.says)
		}
	}
}

func TestSimulateLogs(t *testing.T) {
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(accessLog(60)))
	_ = w.Close()
	simulateIn(t, map[string]string{"a.log.gz": z.String(), "b.log": accessLog(60)})
	out, err := sluice(t, typed("simulate limits.yaml --log a.log.gz --log b.log --json --suggest")...)
	if err != nil {
		t.Fatal(err)
	}
	var r simulate.Report
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if run := r.Runs[0]; run.Requests != 120 || run.Admitted != 10 || run.Limits[0].Keys != 2 || len(run.Suggestions) != 1 {
		t.Errorf("%s", out)
	}
	if !strings.HasPrefix(r.By, "Redis ") || r.Log.Read != 120 || r.Log.Format != "common log format" {
		t.Errorf("by %q, log %+v", r.By, r.Log)
	}

	root := newRoot()
	var text bytes.Buffer
	root.SetOut(&text)
	root.SetErr(&text)
	root.SetIn(strings.NewReader(accessLog(20)))
	root.SetArgs(typed("simulate limits.yaml --log - --models"))
	if err := root.ExecuteContext(t.Context()); err != nil || !strings.Contains(text.String(), "20 requests: 10 admitted, 10 rejected") {
		t.Errorf("%v\n%s", err, text.String())
	}
}

func TestSimulatePlots(t *testing.T) {
	simulateIn(t, nil)
	if _, err := sluice(t, typed("simulate limits.yaml --load 'bursts 9 every 10s' --algorithms sliding_log,fixed_window --models --plot a.svg --plot a.png")...); err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]string{"a.svg": "<?xml", "a.png": "\x89PNG"} {
		if b, err := os.ReadFile(name); err != nil || !bytes.HasPrefix(b, []byte(begin)) {
			t.Errorf("%s: %v, %.20q", name, err, b)
		}
	}
}

// Without any Redis the stand-in takes its place, and says so.
func TestSimulateWithoutRedis(t *testing.T) {
	simulateIn(t, nil)
	t.Setenv("PATH", t.TempDir())
	t.Setenv("REDIS_SERVER", "")
	out, err := sluice(t, typed("simulate limits.yaml --load 'constant 1/s' --for 20s")...)
	if err != nil || !strings.Contains(out, "WARNING: no redis-server") || !strings.Contains(out, "built-in stand-in") || !strings.Contains(out, "5 admitted, 15 rejected") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Setenv("REDIS_SERVER", filepath.Join(t.TempDir(), "ghost"))
	if _, err = sluice(t, typed("simulate limits.yaml --load 'constant 1/s' --for 20s")...); exitCode(err) != exitMissing {
		t.Errorf("a REDIS_SERVER that isn't there: %v", err)
	}
}

// A given Redis is used with the configuration's credentials; a run that is
// stopped leaves nothing there.
func TestSimulateOnAGivenRedis(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{Password: "open sesame"})
	simulateIn(t, map[string]string{"limits.yaml": "redis: {password_env: SIMULATE_TEST_PASSWORD}\n" + perIP})
	line := typed("simulate limits.yaml --load 'constant 10/s' --redis " + redis.Addr)
	if _, err := sluice(t, line...); exitCode(err) != exitFailed || !strings.Contains(err.Error(), "wants a password") {
		t.Errorf("without a password: %v", err)
	}
	t.Setenv("SIMULATE_TEST_PASSWORD", "wrong sesame")
	if _, err := sluice(t, line...); err == nil || strings.Contains(err.Error(), "sesame") {
		t.Errorf("with a wrong password: %v", err)
	}
	t.Setenv("SIMULATE_TEST_PASSWORD", "open sesame")
	out, err := sluice(t, line...)
	if err != nil || !strings.Contains(out, "decided by the Redis at "+redis.Addr) || strings.Contains(out, "sesame") {
		t.Errorf("%v\n%s", err, out)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	root := newRoot()
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	root.SetArgs(typed("simulate limits.yaml --load 'constant 100000/s' --for 1h --keys 100 --redis " + redis.Addr))
	if err := root.ExecuteContext(ctx); err == nil || !strings.Contains(err.Error(), "stopped before the end") {
		t.Errorf("stopped: %v", err)
	}
	c := redis.Client()
	defer c.Close()
	if n, err := c.DBSize(t.Context()).Result(); n != 0 || err != nil {
		t.Errorf("%d keys are left, %v", n, err)
	}
}

// Every command of the document works as it stands there.
func TestSimulateDocument(t *testing.T) {
	root := stacktest.Root(t)
	doc, err := os.ReadFile(filepath.Join(root, "docs", "simulate.md"))
	if err != nil {
		t.Fatal(err)
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write([]byte(accessLog(60)))
	_ = w.Close()
	simulateIn(t, map[string]string{"access.log": accessLog(60), "access.log.gz": z.String(),
		"app.jsonl": `{"ts":"2026-03-04T05:06:07Z","client":{"addr":"192.0.2.1"},"method":"GET","path":"/","user":"u1","claims":{"sub":"s1"}}` + "\n"})
	commands := 0
	for line := range strings.Lines(string(doc)) {
		line, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		_, args, found := strings.Cut(line, "sluice simulate ")
		if !ok || !found {
			continue
		}
		commands++
		args = strings.ReplaceAll(args, `"$FORMAT"`, "common")
		cmd := newRoot()
		var out bytes.Buffer
		cmd.SetOut(&out)
		cmd.SetErr(&out)
		cmd.SetIn(strings.NewReader(accessLog(60)))
		cmd.SetArgs(append([]string{"simulate"}, typed(args)...))
		if err := cmd.ExecuteContext(t.Context()); err != nil || !strings.Contains(out.String(), "per-ip") {
			t.Errorf("%s: %v\n%s", line, err, out.String())
		}
	}
	if commands < 6 {
		t.Errorf("only %d commands were found", commands)
	}
}
