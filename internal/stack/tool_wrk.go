package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const wrkHelp = "set WRK to the path of the load generator wrk, or install it (Debian: apt-get install wrk)"

const abHelp = "set AB to the path of ApacheBench, or install it (Debian: apt-get install apache2-utils)"

// FindAb returns the path of ApacheBench: $AB, else ab on PATH, else installed with
// the system's package manager where that needs no question.
func FindAb(ctx context.Context, say Progress) (string, error) {
	return findLoadTool(ctx, say, "ab", "AB", "apache2-utils", abHelp)
}

// FindWrk returns the path of the load generator wrk: $WRK, else wrk on PATH,
// else installed with the system's package manager where that needs no question.
func FindWrk(ctx context.Context, say Progress) (string, error) {
	return findLoadTool(ctx, say, "wrk", "WRK", "wrk", wrkHelp)
}

func findLoadTool(ctx context.Context, say Progress, name, variable, pkg, help string) (string, error) {
	if path := os.Getenv(variable); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", &MissingToolError{name, fmt.Sprintf("$%s doesn't serve: %v", variable, err), help}
		}
		return path, nil
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	path, err := installedLoadTool(ctx, say, name, pkg)
	if err != nil {
		return "", &MissingToolError{name, err.Error(), help}
	}
	return path, nil
}

func installedLoadTool(ctx context.Context, say Progress, name, pkg string) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	var path string
	err = Locked(filepath.Join(tools, name+".lock"), func() error {
		// Another process may have installed it while this one waited.
		if path, err = exec.LookPath(name); err == nil {
			return nil
		}
		if err := aptInstall(ctx, say, pkg); err != nil {
			return err
		}
		path, err = exec.LookPath(name)
		return err
	})
	return path, err
}
