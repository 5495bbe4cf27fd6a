package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// tests are some of one package's.
type tests struct {
	pkg   string
	tests []string
}

// selection is one test or two of each thing in which Envoys could differ.
var selection = []tests{
	{"./e2e", []string{
		"TestEnvoyAcceptsTheExampleUnchanged", // the configuration
		"TestExactly1000Of1005",               // the pipe, under load, over workers and gateways
		"TestRedisCluster",                    // through Envoy's Redis proxy
		"TestRedisKilledAndRestarted",         // streams that end and begin
		"TestMetricsAndAccessLog",             // metrics, labels, filter state
		"TestGRPC",                            // local replies
	}},
	{"./e2e/edges", []string{
		"TestOnlyFailedLoginsCount", // settling at proxy_on_log
		"TestCostFromTheAnswer",     // headers, trailers and bodies of answers
		"TestLargeBodyWhileHeld",    // streaming bodies of requests
		"TestLateEndWhileHeld",
		"TestClientLeavesWhileRedisIsAsked", // contexts that end while held
		"TestChangedNumberUnderLoad",        // a new configuration by ECDS
		"TestListenerUpdate",                // and by LDS
	}},
}

func names() []string {
	var list []string
	for _, s := range selection {
		list = append(list, s.tests...)
	}
	return list
}

const passed = "passed"

// run runs them on one Envoy, and notes each one's outcome.
func (s tests) run(ctx context.Context, root, version string, outcomes map[string]string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout", "20m",
		"-run", "^("+strings.Join(s.tests, "|")+")$", s.pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "ENVOY=", "ENVOY_VERSION="+version)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := s.note(out, outcomes)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s on Envoy %s: %w", s.pkg, version, err)
	}
	return readErr
}

// note reads what go test -json prints. What a failing test said is printed.
func (s tests) note(out io.Reader, outcomes map[string]string) error {
	said := map[string][]string{}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			fmt.Fprintln(os.Stderr, lines.Text()) // not from a test
			continue
		}
		top, _, _ := strings.Cut(e.Test, "/")
		switch e.Action {
		case "output":
			said[top] = append(said[top], e.Output)
		case "pass":
			if e.Test == top && top != "" {
				outcomes[top] = passed
			}
		case "fail", "skip":
			outcomes[top] = e.Action
			fmt.Fprint(os.Stderr, strings.Join(said[top], ""))
			delete(said, top)
		}
	}
	return lines.Err()
}
