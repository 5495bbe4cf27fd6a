package stack

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const wrkHelp = "set WRK to the path of the load generator wrk, or install it (Debian: apt-get install wrk)"

// FindWrk returns the path of the load generator wrk: $WRK, else wrk on PATH,
// else installed with the system's package manager where that needs no question.
func FindWrk(ctx context.Context, say Progress) (string, error) {
	if path := os.Getenv("WRK"); path != "" {
		if _, err := os.Stat(path); err != nil {
			return "", &MissingToolError{"wrk", fmt.Sprintf("$WRK doesn't serve: %v", err), wrkHelp}
		}
		return path, nil
	}
	if path, err := exec.LookPath("wrk"); err == nil {
		return path, nil
	}
	path, err := installedWrk(ctx, say)
	if err != nil {
		return "", &MissingToolError{"wrk", err.Error(), wrkHelp}
	}
	return path, nil
}

func installedWrk(ctx context.Context, say Progress) (string, error) {
	tools, err := toolsDir()
	if err != nil {
		return "", err
	}
	var path string
	err = Locked(filepath.Join(tools, "wrk.lock"), func() error {
		// Another process may have installed it while this one waited.
		if path, err = exec.LookPath("wrk"); err == nil {
			return nil
		}
		if err := aptInstall(ctx, say, "wrk"); err != nil {
			return err
		}
		path, err = exec.LookPath("wrk")
		return err
	})
	return path, err
}
