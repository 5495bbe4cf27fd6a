package emulator_test

import (
	"bufio"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sluice/internal/emulator"
)

// patience bounds the waits for a real server; nothing is timed.
const patience = 10 * time.Second

// redisServer starts a Redis of its own.
func redisServer(t *testing.T) (addr string) {
	t.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		t.Fatal("redis-server is needed: install the package redis-server, or put it on PATH")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	cmd := exec.Command(bin, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(patience); ; {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			return addr
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server doesn't answer: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func TestBridgeToRedis(t *testing.T) {
	vm := start(t, emulator.Config{Bridges: map[string]string{"redis": redisServer(t)}})
	for i := range 3 {
		r := do(vm, "pipe,redis,INCR_counter pause")
		if !r.Paused() {
			t.Fatal("not paused")
		}
		if !vm.PumpUntil(patience, func() bool { return r.LocalReply() != nil }) {
			t.Fatalf("no answer to request %d", i+1)
		}
		equal(t, "answer", string(r.LocalReply().Body), ":"+strconv.Itoa(i+1)+"\r\n")
	}
	equal(t, "streams", len(vm.Streams()), 1)
}

// A server that closes its end closes the stream; one that can't be reached too.
func TestBridgeBreaks(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	got := make(chan string, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		got <- line
		c.Close()
	}()
	vm := start(t, emulator.Config{Bridges: map[string]string{"redis": addr}})
	do(vm, "pipe,redis,hello pause")
	closed := func() bool { return !vm.Stream(len(vm.Streams()) - 1).Open() }
	if !vm.PumpUntil(patience, closed) {
		t.Fatal("the stream is still open")
	}
	equal(t, "the server got", <-got, "hello\r\n")
	if status := found(vm, "status"); !strings.HasPrefix(status, "0 13 ") {
		t.Errorf("status %q", status)
	}
	l.Close()

	do(vm, "abi.grpc_stream,redis")
	if !vm.PumpUntil(patience, closed) {
		t.Fatal("the second stream is still open")
	}
	if status := found(vm, "status"); !strings.HasPrefix(status, "0 14 ") {
		t.Errorf("status %q", status)
	}
	if trailing := found(vm, "trailing"); !strings.HasPrefix(trailing, "0 :status=200 content-type=application/grpc grpc-status=14 grpc-message=") {
		t.Errorf("trailing metadata %q", trailing)
	}
}

// In real time Pump makes the ticks.
func TestRealTime(t *testing.T) {
	vm := start(t, emulator.Config{RealTime: true})
	do(vm, "abi.tick,1 at-tick,abi.time")
	if !vm.PumpUntil(patience, func() bool { return found(vm, "time") != "none" }) {
		t.Fatal("no tick")
	}
	ns, err := strconv.ParseInt(strings.TrimPrefix(found(vm, "time"), "0 "), 10, 64)
	if err != nil || time.Since(time.Unix(0, ns)).Abs() > time.Minute {
		t.Errorf("the module's clock says %s, %v", found(vm, "time"), err)
	}
}
