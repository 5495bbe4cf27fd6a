package observability

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

const (
	flood   = 10_000
	workers = 2
)

// lines are what the plugin has written into Envoy's log.
func lines(t *testing.T, e *stack.Envoy) []string {
	t.Helper()
	text, err := os.ReadFile(e.Process().Log)
	if err != nil {
		t.Fatal(err)
	}
	var own []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "sluice: ") {
			own = append(own, line)
		}
	}
	return own
}

// floodWith sends n requests, each with a key of its own, and fails the test for
// any of another status.
func floodWith(t *testing.T, url string, n int64, status int) {
	t.Helper()
	var sent, wrong atomic.Int64
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for i := sent.Add(1); i <= n; i = sent.Add(1) {
				if code, _, err := ask(url, fmt.Sprint(i)); err != nil || code != status {
					wrong.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if wrong := wrong.Load(); wrong > 0 {
		t.Errorf("%d of %d requests weren't answered %d", wrong, n, status)
	}
}

// The plugin writes a line when something changes, not when a request is
// rejected, and not for each request that Redis can't decide.
func TestLogLines(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	e := stacktest.Gateway{
		Plugin: policy(t,
			on("none", "0/hour", nil), // rejected by Redis, each
			on("closed", "1000000/hour", m{"on_error": "deny"}),
		),
		Redis: redis.Addr, Workers: workers, Upstream: stacktest.Upstream(t).Addr,
	}.Start(t)
	started := len(lines(t, e)) // which version it is
	floodWith(t, e.URL()+"/none", flood, 429)
	if got := lines(t, e); len(got) > started {
		t.Errorf("%d rejections wrote %d lines, such as %s", flood, len(got)-started, got[len(got)-1])
	}

	redis.Kill()
	start := time.Now()
	floodWith(t, e.URL()+"/closed", flood, 503)
	// Four things can be said: a connection is lost, decisions fail, in one way or
	// two, the breaker opened. Those that repeat do so every five seconds.
	took := time.Since(start)
	most := workers * 4 * int(1+took/(5*time.Second))
	got := lines(t, e)[started:]
	if len(got) == 0 || len(got) > most {
		t.Errorf("%d requests without Redis wrote %d lines in %v, and at most %d are expected:\n%s", flood, len(got), took, most, strings.Join(got, ""))
	}
	opened := 0
	for _, line := range got {
		if strings.Contains(line, "follow on_error at once") {
			opened++
		}
	}
	if opened == 0 || opened > workers {
		t.Errorf("%d lines say that a breaker opened:\n%s", opened, strings.Join(got, ""))
	}

	if err := redis.Start(); err != nil {
		t.Fatal(err)
	}
	// Each worker whose breaker opened says once that Redis answers again.
	eventually(t, func() error {
		code, _, err := ask(e.URL()+"/closed", "back")
		if err != nil {
			return err
		}
		if code != 200 {
			return fmt.Errorf("answered %d", code)
		}
		back := 0
		for _, line := range lines(t, e) {
			if strings.Contains(line, "Redis answers again") {
				back++
			}
		}
		if back != opened {
			return fmt.Errorf("%d workers of %d say that Redis answers again", back, opened)
		}
		return nil
	})
	before := len(lines(t, e))
	floodWith(t, e.URL()+"/none", flood/10, 429)
	if after := len(lines(t, e)); after != before {
		t.Errorf("%d more lines", after-before)
	}
}
