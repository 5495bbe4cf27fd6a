package stack

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// parentRole makes this test binary start a child and then wait to be killed.
const parentRole = "SLUICE_TEST_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentRole); dir != "" {
		p, err := sleeper(dir).start()
		if err != nil {
			panic(err)
		}
		println(p.Pid())
		select {}
	}
	os.Exit(m.Run())
}

func sleeper(dir string) command {
	return command{name: "sleeper", bin: "/bin/sleep", args: []string{"600"}, log: filepath.Join(dir, "log")}
}

func alive(pid int) bool {
	return syscall.Kill(pid, 0) == nil
}

func waitGone(t *testing.T, pid int) {
	t.Helper()
	for range 500 {
		if !alive(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("process %d is still there", pid)
}

func TestChildrenDieWithAKilledParent(t *testing.T) {
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentRole+"="+t.TempDir())
	stderr, err := parent.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stderr).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if !alive(child) {
		t.Fatal("the child isn't running")
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = parent.Wait()
	waitGone(t, child)
}

func TestStopEndsAProcess(t *testing.T) {
	p, err := sleeper(t.TempDir()).start()
	if err != nil {
		t.Fatal(err)
	}
	if p.Ended() {
		t.Fatal("it ended by itself")
	}
	p.Stop()
	if !p.Ended() || alive(p.Pid()) {
		t.Error("it still runs")
	}
	p.Stop() // twice is fine
	p.Kill()
	if err := p.Signal(syscall.SIGTERM); err == nil {
		t.Error("a signal to a process that has ended must fail")
	}
}

func TestStopEndsAPausedProcess(t *testing.T) {
	p, err := sleeper(t.TempDir()).start()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	if !p.Ended() {
		t.Error("it still runs")
	}
}

func TestWaitReadyTellsHowAProcessEnded(t *testing.T) {
	c := command{
		name: "failing", bin: "/bin/sh", args: []string{"-c", "echo what went wrong; exit 3"},
		log: filepath.Join(t.TempDir(), "log"),
	}
	p, err := c.start()
	if err != nil {
		t.Fatal(err)
	}
	err = p.waitReady(t.Context(), time.Minute, func() error { return errors.New("not yet") })
	var ended *EndedError
	if !errors.As(err, &ended) {
		t.Fatalf("got %v", err)
	}
	if ended.Name != "failing" || ended.How != "exit status 3" || !strings.Contains(ended.Tail, "what went wrong") {
		t.Errorf("got %+v", ended)
	}
}

func TestWaitReadyGivesUp(t *testing.T) {
	p, err := sleeper(t.TempDir()).start()
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	err = p.waitReady(t.Context(), 30*time.Millisecond, func() error { return errors.New("the reason") })
	if err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
}

func TestStartNamesWhatIsMissing(t *testing.T) {
	c := command{name: "ghost", bin: "/nonexistent/ghost", log: filepath.Join(t.TempDir(), "log")}
	if _, err := c.start(); err == nil || !strings.Contains(err.Error(), "start ghost") {
		t.Errorf("got %v", err)
	}
}
