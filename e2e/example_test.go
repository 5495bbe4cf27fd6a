package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// envoy.yaml runs as it stands: Envoy accepts the file itself.
func TestEnvoyAcceptsTheExampleUnchanged(t *testing.T) {
	cmd := exec.Command(stacktest.EnvoyBinary(t), "--mode", "validate", "-c", "envoy.yaml")
	cmd.Dir = stacktest.Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// `sluice dev` with envoy.yaml: what it prints works, word for word, and Ctrl-C
// stops everything.
func TestDev(t *testing.T) {
	root := stacktest.Root(t)
	tool := filepath.Join(t.TempDir(), "sluice")
	build := exec.Command("go", "build", "-o", tool, "./cmd/sluice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	logs := t.ArtifactDir()
	dev := exec.Command(tool, "dev", "--logs", logs)
	dev.Dir = root
	dev.Env = append(os.Environ(), "ENVOY="+stacktest.EnvoyBinary(t), "REDIS_SERVER="+stacktest.RedisBinary(t))
	dev.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var complaints bytes.Buffer
	dev.Stderr = &complaints
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = dev.Process.Kill()
		if t.Failed() {
			t.Logf("its errors: %s\nthe end of Envoy's log:\n%s", &complaints, stack.Tail(filepath.Join(logs, "envoy.log"), 25))
		}
	}()

	var printed strings.Builder
	lines := bufio.NewReader(out)
	for !strings.Contains(printed.String(), "Ctrl-C stops everything.") {
		line, err := lines.ReadString('\n')
		printed.WriteString(line)
		if err != nil {
			t.Fatalf("it ended: %v\n%s", err, &printed)
		}
	}
	// The page comes first: it is what a newcomer opens.
	page := regexp.MustCompile(`http://127\.0\.0\.1:\d+/`).FindString(printed.String())
	resp, err := http.Get(page)
	if err != nil {
		t.Fatalf("the page %q: %v\n%s", page, err, &printed)
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil || !strings.Contains(string(body), "<title>sluice playground</title>") {
		t.Errorf("%s answers %s (%v): %.200s", page, resp.Status, err, body)
	}
	loop := regexp.MustCompile(`(?m)^  (for i in .*; done)$`).FindStringSubmatch(printed.String())
	if loop == nil {
		t.Fatalf("it doesn't say what to type:\n%s", &printed)
	}
	typed, err := exec.Command("sh", "-c", loop[1]).CombinedOutput()
	if want := "200\n200\n200\n200\n200\n429\n429\n"; err != nil || string(typed) != want {
		t.Errorf("%s\nprinted %q (%v), expected %q", loop[1], typed, err, want)
	}

	children := childrenOf(t, dev.Process.Pid)
	if len(children) < 2 {
		t.Errorf("its children are %v", children)
	}
	if err := dev.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, lines); err != nil {
		t.Error(err)
	}
	if err := dev.Wait(); err != nil {
		t.Errorf("after Ctrl-C it ended with %v", err)
	}
	for _, pid := range children {
		eventually(t, 5*time.Second, func() error {
			if syscall.Kill(pid, 0) == nil {
				return fmt.Errorf("process %d is still there", pid)
			}
			return nil
		})
	}
}

func childrenOf(t *testing.T, pid int) []int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, field := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(field, &child); err != nil {
				t.Fatal(err)
			}
			pids = append(pids, child)
		}
	}
	return pids
}
