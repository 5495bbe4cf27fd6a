package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/envoyconfig"
)

// gateway is what an Envoy needs once each of its workers has answered requests.
type gateway struct {
	rss  int64         // in memory, bytes
	peak int64         // most that ever was in memory, bytes
	load time.Duration // until it served
}

// tools are the paths of what is run.
type tools struct{ envoy, redis string }

// measure starts envoy.yaml with so many workers, with the plugin when module
// isn't "", and sends every worker a request.
func measure(ctx context.Context, root, dir string, t tools, redis, module string, workers int) (gateway, error) {
	c, err := envoyconfig.Load(filepath.Join(root, "envoy.yaml"))
	if err != nil {
		return gateway{}, err
	}
	c.AdminPort(0)
	c.Listen(envoyconfig.Gateway, 0)
	c.Listen(envoyconfig.Sample, 0)
	c.Endpoint(envoyconfig.Pipe, redis)
	if module == "" {
		c.RemovePlugin()
	} else {
		c.Module(module)
	}
	start := time.Now()
	e, err := stack.StartEnvoy(ctx, stack.EnvoyOptions{
		Binary: t.envoy, Dir: dir, Name: fmt.Sprintf("workers-%d", workers), Config: c, Workers: workers, Level: "error",
	})
	if err != nil {
		return gateway{}, err
	}
	defer e.Stop()
	g := gateway{load: time.Since(start)}
	if err := reachAll(ctx, e, workers); err != nil {
		return g, err
	}
	g.rss, g.peak, err = memory(e.Process().Pid())
	return g, err
}

var workerConnections = regexp.MustCompile(`(?m)^listener\..*\.worker_(\d+)\.downstream_cx_total: (\d+)$`)

// reachAll sends requests over new connections until every worker has had one:
// the kernel chooses who accepts a connection.
func reachAll(ctx context.Context, e *stack.Envoy, workers int) error {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for range 400 {
		if _, err := get(ctx, &client, e.URL()+"/"); err != nil {
			return err
		}
		stats, err := get(ctx, &client, "http://"+string(e.Admin)+"/stats?filter=worker_.*downstream_cx_total")
		if err != nil {
			return err
		}
		reached := map[string]bool{}
		for _, m := range workerConnections.FindAllStringSubmatch(stats, -1) {
			if m[2] != "0" {
				reached[m[1]] = true
			}
		}
		if len(reached) >= workers {
			return nil
		}
	}
	return fmt.Errorf("400 connections didn't reach all of %d workers", workers)
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

var statusLine = regexp.MustCompile(`(?m)^(VmHWM|VmRSS):\s+(\d+) kB$`)

// memory is how much of a process is in memory now, and at most was, bytes.
func memory(pid int) (rss, peak int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0, err
	}
	found := map[string]int64{}
	for _, m := range statusLine.FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			return 0, 0, err
		}
		found[m[1]] = n * 1024
	}
	if len(found) != 2 {
		return 0, 0, fmt.Errorf("/proc/%d/status names no VmRSS and VmHWM", pid)
	}
	return found["VmRSS"], found["VmHWM"], nil
}
