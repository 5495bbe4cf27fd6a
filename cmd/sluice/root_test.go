package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sluice/internal/stack"
)

// sluice runs the tool with a command line, and returns what it printed.
func sluice(t *testing.T, args ...string) (string, error) {
	t.Helper()
	root := newRoot()
	var out bytes.Buffer
	root.SetOut(&out)
	root.SetErr(&out)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	return out.String(), err
}

func TestExitCodes(t *testing.T) {
	cause := errors.New("cause")
	for want, err := range map[int]error{
		exitOK:      nil,
		exitFailed:  cause,
		exitUsage:   fmt.Errorf("outer: %w", usageError{cause}),
		exitMissing: fmt.Errorf("outer: %w", &stack.MissingToolError{Tool: "envoy"}),
		exitRefused: fmt.Errorf("outer: %w", refusedError{cause}),
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: exit code %d, expected %d", err, got, want)
		}
	}
}

func TestWrongCommandLines(t *testing.T) {
	for line, says := range map[string]string{
		"dve":             "did you mean dev?",
		"nonsense":        `unknown command "nonsense"`,
		"dev now":         `takes no arguments, and got "now"`,
		"dev --no-such":   "--no-such",
		"dev --workers x": "workers",
	} {
		_, err := sluice(t, strings.Fields(line)...)
		if exitCode(err) != exitUsage || !strings.Contains(err.Error(), says) {
			t.Errorf("sluice %s: %v", line, err)
		}
	}
}

func TestHelpNamesTheExitCodes(t *testing.T) {
	for _, line := range []string{"", "--help", "dev --help"} {
		out, err := sluice(t, strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "Exit codes: 0") {
			t.Errorf("sluice %s: %v\n%s", line, err, out)
		}
	}
}

func TestDevOutsideACheckout(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := sluice(t, "dev")
	if !errors.Is(err, stack.ErrNoRoot) || exitCode(err) != exitFailed {
		t.Errorf("got %v", err)
	}
}

// checkout makes an empty checkout, with these files, and goes there.
func checkout(t *testing.T, files map[string]string) {
	t.Helper()
	t.Chdir(t.TempDir())
	files["go.mod"] = "module sluice\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDevBeforeTheBuild(t *testing.T) {
	checkout(t, map[string]string{"envoy.yaml": "admin: {}\n"})
	if _, err := sluice(t, "dev"); err == nil || !strings.Contains(err.Error(), "run make build") {
		t.Errorf("got %v", err)
	}
}

func TestDevWithAFileThatIsNoConfiguration(t *testing.T) {
	checkout(t, map[string]string{"mine.yaml": "a: [", "empty.yaml": ""})
	for _, file := range []string{"mine.yaml", "empty.yaml", "ghost.yaml"} {
		_, err := sluice(t, "dev", "--envoy", file)
		if exitCode(err) != exitRefused || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestDevWithWrongLimits(t *testing.T) {
	checkout(t, map[string]string{
		"wrong.yaml": "limits:\n- name: a\n  rate: 1/s\n  burts: 3\n",
		"envoy.yaml": envoyText + "                    limits:\n                    - name: a\n",
		"mine.yaml":  "admin: {}\n",
	})
	for line, says := range map[string]string{
		"--envoy envoy.yaml --config wrong.yaml": "wrong.yaml:4:3: limits[0].burts: ",
		"--envoy envoy.yaml --config ghost.yaml": "ghost.yaml",
		"--envoy envoy.yaml":                     "envoy.yaml:14:23: limits[0].rate: is required",
		"--envoy mine.yaml --config wrong.yaml":  "no listener gateway",
	} {
		_, err := sluice(t, append([]string{"dev"}, strings.Fields(line)...)...)
		if exitCode(err) != exitRefused || !strings.Contains(err.Error(), says) {
			t.Errorf("dev %s: %v, expected %s", line, err, says)
		}
	}
}

// envoyText is an Envoy configuration up to the plugin's own.
const envoyText = `static_resources:
  listeners:
  - name: gateway
    filter_chains:
    - filters:
      - typed_config:
          http_filters:
          - name: sluice
            typed_config:
              config:
                configuration:
                  value:
`

func TestDevWithoutEnvoy(t *testing.T) {
	checkout(t, map[string]string{"mine.yaml": "admin: {}\n"})
	t.Setenv("ENVOY", "/nonexistent/envoy")
	_, err := sluice(t, "dev", "--envoy", "mine.yaml")
	if exitCode(err) != exitMissing || !strings.Contains(err.Error(), "ENVOY") {
		t.Errorf("got %v", err)
	}
}

func TestShown(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	if got := shown(filepath.Join(dir, "a", "b")); got != filepath.Join("a", "b") {
		t.Errorf("below: %q", got)
	}
	if got := shown("/x"); got != "/x" {
		t.Errorf("far away: %q", got)
	}
}
