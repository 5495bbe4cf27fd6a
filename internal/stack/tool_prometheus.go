package stack

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
)

const prometheusHelp = "set PROMETHEUS and PROMTOOL to the paths of the binaries, or install Prometheus (Debian: apt-get install prometheus)"

// FindPrometheus returns the path of a Prometheus server: $PROMETHEUS, else
// prometheus on PATH, else installed with the system's package manager where
// that needs no question.
func FindPrometheus(ctx context.Context, say Progress) (string, error) {
	return findPrometheus(ctx, say, "prometheus", "PROMETHEUS")
}

// FindPromtool returns the path of Prometheus's own checker, $PROMTOOL or
// promtool; it comes with the server.
func FindPromtool(ctx context.Context, say Progress) (string, error) {
	return findPrometheus(ctx, say, "promtool", "PROMTOOL")
}

func findPrometheus(ctx context.Context, say Progress, tool, variable string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		if _, err := output(ctx, path, "--version"); err != nil {
			return "", &MissingToolError{tool, "$" + variable + " doesn't serve: " + err.Error(), prometheusHelp}
		}
		return path, nil
	}
	if path, err := exec.LookPath(tool); err == nil {
		return path, nil
	}
	tools, err := toolsDir()
	if err != nil {
		return "", &MissingToolError{tool, err.Error(), prometheusHelp}
	}
	var path string
	err = Locked(filepath.Join(tools, "prometheus.lock"), func() error {
		// Another process may have installed it while this one waited.
		if path, err = exec.LookPath(tool); err == nil {
			return nil
		}
		if err := aptInstall(ctx, say, "prometheus"); err != nil {
			return err
		}
		stopService(ctx, "prometheus")
		path, err = exec.LookPath(tool)
		return err
	})
	if err != nil {
		return "", &MissingToolError{tool, err.Error(), prometheusHelp}
	}
	return path, nil
}
