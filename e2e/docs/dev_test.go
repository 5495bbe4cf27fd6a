package docs

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sluice/internal/doctest"
	"sluice/internal/stack"
	"sluice/internal/stack/stacktest"
)

// slowest is how long something may take on a machine that is busy with other
// things. Nothing waits that long unless it is wrong.
const slowest = 2 * time.Minute

// trial is what a newcomer has running: `make run`, or `sluice dev`.
type trial struct {
	mu      sync.Mutex
	printed []string
	more    chan struct{}
	inForce int // times that a saved configuration was said to be in force, and was waited for
	stop    func()
}

// says waits for the nth line that has a text, and returns it.
func (d *trial) says(t *testing.T, text string, n int) string {
	t.Helper()
	deadline := time.After(slowest)
	for {
		d.mu.Lock()
		found, all := n, strings.Join(d.printed, "\n")
		for _, line := range d.printed {
			if strings.Contains(line, text) {
				if found--; found == 0 {
					d.mu.Unlock()
					return line
				}
			}
		}
		more := d.more
		d.mu.Unlock()
		if more == nil {
			t.Fatalf("it ended without saying %q:\n%s", text, all)
		}
		select {
		case <-more:
		case <-deadline:
			t.Fatalf("it doesn't say %q:\n%s", text, all)
		}
	}
}

func (d *trial) read(lines *bufio.Scanner) {
	for open := true; open; {
		open = lines.Scan()
		d.mu.Lock()
		close(d.more)
		if d.more = nil; open {
			d.printed, d.more = append(d.printed, lines.Text()), make(chan struct{})
		}
		d.mu.Unlock()
	}
}

// newcomer runs pages that start things by `make run` or `sluice dev`.
type newcomer struct {
	runner doctest.Runner
	now    *trial
}

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	root := stacktest.Root(t)
	n := &newcomer{}
	n.runner = doctest.Runner{
		Dir: root, Env: []string{"PATH=" + tool(t) + string(os.PathListSeparator) + os.Getenv("PATH")},
		Background: n.start,
		Prepare: map[string]func(t *testing.T){
			"saved": func(t *testing.T) {
				n.now.inForce++
				n.now.says(t, " is in force", n.now.inForce)
			},
			"overridden": func(t *testing.T) {
				n.metric(t, "the override", func(s stack.Stats) bool { return s["sluice_overrides"] == 1 })
			},
			"redis-back": func(t *testing.T) {
				n.metric(t, "Redis", func(s stack.Stats) bool { return s["sluice_breaker_open"] == 0 })
			},
		},
	}
	return n
}

// start starts what a page starts, and finds out where it listens: ports that
// are taken are others.
func (n *newcomer) start(t *testing.T, command string) {
	t.Helper()
	if n.now != nil {
		n.now.stop()
	}
	cmd := exec.Command("bash", "-c", "exec "+command)
	cmd.Dir = n.runner.Dir
	cmd.Env = append(append(os.Environ(), n.runner.Env...), "ENVOY="+stacktest.EnvoyBinary(t), "REDIS_SERVER="+stacktest.RedisBinary(t))
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	d := &trial{more: make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.read(bufio.NewScanner(out))
		_ = cmd.Wait()
	}()
	d.stop = sync.OnceFunc(func() {
		// As Ctrl-C does: to all that the terminal started.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
		select {
		case <-ended:
		case <-time.After(slowest):
			t.Errorf("%s doesn't end by Ctrl-C", command)
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	})
	t.Cleanup(d.stop)
	n.now = d
	d.says(t, "Ctrl-C stops everything.", 1)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`)
	n.runner.Replace = map[string]string{
		"127.0.0.1:10000": address.FindString(d.says(t, "  gateway ", 1)),
		"127.0.0.1:9901":  address.FindString(d.says(t, "  admin ", 1)),
		"127.0.0.1:6379":  address.FindString(d.says(t, "  Redis ", 1)),
	}
}

func (n *newcomer) admin() stack.Admin { return stack.Admin(n.runner.Replace["127.0.0.1:9901"]) }

// metric waits until the gateway's metrics are as ok says.
func (n *newcomer) metric(t *testing.T, what string, ok func(stack.Stats) bool) {
	t.Helper()
	for end := time.Now().Add(slowest); ; time.Sleep(50 * time.Millisecond) {
		s, err := n.admin().Stats(t.Context())
		if err == nil && ok(s) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%s never comes (%v)", what, err)
		}
	}
}

func (n *newcomer) run(t *testing.T, page string) {
	t.Helper()
	n.runner.Run(t, filepath.Join(n.runner.Dir, page))
}
