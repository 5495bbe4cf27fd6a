package e2e

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"sluice/internal/stack/stacktest"
)

// `sluice dev --config`: a sluice configuration alone runs, and what is saved in
// its file takes effect while requests go on; what is wrong changes nothing.
func TestDevWithALimitsFile(t *testing.T) {
	root := stacktest.Root(t)
	tool := filepath.Join(t.TempDir(), "sluice")
	build := exec.Command("go", "build", "-o", tool, "./cmd/sluice")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	limits := filepath.Join(t.TempDir(), "limits.yaml")
	save := func(text string) {
		t.Helper()
		if err := os.WriteFile(limits, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	const text = "redis: {cluster: elsewhere, timeout: 250ms}\nlimits:\n- name: mine\n  rate: %s\n"
	save(fmt.Sprintf(text, "30/min"))
	dev := exec.Command(tool, "dev", "--config", limits, "--logs", t.ArtifactDir())
	dev.Dir = root
	dev.Env = append(os.Environ(), "ENVOY="+stacktest.EnvoyBinary(t), "REDIS_SERVER="+stacktest.RedisBinary(t))
	dev.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := dev.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := dev.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Wait() }()
	defer func() { _ = dev.Process.Signal(os.Interrupt) }()
	printed := bufio.NewScanner(out)
	until := func(text string) string {
		t.Helper()
		for printed.Scan() {
			if strings.Contains(printed.Text(), text) {
				return printed.Text()
			}
		}
		t.Fatalf("it ended and never said %q", text)
		return ""
	}
	gateway := regexp.MustCompile(`http://\S+`).FindString(until("  gateway "))
	until("Ctrl-C stops everything.")
	policy := func() (policy, remaining string) {
		t.Helper()
		resp, err := http.Get(gateway + "/")
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.Header.Get("ratelimit-policy"), resp.Header.Get("x-ratelimit-remaining")
	}
	if got, left := policy(); got != `"mine";q=30;w=60` || left != "29" {
		t.Errorf("at first: %s, %s", got, left)
	}
	save(fmt.Sprintf(text, "50/min"))
	until("is in force")
	if got, left := policy(); got != `"mine";q=50;w=60` || left != "48" {
		t.Errorf("after the change: %s, %s left: the first request must count", got, left)
	}
	save(fmt.Sprintf(text, "many"))
	if line := until("limits.yaml:4:9: limits[0].rate: "); line == "" {
		t.Error("the error has no place")
	}
	until("nothing was changed")
	eventually(t, 5*time.Second, func() error {
		if got, _ := policy(); got != `"mine";q=50;w=60` {
			return fmt.Errorf("after a wrong one: %s", got)
		}
		return nil
	})
}
