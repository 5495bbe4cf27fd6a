package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sluice/bench/load"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

func TestPing(t *testing.T) {
	redis := stacktest.Redis(t, stack.RedisOptions{})
	stop, err := startPing(redis.Addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * pingEvery)
	h, err := stop()
	if n := h.TotalCount(); err != nil || n < 2 || n > 21 || load.Ms(h, 50) > 5 {
		t.Errorf("%d round trips within 20 pauses, %.3f ms at the median: %v", n, load.Ms(h, 50), err)
	}
	for _, addr := range []string{"localhost:6379", "127.0.0.1", "[::1]:6379", "127.0.0.1:1"} {
		if _, err := startPing(addr, nil); err == nil {
			t.Errorf("%s: no error", addr)
		}
	}
}

// What isn't the answer to a PING, or comes far too late, is no round trip.
func TestPingUnanswered(t *testing.T) {
	locked := stacktest.Redis(t, stack.RedisOptions{Password: "secret"})
	stalled := stacktest.Redis(t, stack.RedisOptions{})
	if err := stalled.Pause(); err != nil {
		t.Fatal(err)
	}
	for name, redis := range map[string]*stack.Redis{"with a password": locked, "stalled": stalled} {
		stop, err := startPing(redis.Addr, nil)
		if err != nil {
			t.Fatal(err)
		}
		if h, err := stop(); err == nil || h.TotalCount() > 0 {
			t.Errorf("Redis is %s: %d round trips, %v", name, h.TotalCount(), err)
		}
	}
	if err := stalled.Resume(); err != nil {
		t.Fatal(err)
	}
}

// From a processor that others keep busy a round trip has none of their turns in it,
// which are milliseconds long; and nothing of the thread remains.
func TestPingFromABusyProcessor(t *testing.T) {
	cpus, enough, err := divideProcessors()
	if err != nil || !enough {
		t.Skip("there is one processor only", err)
	}
	redis := stacktest.Redis(t, stack.RedisOptions{})
	if err := pin(redis.Process().Pid(), &cpus.rest); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		busy := exec.Command("sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() {
			_ = busy.Process.Kill()
			_ = busy.Wait()
		}()
		if err := pin(busy.Process.Pid, &cpus.gateway); err != nil {
			t.Fatal(err)
		}
	}
	stop, err := startPing(redis.Addr, &cpus.gateway)
	if errors.Is(err, unix.EPERM) {
		t.Skip("this program mustn't choose its scheduling class")
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * pingEvery)
	h, err := stop()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d round trips, %.3f ms at the median, %.3f ms at p99", h.TotalCount(), load.Ms(h, 50), load.Ms(h, 99))
	if h.TotalCount() < 20 || load.Ms(h, 50) > 1 {
		t.Error("a round trip waits for others on its processor")
	}
	for deadline := time.Now().Add(5 * time.Second); urgentThreads(t) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d threads of this program are urgent", urgentThreads(t))
		}
	}
}

// urgentThreads is how many threads of this program are urgent, but for the main one,
// which the runtime parks for good instead of ending it.
func urgentThreads(t *testing.T) (n int) {
	tasks, err := filepath.Glob("/proc/self/task/*")
	if err != nil || len(tasks) == 0 {
		t.Fatal("no threads", err)
	}
	for _, task := range tasks {
		text, err := os.ReadFile(filepath.Join(task, "stat"))
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		// The 41st field is the class, and rest begins with the third.
		if f := strings.Fields(rest); filepath.Base(task) != strconv.Itoa(os.Getpid()) && f[41-3] != strconv.Itoa(unix.SCHED_NORMAL) {
			n++
		}
	}
	return n
}
